import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { createSandbox } from 'marketgate/sandbox';
import { describe, expect, it, onTestFinished } from 'vitest';
import { run } from '../../src/cli/program.js';

interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** Runs a command as a shell would, but for the terminal. */
async function cli(
  args: string[],
  environment: NodeJS.ProcessEnv = {},
  untilStopped = async (): Promise<void> => {},
): Promise<Ran> {
  let out = '';
  let err = '';
  const terminal = {
    color: false,
    out: (text: string) => {
      out += `${text}\n`;
    },
    err: (text: string) => {
      err += `${text}\n`;
    },
  };
  const code = await run(args, { terminal, environment, untilStopped });
  return { code, out, err };
}

async function service() {
  const sandbox = createSandbox();
  const { baseUrl, authUrl, apiKey, appId, appSecret } = await sandbox.listen(0);
  onTestFinished(() => sandbox.close());
  const environment = {
    MARKETPLACE_BASE_URL: baseUrl,
    MARKETPLACE_API_KEY: apiKey,
    MARKETPLACE_AUTH_URL: authUrl,
    MARKETPLACE_APP_ID: appId,
    MARKETPLACE_APP_SECRET: appSecret,
  };
  const code = (kind: string) => sandbox.codes.find((each) => each.kind === kind)?.code ?? '';
  return { sandbox, environment, code };
}

describe('marketgate', () => {
  it.each([['--help'], ['verify', '--help'], ['--version']])(
    '%s %s is no mistake',
    async (...args) => {
      expect((await cli(args)).code).toBe(0);
    },
  );

  it.each([
    [[]],
    [['nonsense']],
    [['verify']],
    [['verify', 'x', '--nonsense']],
    [['verify', 'x']],
    [['verify', ' ']],
    [['verify', 'x', '--base-url', 'nowhere']],
    [['sandbox', '--port', 'x']],
    [['sandbox', '--port', '70000']],
    [['sandbox', '--port', '0', '--dialect', 'nonsense']],
    [['sandbox', '--port', '0', '--fault', 'errorRate=7']],
    [['sandbox', '--port', '0', '--redirect-url', 'nowhere']],
    [['sandbox', '--port', '0', '--seed', '/does/not/exist.json']],
  ])('%j is wrong usage: exit code 2, and says why', async (args) => {
    const { code, out, err } = await cli(args, { MARKETPLACE_API_KEY: 'k' });
    expect(code).toBe(2);
    expect(`${out}${err}`.trim()).not.toBe('');
  });
});

describe('marketgate verify', () => {
  it('prints the facts of a valid code, and not the code', async () => {
    const { environment, code } = await service();
    const ran = await cli(['verify', code('supported')], environment);
    expect(ran.code).toBe(0);
    expect(ran.out).toMatch(/^Valid\.\nitem +1042 /);
    expect(ran.out).toMatch(/support +until 20\d\d-/);
    expect(ran.out).not.toContain(code('supported'));
  });

  it('says no of a refunded one', async () => {
    const { environment, code } = await service();
    expect(await cli(['verify', code('refunded')], environment)).toMatchObject({
      code: 1,
      out: expect.stringContaining('Not valid'),
    });
  });

  it('does not say no when it could not find out', async () => {
    const { environment, code, sandbox } = await service();
    await sandbox.close();
    const ran = await cli(['verify', code('supported')], environment);
    expect(ran.code).toBe(2);
    expect(ran.out).toBe('');
    expect(ran.err).toContain('service_unavailable');
  });

  it.each([
    ['supported', 0, true],
    ['refunded', 1, false],
  ])('prints JSON: %s', async (kind, exitCode, valid) => {
    const { environment, code } = await service();
    const ran = await cli(['verify', code(kind), '--json'], environment);
    expect(ran.code).toBe(exitCode);
    expect(JSON.parse(ran.out)).toMatchObject({ valid });
  });

  it('prints JSON of a failure', async () => {
    const { environment, code, sandbox } = await service();
    sandbox.faults.html = true;
    const ran = await cli(['verify', code('supported'), '--json'], environment);
    expect(JSON.parse(ran.out)).toMatchObject({
      valid: null,
      error: { code: 'unexpected_response' },
    });
  });

  it('takes flags before the environment', async () => {
    const { environment, code } = await service();
    const elsewhere = { ...environment, MARKETPLACE_BASE_URL: 'http://127.0.0.1:9' };
    const flags = ['--base-url', environment.MARKETPLACE_BASE_URL];
    expect((await cli(['verify', code('supported'), ...flags], elsewhere)).code).toBe(0);
  });
});

