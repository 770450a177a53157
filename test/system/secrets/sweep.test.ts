import { once } from 'node:events';
import { createServer } from 'node:net';
import express from 'express';
import { KeyApi, MarketgateError } from 'marketgate';
import { createSandbox } from 'marketgate/sandbox';
import { createClient } from 'redis';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { listen, portOf } from '../../support/listen.js';
import { isAllowed } from '../../support/secrets/watch/allowed.js';
import { type Finding, sweep } from '../../support/secrets/watch/sweep.js';

const SECRET = 'planted-secret-5b1e09c27fd84a63';

/** How often the sweep has found a secret since it was asked last. */
const found = (exit: Finding['exit'], secret = SECRET): number =>
  sweep.findings().filter((each) => each.exit === exit && each.secret === secret).length;

describe('a secret that gets out is found', () => {
  it('in an error: in its message, disguised, and in a hidden field of the cause of its cause', () => {
    sweep.secret('api_key', SECRET);
    for (const disguised of [
      SECRET.toUpperCase(),
      Buffer.from(`key=${SECRET}`).toString('base64'),
      Buffer.from(`k:${SECRET}`).toString('base64url'),
      Buffer.from(SECRET).toString('hex'),
      JSON.stringify(JSON.stringify({ SECRET })),
      SECRET.replace(/./g, (c) => `%${c.charCodeAt(0).toString(16)}`),
    ]) {
      new MarketgateError('login_failed', disguised);
      expect(found('error')).toBe(1);
    }
    const inner = Object.defineProperty(new Error('x'), 'request', { value: { key: SECRET } });
    const cause = new Error('y', { cause: inner });
    new MarketgateError('login_failed', 'x', { cause });
    expect(found('error')).toBe(1);
    new TypeError(`KeyApi: not ${SECRET}`);
    expect(found('error')).toBe(1);
  });

  it('in what is printed, and in a warning', async () => {
    sweep.secret('api_key', SECRET);
    console.debug({ deep: { headers: { key: SECRET } } });
    expect(found('output')).toBe(1);
    process.stdout.write(`${SECRET}\n`);
    expect(found('output')).toBe(1);
    process.emitWarning(`took ${SECRET}`);
    await once(process, 'warning');
    expect(found('output')).toBeGreaterThan(0);
  });

  it('in an answer of an app: body, header, and what it sends in pieces', async () => {
    sweep.secret('api_key', SECRET);
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
      expect(found('answer')).toBe(1);
    }
  });

  it('in what a Redis is told', async () => {
    sweep.secret('api_key', SECRET);
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
    expect(found('redis')).toBe(1);
  });

  it.fails('after the test, which fails', () => {
    sweep.secret('api_key', SECRET);
    console.log(SECRET);
  });
});

describe('the secrets in play are known', () => {
  const heard = (secret: string): number => {
    new MarketgateError('login_failed', `with ${secret}`);
    return found('error', secret);
  };

  it('all of a sandbox, also those that were made later, before they were ever sent', () => {
    const { data, codes } = createSandbox();
    const rotated = data.rotateApiKey(data.workspaces[0]?.id ?? '');
    const late = data.addPurchase({ item_id: 1042 }).purchase_code;
    // They are read when the test is over.
    sweep.findings();
    const known = [codes[0]?.code, data.workspaces[1]?.api_key, data.apps[0]?.app_secret];
    for (const secret of [rotated, late, ...known]) expect(heard(secret ?? '')).toBe(1);
  });

  it.each(['form', 'json', 'query'] as const)('what a client sends, as %s', async (encoding) => {
    const { baseUrl, close } = await createSandbox().listen(0);
    onTestFinished(close);
    const [apiKey, code] = [`made-up-key-of-${encoding}-1`, `made-up-code-of-${encoding}-1`];
    const keyApi = new KeyApi({ baseUrl, apiKey, validationEncoding: encoding, retries: 0 });
    onTestFinished(() => keyApi.close());
    await keyApi.validatePurchase(code).catch(() => {});
    expect([heard(apiKey), heard(code)]).toEqual([1, 1]);
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

it('a purchase code may get out in an answer alone, to its visitor, when he is let in', () => {
  const own: Finding = {
    ...{ exit: 'answer', text: SECRET, secret: SECRET, status: 200 },
    request: `x-purchase-code: ${SECRET}`,
    kinds: new Set(['purchase_code']),
  };
  expect(isAllowed(own, '')).toBe(true);
  const others: Partial<Finding>[] = [
    ...[{ status: 403 }, { request: '' }, { kinds: new Set(['api_key'] as const) }],
    ...[{ exit: 'error' as const }, { exit: 'redis' as const }],
  ];
  for (const other of others) expect(isAllowed({ ...own, ...other }, '')).toBe(false);
  const page = { ...own, status: 403, text: `<p>Unknown: ${SECRET}` };
  expect(isAllowed(page, '/test/system/examples/shop.test.ts')).toBe(false);
});
