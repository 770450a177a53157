import { once } from 'node:events';
import { createServer } from 'node:net';
import { fileURLToPath } from 'node:url';
import express from 'express';
import { KeyApi, MarketgateError } from 'marketgate';
import { createSandbox } from 'marketgate/sandbox';
import { createClient } from 'redis';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { runProgram } from '../../package/run-program.js';
import { listen, portOf } from '../../support/listen.js';
import { isAllowed } from '../../support/secrets/watch/allowed.js';
import {
  type Exit,
  type Finding,
  type SecretKind,
  sweep,
} from '../../support/secrets/watch/sweep.js';

const SECRET = 'planted-secret-5b1e09c27fd84a63';

/** What the sweep has to say of what was done since the test began. */
function found(exit: Exit, secret = SECRET): Finding[] {
  return sweep.findings().filter((each) => each.exit === exit && each.secret === secret);
}

const planted = (kind: SecretKind = 'api_key', value = SECRET): string => {
  sweep.secret(kind, value);
  return value;
};

describe('a secret that gets out is found', () => {
  it.each<[string, () => unknown]>([
    [
      'a hidden field of the cause of its cause',
      () => {
        const inner = Object.defineProperty(new Error('x'), 'request', { value: { key: SECRET } });
        return new MarketgateError('login_failed', 'x', {
          cause: new Error('y', { cause: inner }),
        });
      },
    ],
    ['a TypeError about an option', () => new TypeError(`KeyApi: not ${SECRET}`)],
  ])('in an error: %s', (_where, make) => {
    planted();
    make();
    expect(found('error')).toHaveLength(1);
  });

  it.each<[string, (secret: string) => string]>([
    ['base64', (secret) => Buffer.from(`key=${secret}`).toString('base64')],
    ['base64url', (secret) => Buffer.from(`k:${secret}`).toString('base64url')],
    ['hex', (secret) => Buffer.from(secret).toString('hex')],
    ['capitals', (secret) => secret.toUpperCase()],
    ['JSON within JSON', (secret) => JSON.stringify(JSON.stringify({ secret }))],
    ['percent signs', (secret) => secret.replace(/./g, (c) => `%${c.charCodeAt(0).toString(16)}`)],
  ])('in disguise: %s', (_form, disguise) => {
    planted();
    new MarketgateError('login_failed', disguise(SECRET));
    expect(found('error')).toHaveLength(1);
  });

  it('in what is printed, and in a warning', async () => {
    planted();
    console.debug({ deep: { headers: { key: SECRET } } });
    expect(found('console')).toHaveLength(1);
    process.stdout.write(`${SECRET}\n`);
    expect(found('output')).toHaveLength(1);
    process.emitWarning(`took ${SECRET}`);
    await once(process, 'warning');
    expect(found('warning')).toHaveLength(1);
  });

  it('in an answer of an app: body, header, and what it sends in pieces', async () => {
    planted();
    const app = express();
    app.get('/body', (_req, res) => void res.json({ key: SECRET }));
    app.get('/header', (_req, res) => void res.writeHead(302, { location: `/?k=${SECRET}` }).end());
    app.get('/pieces', (_req, res) => {
      res.write(SECRET.slice(0, 9));
      res.end(SECRET.slice(9));
    });
    const origin = await listen(app);
    for (const path of ['body', 'header', 'pieces']) {
      await (await fetch(`${origin}/${path}`, { redirect: 'manual' })).text();
      expect(found('answer')).toHaveLength(1);
    }
  });

  it('in what a Redis is told', async () => {
    planted();
    // A Redis that says yes to everything: only what is sent to it counts.
    const server = createServer((socket) => {
      socket.on('data', (data) => socket.write('+OK\r\n'.repeat(`${data}`.split('*').length - 1)));
    });
    const url = `redis://127.0.0.1:${await portOf(server)}`;
    const client = createClient({ url, RESP: 2, disableClientInfo: true });
    client.on('error', () => {});
    await client.connect();
    await client.set(`cache:${SECRET}`, '1');
    client.destroy();
    expect(found('redis')).toHaveLength(1);
  });
});

