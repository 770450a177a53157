import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { styleText } from 'node:util';
import { WARNINGS } from '../diagnostics.js';
import { ERROR_CODES } from '../errors.js';
import { CommandError, type Io, table } from './io.js';

/** Where the pages are: from the built files, and from this one. */
const FOLDERS = ['../src/errors/pages/', '../errors/pages/'];

/** Every code that has a page, with its HTTP status, or "warning". */
const KINDS: Readonly<Record<string, string>> = Object.fromEntries([
  ...Object.entries(ERROR_CODES).map(([code, { status }]) => [code, String(status)]),
  ...Object.keys(WARNINGS).map((code) => [code, 'warning']),
]);

/**
 * `marketgate explain [CODE]`: shows the page that the `help` of an error or a warning names.
 * @throws CommandError that lists the codes, when the given one does not exist.
 */
export function explain(code: string | undefined, io: Io): string {
  if (code === undefined) {
    const rows = Object.entries(KINDS).map(([name, kind]) => [name, kind, summaryOf(pageOf(name))]);
    return `${table(rows)}\n\nnpx marketgate explain CODE prints the page of one.`;
  }
  if (!Object.hasOwn(KINDS, code)) {
    const codes = Object.keys(KINDS).join('\n  ');
    throw new CommandError(`explain: there is no code of this name. The codes are\n  ${codes}`);
  }
  return wrapped(pageOf(code).trimEnd(), io.columns)
    .replace(/^#+ .*$/gm, (heading) => styleText('bold', heading))
    .replace(/`[^`\n]+`/g, (name) => styleText('cyan', name));
}

/** The lines of the pages are no longer than this. */
const PAGE_WIDTH = 120;

/** Wraps the paragraphs and lists of a page anew for a narrow terminal, but not its code blocks. */
function wrapped(page: string, columns = PAGE_WIDTH): string {
  if (columns >= PAGE_WIDTH) return page;
  const wrapLine = (line: string): string => {
    const indent = line.startsWith('- ') ? '  ' : '';
    const wide = Math.max(columns - 2, 20);
    const pieces = line.match(new RegExp(`.{1,${wide}}(?:\\s|$)|\\S+`, 'g')) ?? [];
    return pieces.map((piece) => piece.trimEnd()).join(`\n${indent}`);
  };
  const wrapBlock = (block: string): string =>
    block
      .replace(/\n(?!- )\s*/g, ' ')
      .split('\n')
      .map(wrapLine)
      .join('\n');
  return page
    .split(/(^```[\s\S]*?^```$)/m)
    .map((part) => (part.startsWith('```') ? part : part.split('\n\n').map(wrapBlock).join('\n\n')))
    .join('');
}

/** The first sentence of a page's first section. */
function summaryOf(page: string): string {
  const [, happened = ''] = /^## What happened\n\n([\s\S]+?\.)\s/m.exec(page) ?? [];
  return happened.replace(/\s+/g, ' ');
}

function pageOf(code: string): string {
  const pages = FOLDERS.map((folder) => join(import.meta.dirname, folder, `${code}.md`));
  const page = pages.find((path) => existsSync(path));
  if (page === undefined) throw new Error('the pages of the package are not installed');
  return readFileSync(page, 'utf8');
}
