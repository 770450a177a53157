import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { styleText } from 'node:util';
import { WARNINGS } from '../diagnostics.js';
import { ERROR_CODES } from '../errors.js';
import { CommandError, type RunOptions, table, wrap } from './io.js';
import { nearest } from './nearest.js';

/** Where the pages are: from the built files, and from this one. */
const FOLDERS = ['../src/errors/pages/', '../errors/pages/'];

/** Every code that has a page, with its HTTP status, or "warning". */
const KINDS: Readonly<Record<string, string>> = Object.fromEntries([
  ...Object.entries(ERROR_CODES).map(([code, { status }]) => [code, String(status)]),
  ...Object.keys(WARNINGS).map((code) => [code, 'warning']),
]);

/** Words as a code has them. */
const asCode = (words: string): string => words.toLowerCase().replace(/[\s-]+/g, '_');

/**
 * `marketgate explain [WHAT]`: gives the page that the `help` of an error or a warning names, as plain text. For a status
 * or a word it lists the pages that have it, or gives the only one.
 * @throws CommandError that names the nearest code, when nothing is found.
 */
export function explain(given: string, { self, io: { columns } }: RunOptions): string {
  const asked = asCode(given);
  const codes = Object.keys(KINDS);
  // Of an error, whose code is in small letters, the end is enough, as in "code invalid". A single word stands for all pages.
  const isNamed = (each: string) =>
    asCode(each) === asked || (asked.includes('_') && each.endsWith(`_${asked}`));
  const [code, ...similar] = codes.filter(isNamed);
  if (code && similar.length === 0) return textOf(pageOf(code), columns).trimEnd();
  // Errors before warnings, which are seldom meant, and each in the order of how much a page is about the word.
  const countIn = (each: string) => asCode(pageOf(each)).split(asked).length;
  const isWarning = (each: string) => Number(KINDS[each] === 'warning');
  const isIn = (each: string) => KINDS[each] === asked || (asked.length > 2 && countIn(each) > 1);
  const found = given === '' ? codes : codes.filter(isIn);
  found.sort((a, b) => isWarning(a) - isWarning(b) || (given ? countIn(b) - countIn(a) : 0));
  const [only, ...others] = found;
  if (only !== undefined && others.length === 0) return textOf(pageOf(only), columns).trimEnd();
  if (found.length === 0) {
    const meant = nearest(
      asked,
      codes.map((each) => each.toLowerCase()),
    );
    const name = codes.find((each) => each.toLowerCase() === meant);
    const advice = name ? `did you mean ${name}?` : '"marketgate explain" lists all';
    throw new CommandError(`explain: there is no such code, status or word; ${advice}`);
  }
  const rows = found.map((each) => [each, KINDS[each] ?? '', summaryOf(pageOf(each))]);
  return `${table(rows, columns)}\n\n${self} explain CODE prints the page of one.`;
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
