import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { WARNINGS } from '../diagnostics.js';
import { ERROR_CODES } from '../errors.js';
import { CommandError, table } from './io.js';

/** Where the pages are: from the built files, and from this one. */
const FOLDERS = ['../src/errors/pages/', '../errors/pages/'];

/** Every code that has a page, with its HTTP status, or "warning". */
const KINDS: Readonly<Record<string, string>> = Object.fromEntries([
  ...Object.entries(ERROR_CODES).map(([code, { status }]) => [code, String(status)]),
  ...Object.keys(WARNINGS).map((code) => [code, 'warning']),
]);

/**
 * `marketgate explain [CODE]`: gives the page that the `help` of an error or a warning names. It is Markdown, which
 * reads as text.
 * @throws CommandError that lists the codes, when the given one does not exist.
 */
export function explain(code: string | undefined): string {
  if (code === undefined) {
    const rows = Object.entries(KINDS).map(([name, kind]) => [name, kind, summaryOf(pageOf(name))]);
    return `${table(rows)}\n\nnpx marketgate explain CODE prints the page of one.`;
  }
  if (!Object.hasOwn(KINDS, code)) {
    const codes = Object.keys(KINDS).join('\n  ');
    throw new CommandError(`explain: there is no code of this name. The codes are\n  ${codes}`);
  }
  return pageOf(code).trimEnd();
}

/** The first sentence of a page's first section. */
function summaryOf(page: string): string {
  const [, happened = ''] = /^## What happened\n\n([\s\S]+?\.)\s/m.exec(page) ?? [];
  return happened.replace(/\s+/g, ' ').replace(/[`*]/g, '');
}

function pageOf(code: string): string {
  const pages = FOLDERS.map((folder) => join(import.meta.dirname, folder, `${code}.md`));
  const page = pages.find((path) => existsSync(path));
  if (page === undefined) throw new Error('the pages of the package are not installed');
  return readFileSync(page, 'utf8');
}