describe('the secrets in play are known', () => {
  const heard = (secret: string): number => {
    new MarketgateError('login_failed', `with ${secret}`);
    return found('error', secret).length;
  };

  it('all of a sandbox, also those that were made later, before they were ever sent', () => {
    const sandbox = createSandbox();
    const late = sandbox.data.addPurchase({ item_id: 1042 }).purchase_code;
    const rotated = sandbox.data.rotateApiKey(sandbox.data.workspaces[0]?.id ?? '');
    // They are read when the test is over.
    sweep.findings();
    createSandbox();
    const { api_key = '' } = sandbox.data.workspaces[1] ?? {};
    const [code] = sandbox.codes;
    for (const secret of [api_key, code?.code ?? '', sandbox.data.apps[0]?.app_secret ?? '']) {
      expect(heard(secret)).toBe(1);
    }
    expect(heard(late)).toBe(1);
    expect(heard(rotated)).toBe(1);
  });

  it.each(['form', 'json', 'query'] as const)('what a client sends, as %s', async (encoding) => {
    const sandbox = createSandbox();
    const { baseUrl, close } = await sandbox.listen(0);
    onTestFinished(close);
    const [apiKey, code] = [`made-up-key-of-${encoding}-1`, `made-up-code-of-${encoding}-1`];
    const keyApi = new KeyApi({ baseUrl, apiKey, validationEncoding: encoding, retries: 0 });
    onTestFinished(() => keyApi.close());
    await keyApi.validatePurchase(code).catch(() => {});
    expect(heard(apiKey)).toBe(1);
    expect(heard(code)).toBe(1);
  });

  it('what a visitor sends to an app: in a header, a form, JSON and the query', async () => {
    const app = express();
    app.use(express.json(), express.urlencoded(), (_req, res) => void res.end('ok'));
    const origin = await listen(app);
    const code = (n: number) => `visitors-own-code-number-${n}`;
    const post = (headers: Record<string, string>, body: string | URLSearchParams) =>
      fetch(origin, { method: 'POST', headers, body });
    await fetch(origin, { headers: { 'x-purchase-code': code(1) } });
    await post({}, new URLSearchParams({ purchase_code: code(2) }));
    await post({ 'content-type': 'application/json' }, JSON.stringify({ purchase_code: code(3) }));
    await fetch(`${origin}/?auth_key=${code(4)}`);
    await vi.waitFor(() => {
      for (const n of [1, 2, 3, 4]) expect(heard(code(n))).toBe(1);
    }, 40_000);
  });
});

describe('what may get out', () => {
  const own: Finding = {
    ...{ exit: 'answer', text: SECRET, secret: SECRET, status: 200 },
    request: `x-purchase-code: ${SECRET}`,
    kinds: new Set(['purchase_code']),
  };
  const typed = {
    ...{ status: 403, text: `<p>Not known.</p><input name="code" value="${SECRET}">` },
    file: '/somewhere/test/system/examples/shop.test.ts',
  };
  const row: Partial<Finding> = {
    exit: 'redis',
    text: `{"v":1,"user":"x","value":"${SECRET}"}`,
    kinds: new Set(['access_token']),
  };

  it.each<[string, boolean, Partial<Finding> & { file?: string }]>([
    ["a visitor's own code, to him, when he is let in", true, {}],
    ['when he is not', false, { status: 403 }],
    ['to another one', false, { request: '' }],
    ['a secret of another kind', false, { kinds: new Set(['api_key']) }],
    ['in an error', false, { exit: 'error' }],
    ['what a visitor typed into a form of an example, in its field', true, typed],
    ['beside it', false, { ...typed, text: `${typed.text} ${SECRET}` }],
    ['in no example', false, { ...typed, file: '/test/express/x.test.ts' }],
    ['a token in a row of a store that is documented to keep it in clear', true, row],
    ['in the key of the row', false, { ...row, text: `marketgate:token:${SECRET}` }],
  ])('%s: %s', (_what, expected, { file = '', ...more }) => {
    expect(isAllowed({ ...own, ...more }, file)).toBe(expected);
  });
});

it('a test file with leaks fails in just the tests that leak, and for what is left over', {
  timeout: 300_000,
}, async () => {
  const at = (path: string) => fileURLToPath(new URL(path, import.meta.url));
  const vitest = at('../../../node_modules/vitest/vitest.mjs');
  const args = [vitest, 'run', '--config', at('./leaks/vitest.config.ts'), '--reporter=json'];
  const env = { CI: undefined, MARKETGATE_COUNT_FILE: undefined };
  const { stdout } = await runProgram(process.execPath, args, {
    cwd: at('../../..'),
    env,
    timeout: 290_000,
  });
  const { testResults } = JSON.parse(stdout.slice(stdout.indexOf('{'))) as {
    testResults: {
      status: string;
      message: string;
      assertionResults: { fullName: string; status: string }[];
    }[];
  };
  const [file] = testResults;
  const tests = file?.assertionResults.map(({ fullName, status }) => [fullName, status]) ?? [];
  expect(Object.fromEntries(tests)).toEqual({
    'a test leaks in an error': 'failed',
    'a test leaks in a log': 'failed',
    'a test leaks nothing': 'passed',
    'a hook behind the tests leaks nothing': 'passed',
  });
  expect(file).toMatchObject({ status: 'failed' });
  expect(stdout).toContain('secrets got out');
  expect(stdout).toContain('at the end');
});
