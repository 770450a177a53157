import { join } from 'node:path';
import { describe, expect, inject, it } from 'vitest';
import { listen } from '../../support/listen.js';
import { cli, service } from '../../unit/cli/support.js';
import { runNode } from '../examples/run-example.js';

const MAIN = join(inject('builtPackage'), 'node_modules/marketgate/dist/cli.cjs');

const start = (args: readonly string[], environment: NodeJS.ProcessEnv) =>
  runNode([MAIN, ...args], environment);

const ESC = String.fromCharCode(27);

/** Windows ends a process that gets a signal, whatever it listens to; only Ctrl+C of a console is heard. */
const hearsSignals = process.platform !== 'win32';

describe('marketgate as a program', () => {
  it('writes into a pipe without colors, and ends when it has said all, though a server still hangs', async () => {
    const { environment } = await service();
    const url = await listen(() => undefined);
    const hanging = { ...environment, MARKETPLACE_BASE_URL: url, MARKETPLACE_AUTH_URL: url };
    const { ended, output } = start(['doctor', '--timeout', '300ms'], hanging);
    // Without its end this test would not end either.
    expect(await ended).toBe(1);
    expect(output()).toContain('no answer');
    expect(output()).not.toContain(ESC);
  });

  it('does not fail because its reader has gone away, as head does', async () => {
    const { environment } = await service();
    const running = start(['doctor'], { ...environment, MARKETPLACE_API_KEY: 'wrong' });
    running.child.stdout?.destroy();
    expect([await running.ended, running.errors()]).toEqual([1, '']);
  });

  it('a sandbox is driven by other commands, and stops in good order when it is interrupted', async () => {
    const { child, ended, output, prints } = start(['sandbox', '--port', '0'], {});
    await prints(/Ctrl\+C ends it\./);
    const [, url = ''] = /^MARKETPLACE_BASE_URL=(.+)$/m.exec(output()) ?? [];
    const { out } = await cli(['sandbox', 'accept-login', '3001'], { MARKETPLACE_BASE_URL: url });
    expect(out).toMatch(/callback\?auth_key=\w{32}\n$/);
    child.kill('SIGINT');
    if (hearsSignals) expect(await ended).toBe(0);
  });

  it.runIf(hearsSignals)('a sandbox that is interrupted while it prints stops, too', async () => {
    const { child, ended } = start(['sandbox', '--port', '0'], {});
    child.stdout?.once('data', () => child.kill('SIGINT'));
    expect(await ended).toBe(0);
  });
});