describe('marketgate doctor', () => {
  const statuses = (out: string): Record<string, string> =>
    Object.fromEntries(
      (JSON.parse(out).findings as { check: string; status: string }[]).map(({ check, status }) => [
        check,
        status,
      ]),
    );
  const diagnose = async (environment: NodeJS.ProcessEnv) => {
    const ran = await cli(['doctor', '--json'], environment);
    return { code: ran.code, found: statuses(ran.out), out: ran.out };
  };
  const well = {
    'key API': 'ok',
    reachable: 'ok',
    clock: 'ok',
    api_key: 'ok',
    items: 'ok',
    login: 'ok',
    'login page': 'ok',
    app: 'ok',
    redis: 'skipped',
  };

  it('finds nothing wrong with a sandbox, in words too', async () => {
    const { environment } = await service();
    expect(await diagnose(environment)).toMatchObject({ code: 0, found: well });
    const words = await cli(['doctor'], environment);
    expect(words.out).toMatch(/ok +api_key +accepted; the account of /);
  });

  it('looks at each thing apart', async () => {
    const { environment, sandbox } = await service();
    const secret = `${'f'.repeat(63)}0`;
    expect(await diagnose({ ...environment, MARKETPLACE_API_KEY: secret })).toMatchObject({
      code: 1,
      found: { ...well, api_key: 'wrong', items: 'skipped' },
      out: expect.not.stringContaining(secret),
    });
    expect(
      await diagnose({ ...environment, MARKETPLACE_APP_SECRET: 'outdated-secret' }),
    ).toMatchObject({
      code: 1,
      found: { ...well, app: 'wrong' },
      out: expect.not.stringContaining('outdated-secret'),
    });
    expect(
      await diagnose({ ...environment, MARKETPLACE_BASE_URL: 'http://market.example' }),
    ).toMatchObject({ code: 1, found: { 'key API': 'wrong', reachable: 'skipped', login: 'ok' } });
    await sandbox.close();
    expect(await diagnose(environment)).toMatchObject({
      code: 1,
      found: { reachable: 'wrong', clock: 'skipped', api_key: 'skipped', 'login page': 'wrong' },
    });
  });

  it('names the variables that are missing', async () => {
    const ran = await cli(['doctor'], { MARKETPLACE_APP_ID: 'x' });
    expect(ran.code).toBe(1);
    expect(ran.out).toContain('set MARKETPLACE_BASE_URL and MARKETPLACE_API_KEY');
    expect(ran.out).toContain('set MARKETPLACE_AUTH_URL and MARKETPLACE_APP_SECRET');
  });

  it('knocks at Redis', async () => {
    const { environment } = await service();
    const server = createServer((socket) => socket.destroy());
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const redis = `redis://:hunter2@127.0.0.1:${port}`;
    const there = await diagnose({ ...environment, REDIS_URL: redis });
    expect(there.found.redis).toBe('ok');
    expect(there.out).not.toContain('hunter2');
    await new Promise((resolve) => server.close(resolve));
    expect((await diagnose({ ...environment, REDIS_URL: redis })).found.redis).toBe('wrong');
    expect((await diagnose({ ...environment, REDIS_URL: 'localhost' })).found.redis).toBe('wrong');
  });
});

describe('marketgate sandbox', () => {
  it('prints what to paste and what to try, serves, and stops when told to', async () => {
    const ran = await cli([
      'sandbox',
      ...['--port', '0'],
      ...['--redirect-url', 'http://localhost:3000/callback'],
      ...['--dialect', 'nulls'],
      ...['--fault', 'latency=5'],
    ]);
    expect(ran.code).toBe(0);
    const values = Object.fromEntries(
      [...ran.out.matchAll(/^(MARKETPLACE_\w+)=(.+)$/gm)].map(([, name, value]) => [name, value]),
    );
    expect(Object.keys(values)).toHaveLength(5);
    expect(ran.out.match(/[0-9a-f]{8}-[0-9a-f]{4}-4/g)?.length).toBeGreaterThan(9);
    await expect(fetch(values.MARKETPLACE_BASE_URL ?? '')).rejects.toThrow();
  });

  it('what it prints works while it runs', async () => {
    const lines: string[] = [];
    const running = run(['sandbox', '--port', '0'], {
      terminal: { color: false, out: (text) => void lines.push(text), err: () => {} },
      environment: {},
      untilStopped: async () => {
        const environment = Object.fromEntries(
          lines.filter((each) => each.startsWith('MARKETPLACE_')).map((each) => each.split('=')),
        );
        const code = /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}(?=.*with support)/.exec(
          lines.join('\n'),
        );
        expect((await cli(['verify', code?.[0] ?? ''], environment)).code).toBe(0);
      },
    });
    expect(await running).toBe(0);
  });
});
