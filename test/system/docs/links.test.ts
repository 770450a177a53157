import { existsSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { PAGES, ROOT, readPage } from './support/pages.js';

const CONTRIBUTING = 'CONTRIBUTING.md';

/** The anchors of a page's headings, as GitHub makes them. */
const anchorsOf = (page: string): string[] =>
  [...page.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N} -]/gu, '')
      .replaceAll(' ', '-'),
  );

it.each([...PAGES, CONTRIBUTING])('the links of %s lead somewhere', (path) => {
  const text = readPage(path).replace(/^ *```[\s\S]*?^ *```/gm, '');
  const links = [...text.matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = '']) => link);
  const dead = links.filter((link) => {
    if (/^[a-z]+:/.test(link)) return false;
    const [file = '', anchor] = link.split('#');
    const target = file === '' ? join(ROOT, path) : join(ROOT, dirname(path), file);
    if (!existsSync(target)) return true;
    return anchor !== undefined && !anchorsOf(readFileSync(target, 'utf8')).includes(anchor);
  });
  expect(dead).toEqual([]);
});

it('the page of all guides, from which the site has its menu, names every guide', () => {
  const index = readPage('examples/guides/index.md');
  const guides = PAGES.filter((page) => /^examples\/guides\/(?!index)/.test(page));
  expect(guides.filter((page) => !index.includes(`(${basename(page)})`))).toEqual([]);
});

it('the notes for contributors name files, folders and scripts that exist', () => {
  const page = readPage(CONTRIBUTING);
  const { scripts } = JSON.parse(readPage('package.json')) as { scripts: object };
  const paths = [...page.matchAll(/\b(?:src|test|examples|\.ci)\/[\w./-]+\w/g)].map(
    ([path]) => path,
  );
  expect(paths.length).toBeGreaterThan(30);
  expect(paths.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
  const run = [...page.matchAll(/npm run ([\w:]+)/g)].map(([, name = '']) => name);
  expect(run.filter((name) => !(name in scripts))).toEqual([]);
});
