import { createSandbox } from 'marketgate/sandbox';
import { expect, it } from 'vitest';
import { blocksOf } from './support/blocks.js';
import { readPage } from './support/pages.js';
import { variablesOf } from './support/run-block.js';
import { runCommand } from './support/shell.js';

// The commands and settings of the guide's compose file, without Docker.

const compose = blocksOf(readPage('examples/guides/going-live.md')).find(
  ({ language }) => language === 'yaml',
);
const text = compose?.text ?? '';

it('the settings of the compose file are those of a sandbox', async () => {
  const variables = text.matchAll(/^ {6}(MARKETPLACE_\w+): "?([^"\n]+)"?$/gm);
  const given = Object.fromEntries([...variables].map(([, name, value]) => [name, value]));
  const sandbox = createSandbox();
  const expected = await variablesOf(sandbox);
  await sandbox.close();
  const at = 'http://127.0.0.1:4000';
  expect(given).toEqual({ ...expected, MARKETPLACE_BASE_URL: at, MARKETPLACE_AUTH_URL: at });
  expect(text).toContain('"127.0.0.1:3000:3000", "127.0.0.1:4000:4000"');
});

it('its sandbox starts, and warns', { timeout: 30_000 }, async () => {
  const [, command = ''] = /command: (npx marketgate .*)$/m.exec(text) ?? [];
  expect(await runCommand(command, {})).toMatch(/Codes to try[\s\S]*Warning: .* 0\.0\.0\.0/);
});
