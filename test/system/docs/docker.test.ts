import { createSandbox } from 'marketgate/sandbox';
import { expect, it } from 'vitest';
import { blocksOf } from './support/blocks.js';
import { readPage } from './support/pages.js';
import { runCommand } from './support/shell.js';

// The commands and settings of the guide's compose file, without Docker.

const compose = blocksOf(readPage('examples/guides/docker.md')).find(
  ({ language }) => language === 'yaml',
);
const text = compose?.text ?? '';

it('the settings of the compose file are those of a sandbox', async () => {
  const variables = text.matchAll(/^ {6}(MARKETPLACE_\w+): "?([^"\n]+)"?$/gm);
  const given = Object.fromEntries([...variables].map(([, name, value]) => [name, value]));
  const sandbox = createSandbox();
  const { apiKey, appId, appSecret } = await sandbox.listen();
  await sandbox.close();
  expect(given).toEqual({
    MARKETPLACE_BASE_URL: 'http://127.0.0.1:4000',
    MARKETPLACE_API_KEY: apiKey,
    MARKETPLACE_AUTH_URL: 'http://127.0.0.1:4000',
    MARKETPLACE_APP_ID: appId,
    MARKETPLACE_APP_SECRET: appSecret,
  });
  expect(text).toContain('"127.0.0.1:3000:3000", "127.0.0.1:4000:4000"');
});

it('its sandbox starts, and warns', { timeout: 30_000 }, async () => {
  const [, command = ''] = /command: (npx marketgate .*)$/m.exec(text) ?? [];
  expect(await runCommand(command, {})).toMatch(/Codes to try[\s\S]*Warning: .* 0\.0\.0\.0/);
});
