import { join } from 'node:path';
import { createSandbox } from 'marketgate/sandbox';
import { describe, expect, it } from 'vitest';
import { blocksOf } from './support/blocks.js';
import { PAGES, readPage } from './support/pages.js';
import { runBlock, variablesOf } from './support/run-block.js';
import { commandsOf, runCommand } from './support/shell.js';
import { writePrograms } from './support/workspace.js';

const blocks = PAGES.flatMap((page) =>
  blocksOf(readPage(page))
    .filter(({ language, notRun }) => language === 'sh' && notRun === undefined)
    .map((block) => ({ ...block, page, name: `${page}:${block.line}` })),
);

describe.concurrent('the commands of', { timeout: 300_000 }, () => {
  it.each(blocks)('$name do what is said behind them', async ({ page, text, with: file }) => {
    const commands = commandsOf(text);
    if (file === undefined) {
      const sandbox = createSandbox();
      const env = await variablesOf(sandbox);
      try {
        for (const { line } of commands) expect(await runCommand(line, env)).not.toBe('');
      } finally {
        await sandbox.close();
      }
      return;
    }
    await runBlock(join(writePrograms(page, 'commands'), file), {}, async (running) => {
      const { host } = new URL(await running.origin());
      for (const { line, expected } of commands) {
        const [status, ...words] = expected.split(' ');
        const printed = await runCommand(line.replaceAll('localhost:3000', host), {});
        expect(printed).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
        for (const word of words) expect(printed).toContain(word);
      }
    });
  });
});
