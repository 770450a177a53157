import { existsSync, readFileSync } from 'node:fs';
import { WARNINGS } from '../diagnostics.js';
import { ERROR_CODES } from '../errors.js';
import { colorsOf, type Io, table, UsageError } from './io.js';

/** Where the pages are: next to the built files, or in the source tree. */
const FOLDERS = ['./errors/', '../errors/pages/'];

/** Every code that has a page, with its HTTP status, or "warning". */
const KINDS: Readonly<Record<string, string>> = Object.fromEntries([
  ...Object.entries(ERROR_CODES).map(([code, { status }]) => [code, String(status)]),
  ...Object.keys(WARNINGS).map((code) => [code, 'warning']),
]);

/**
 * `marketgate explain [CODE]`: shows the page that the `help` of an error or a warning names.
 * @throws UsageError that lists the codes, when the given one does not exist.
 */
export function explain(code: string | undefined, io: Io): string {
  if (code === undefined) {
    const rows = Object.entries(KINDS).map(([name, kind]) => [name, kind, summaryOf(pageOf(name))]);
    return `${table(rows)}\n\nnpx marketgate explain CODE tells more about one.`;
  }
  if (!Object.hasOwn(KINDS, code)) {
    const codes = Object.keys(KINDS).join('\n  ');
    throw new UsageError(`explain: there is no code of this name. The codes are\n  ${codes}`);
  }
  const { bold, cyan } = colorsOf(io);
  return pageOf(code)
    .trimEnd()
    .replace(/^#+ .*$/gm, (heading) => bold(heading))
    .replace(/`[^`\n]+`/g, (name) => cyan(name));
}

/** The first sentence of a page's first section. */
function summaryOf(page: string): string {
  const [, happened = ''] = /^## What happened\n\n([\s\S]+?\.)\s/m.exec(page) ?? [];
  return happened.replace(/\s+/g, ' ');
}

function pageOf(code: string): string {
  const pages = FOLDERS.map((folder) => new URL(`${folder}${code}.md`, import.meta.url));
  const page = pages.find((url) => existsSync(url));
  if (page === undefined) throw new Error('the pages of the package are not installed');
  return readFileSync(page, 'utf8');
}
