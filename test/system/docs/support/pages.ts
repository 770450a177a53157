import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('../../../..', import.meta.url));

/** The documentation, as paths from the top. The READMEs of the examples are tested with these. */
export const PAGES: readonly string[] = [
  'README.md',
  'SECURITY.md',
  ...pagesIn('examples/guides'),
  ...pagesIn('src/errors/pages'),
];

export const readPage = (path: string): string => readFileSync(`${ROOT}${path}`, 'utf8');

function pagesIn(folder: string): string[] {
  return readdirSync(`${ROOT}${folder}`)
    .filter((name) => name.endsWith('.md'))
    .map((name) => `${folder}/${name}`);
}
