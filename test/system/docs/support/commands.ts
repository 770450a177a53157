import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect } from 'vitest';
import { blocksOf } from './blocks.js';
import { readPage } from './pages.js';
import type { Running } from './run-block.js';

/** The commands of a page that are run, by what is said behind them: `# 402 purchase_required`. */
export const commandsOf = (page: string) =>
  blocksOf(readPage(page))
    .filter(({ language, notRun }) => language === 'sh' && notRun === undefined)
    .flatMap(({ text, with: program }) =>
      text.split('\n').map((line) => {
        const [, command = '', expected = ''] = /^(.*?)(?:\s+#\s(.*))?$/.exec(line) ?? [];
        return { command, expected, program };
      }),
    );

/** The commands for a program are answered as the page says: with this status, and these words. */
export async function expectAnswers({ origin }: Running, page: string, file: string) {
  for (const { command, expected, program } of commandsOf(page)) {
    if (program !== file) continue;
    const line = command.replaceAll('localhost:3000', new URL(await origin()).host);
    const { stdout } = await promisify(execFile)('bash', ['-c', line]);
    const [status, ...words] = expected.split(' ');
    expect(stdout).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    for (const word of words) expect(stdout).toContain(word);
  }
}
