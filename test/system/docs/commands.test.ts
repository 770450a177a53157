import { dirname } from 'node:path';
import { expect, it } from 'vitest';
import { newPath } from '../../support/new-path.js';
import { cli, service } from '../../unit/cli/support.js';
import { blocksOf } from './support/blocks.js';
import { commandsOf } from './support/commands.js';
import { PAGES, readPage } from './support/pages.js';

/** The compose file of the guide, which has a command, too; without Docker. */
const compose = blocksOf(readPage('examples/guides/going-live.md')).find(
  ({ language }) => language === 'yaml',
)?.text;
const [, started = ''] = /command: (.*)$/m.exec(compose ?? '') ?? [];

const commands = PAGES.flatMap(commandsOf).filter(({ program }) => program === undefined);

it.each([started, ...new Set(commands.map(({ command }) => command))])('%s works', async (line) => {
  const { environment } = await service();
  const [, stdin, args = ''] = /^(?:echo (\S+) \| )?npx marketgate (.+)$/.exec(line) ?? [];
  // A sandbox takes any port that is free, and stops when it has started.
  const port = args.startsWith('sandbox --') ? ['--port', '0'] : [];
  // In place of the .env of who runs the tests.
  const file = newPath('.env');
  const given = args.replace(/(?<=--save-env )\S+/, file).split(' ');
  const ran = await cli([...given, ...port], environment, { stdin, cwd: dirname(file) });
  expect(ran).toMatchObject({ code: 0, out: expect.stringMatching(/./) });
});

it('the settings of the compose file are those of a sandbox', async () => {
  const variables = compose?.matchAll(/^ {6}(MARKETPLACE_\w+): "?([^"\n]+)"?$/gm) ?? [];
  const { environment } = await service();
  const at = 'http://127.0.0.1:4000';
  expect(Object.fromEntries([...variables].map(([, name, value]) => [name, value]))).toEqual({
    ...{ ...environment, MARKETPLACE_BASE_URL: at, MARKETPLACE_AUTH_URL: at },
  });
  expect(compose).toContain('"127.0.0.1:3000:3000", "127.0.0.1:4000:4000"');
});
