import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { styleText } from 'node:util';
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
 * `marketgate explain [CODE]`: gives the page that the `help` of an error or a warning names, as plain text.
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
  return textOf(pageOf(code)).trimEnd();
}

/** Markdown as plain text, with code indented. The pages have titles, lists, code and no links. */
const textOf = (markdown: string): string =>
  markdown
    .split(/^```.*\n/m)
    .map((part, index) =>
      index % 2 === 1
        ? part.replace(/^(?=.)/gm, '  ')
        : part
            .replace(/^#+ (.+)$/gm, (_, title: string) => styleText('bold', title))
            .replace(/\*\*|`/g, ''),
    )
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
