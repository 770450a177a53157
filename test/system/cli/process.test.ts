import { join } from 'node:path';
import { describe, expect, inject, it, onTestFinished } from 'vitest';
import { listen } from '../../support/listen.js';
import { type Ran, service } from '../../unit/cli/support.js';
import { runNode } from '../examples/run-example.js';

const MAIN = join(inject('builtPackage'), 'node_modules/marketgate/dist/cli.cjs');

const start = (args: readonly string[], environment: NodeJS.ProcessEnv) =>
  runNode([MAIN, ...args], environment);

async function marketgate(args: readonly string[], environment: NodeJS.ProcessEnv): Promise<Ran> {
  const { ended, output, errors } = start(args, environment);
  return { code: await ended, out: output(), err: errors() };
}

const ESC = String.fromCharCode(27);

/** Windows ends a process that gets a signal, whatever it listens to; only Ctrl+C of a console is heard. */
const hearsSignals = process.platform !== 'win32';

describe('marketgate as a program', () => {
  it('writes into a pipe without colors', async () => {
    const { environment } = await service();
    const { code, out, err } = await marketgate(['doctor'], environment);
    expect([code, err]).toEqual([0, '']);
    expect(out).toContain('accepted; the account of');
    expect(out).not.toContain(ESC);
  });

  it('ends when it has said all, though a server still hangs', async () => {
    const { environment } = await service();
    const url = await listen(() => undefined);
    const hanging = { ...environment, MARKETPLACE_BASE_URL: url, MARKETPLACE_AUTH_URL: url };
    // Without its end this test would not end either.
    expect((await marketgate(['doctor', '--timeout', '300ms'], hanging)).code).toBe(1);
  });

  it('does not fail because its reader has gone away, as head does', async () => {
    const { environment } = await service();
    const running = start(['doctor'], { ...environment, MARKETPLACE_API_KEY: 'wrong' });
    running.child.stdout?.destroy();
    expect([await running.ended, running.errors()]).toEqual([1, '']);
  });

  it('a sandbox is driven from another process: a login, a renewal, a refund that is taken back', async () => {
    const sandbox = start(['sandbox', '--port', '0'], {});
    await sandbox.prints(/Ctrl\+C ends it\./);
    onTestFinished(() => void sandbox.child.kill());
    const [, url = ''] = /^MARKETPLACE_BASE_URL=(.+)$/m.exec(sandbox.output()) ?? [];
    expect(await (await fetch(`${url}/health`)).json()).toEqual({ status: 'ok' });
    const environment = { MARKETPLACE_BASE_URL: url };
    const control = (...args: string[]) => marketgate(['sandbox', ...args], environment);
    expect((await control('accept-login', '3001')).out).toMatch(/callback\?auth_key=\w{32}\n$/);
    const over = '2d94f6c8-71b5-4e03-a4d7-8f0b92e6c153';
    expect((await control('renew', over)).out).toContain('Valid, with support until');
    expect((await control('refund', over)).out).toContain('Was refunded');
    const back = await control('unrefund', over, '--json');
    expect(JSON.parse(back.out)).toMatchObject({ code: over, kind: 'support-over' });
  });

  it.runIf(hearsSignals).each(['once it is ready', 'while it prints'])(
    'a sandbox that is interrupted %s stops in good order',
    async (when) => {
      const { child, ended, prints } = start(['sandbox', '--port', '0'], {});
      if (when === 'while it prints') child.stdout?.once('data', () => child.kill('SIGINT'));
      else await prints(/Ctrl\+C ends it\./).then(() => child.kill('SIGINT'));
      expect(await ended).toBe(0);
    },
  );
});
