import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { styleText } from 'node:util';
import { WARNINGS } from '../diagnostics.js';
import { ERROR_CODES } from '../errors.js';
import { nearest } from '../sandbox/nearest.js';
import { CommandError, table, wrap } from './io.js';

/** Where the pages are: from the built files, and from this one. */
const FOLDERS = ['../src/errors/pages/', '../errors/pages/'];

/** Every code that has a page, with its HTTP status, or "warning". */
const KINDS: Readonly<Record<string, string>> = Object.fromEntries([
  ...Object.entries(ERROR_CODES).map(([code, { status }]) => [code, String(status)]),
  ...Object.keys(WARNINGS).map((code) => [code, 'warning']),
]);

/**
 * `marketgate explain [CODE]`: gives the page that the `help` of an error or a warning names, as plain text.
 * @throws CommandError that names the nearest code, when the given one does not exist.
 */
export function explain(given: string | undefined, columns?: number): string {
  const codes = Object.keys(KINDS);
  if (given === undefined) {
    const rows = codes.map((code) => [code, KINDS[code] ?? '', summaryOf(pageOf(code))]);
    return `${table(rows, columns)}\n\nnpx marketgate explain CODE prints the page of one.`;
  }
  const byLowerCase = new Map(codes.map((code) => [code.toLowerCase(), code]));
  const code = byLowerCase.get(given.toLowerCase());
  if (code === undefined) {
    const found = byLowerCase.get(nearest(given.toLowerCase(), [...byLowerCase.keys()]) ?? '');
    const advice = found ? `did you mean ${found}?` : '"marketgate explain" lists all';
    throw new CommandError(`explain: there is no code of this name; ${advice}`);
  }
  return textOf(pageOf(code), columns).trimEnd();
}

/** Markdown as plain text, with code indented. The pages have titles, paragraphs, lists, code and no links. */
const textOf = (markdown: string, columns?: number): string =>
  markdown
    .split(/^```.*\n/m)
    .map((part, index) =>
      index % 2 === 1 ? part.replace(/^(?=.)/gm, '  ') : proseOf(part, columns),
    )
    .join('');

const proseOf = (markdown: string, columns?: number): string =>
  markdown
    .replace(/\*\*|`/g, '')
    .split(/(\n\n+|\n(?=#+ |- |\d+\. ))/)
    .map((part) => {
      if (part.startsWith('#')) return styleText('bold', part.replace(/^#+ /, ''));
      if (columns === undefined || part.trim() === '') return part;
      const [end] = /\n?$/.exec(part) ?? [''];
      return wrap(part.trimEnd(), columns, /^(- |\d+\. )/.test(part) ? '  ' : '') + end;
    })
    .join('');

/** The first sentence of a page's first section. */
function summaryOf(page: string): string {
  const [, happened = ''] = /^## What happened\n\n([\s\S]+?\.)\s/m.exec(page) ?? [];
  return textOf(happened).replace(/\s+/g, ' ');
}

function pageOf(code: string): string {
  const pages = FOLDERS.map((folder) => join(import.meta.dirname, folder, `${code}.md`));
  const page = pages.find((path) => existsSync(path));
  if (page === undefined) throw new Error('the pages of the package are not installed');
  return readFileSync(page, 'utf8');
}
