import { existsSync, readFileSync } from 'node:fs';
import type { Command } from 'commander';
import { WARNINGS } from '../diagnostics.js';
import { ERROR_CODES } from '../errors.js';
import { UsageError } from './settings.js';
import { colorsOf, type Terminal, table } from './terminal.js';

/** Where the pages are: beside the built files, and in the sources. */
const FOLDERS = ['./errors/', '../errors/pages/'];

/** Every code that has a page, with its status, or what it is instead of an error. */
const KINDS: Readonly<Record<string, string>> = Object.fromEntries([
  ...Object.entries(ERROR_CODES).map(([code, { status }]) => [code, String(status)]),
  ...Object.keys(WARNINGS).map((code) => [code, 'warning']),
]);

/** Adds `marketgate explain [code]`, to which the messages of errors and warnings lead. */
export function addExplainCommand(program: Command, terminal: Terminal): void {
  program
    .command('explain')
    .argument('[code]', 'the "code" of an error or a warning; without one, all are listed')
    .description('say of an error or a warning what happened, why, and what to do')
    .action((code: string | undefined) => terminal.out(explain(code, terminal)));
}

/** @throws UsageError that lists the codes, when there is no such code. */
function explain(code: string | undefined, terminal: Terminal): string {
  if (code === undefined) return listOfCodes();
  if (!Object.hasOwn(KINDS, code)) {
    throw new UsageError(
      `explain: nothing has this code; there are\n  ${Object.keys(KINDS).join('\n  ')}`,
    );
  }
  const { bold } = colorsOf(terminal);
  return pageOf(code)
    .trimEnd()
    .replace(/^#+ .*$/gm, (heading) => bold(heading));
}

function listOfCodes(): string {
  const rows = Object.entries(KINDS).map(([code, kind]) => [
    code,
    kind,
    firstSentence(pageOf(code)),
  ]);
  return `${table(rows)}\n\nnpx marketgate explain CODE says more of one.`;
}

/** What happened, in short. */
function firstSentence(page: string): string {
  const [, happened = ''] = /^## What happened\n\n([\s\S]+?\.)\s/m.exec(page) ?? [];
  return happened.replace(/\s+/g, ' ');
}

function pageOf(code: string): string {
  const pages = FOLDERS.map((folder) => new URL(`${folder}${code}.md`, import.meta.url));
  const page = pages.find((url) => existsSync(url));
  if (page === undefined) throw new Error('the pages of the package are not installed');
  return readFileSync(page, 'utf8');
}
