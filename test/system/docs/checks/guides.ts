import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, request as httpRequest } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { decodeJwt } from 'jose';
import { createClient } from 'redis';
import { expect, vi } from 'vitest';
import { Browser } from '../../../support/browser.js';
import { forwardProxy } from '../../../support/forward-proxy.js';
import { anyRedis, type RedisServer, SOON, startRedis } from '../../../support/redis-server.js';
import { guess } from '../../../support/wire.js';
import { ROOT } from '../support/pages.js';
import { type Running, type RunOptions, runBlock } from '../support/run-block.js';
import {
  type Check,
  type Checks,
  expectGuard,
  expectNoFormsFromElsewhere,
  expectNoStartWithout,
  postJson,
  STAFF_TOKEN,
  WRONG,
} from './check.js';

const JEST_GLOBALS = join(ROOT, 'test/system/docs/support/jest-globals.cjs');
const EMPTY_CONFIG = join(ROOT, 'test/system/docs/support/vitest.config.cjs');
const VITEST = join(ROOT, 'node_modules/vitest/vitest.mjs');

const statusOf = async (answer: Promise<Response>): Promise<number> => (await answer).status;

/** The statuses in an outage, for a code seen before and for one not seen. */
async function onABadDay(running: Running, path: string) {
  const ask = (kind: 'supported' | 'extended') =>
    statusOf(running.get(path, { 'x-purchase-code': running.code(kind) }));
  expect(await ask('supported')).toBe(200);
  running.sandbox.faults.errorRate = 1;
  return { seen: await ask('supported'), unseen: await ask('extended') };
}

/** A program that ends, and prints this. */
export const prints = (text: string, options: RunOptions = {}): Check => ({
  options,
  check: async (running) => void expect(await running.printed()).toBe(text),
});

/**
 * PGlite keeps a timer of ten seconds. Optimising its WebAssembly takes longer than what these programs do with it.
 */
const PGLITE: RunOptions = { args: ['--test-force-exit', '--liftoff-only'] };

/** Tests for node:test, of which so many pass, or more, and none fails. */
export const passes = (tests: number, { args = [], ...options }: RunOptions = {}): Check => ({
  options: { ...options, args: [...args, '--test-reporter', 'tap'] },
  async check(running) {
    const report = await running.printed();
    expect(report).toMatch(/^# fail 0$/m);
    expect(Number(/^# pass (\d+)$/m.exec(report)?.[1])).toBeGreaterThanOrEqual(tests);
  },
});

/** The same for vitest. Without a configuration, it uses that of the repository. */
const passesInVitest = (tests: number): Check => ({
  options: { args: [VITEST, 'run', '--config', EMPTY_CONFIG], env: { NO_COLOR: '1' } },
  check: async (running) =>
    expect(await running.printed()).toContain(`Tests  ${tests} passed (${tests})`),
});

let redisOfSessions: RedisServer | undefined;
let redisOfHolders: RedisServer | undefined;

export const GUIDE_CHECKS: Checks = {
  'examples/guides/behind-a-proxy.md: main.js': async (running) => {
    const from = (address: string, code: string) =>
      statusOf(running.get('/downloads', { 'x-forwarded-for': address, 'x-purchase-code': code }));
    for (let i = 1; i <= 10; i++) expect(await from('192.0.2.1', guess(i))).toBe(403);
    expect(await from('192.0.2.1', guess(11))).toBe(429);
    expect(await from('192.0.2.2', guess(12))).toBe(403);
  },
  'examples/guides/behind-a-proxy.md: path.js': async (running) => {
    const app = new URL(await running.origin());
    // Not `listen`: these programs run at the same time, so it would close with the first test that is over.
    const server = createServer((req, res) => {
      const path = /^\/shop(\/.*)/.exec(req.url ?? '')?.[1];
      if (path === undefined) return void res.writeHead(404).end();
      const { method } = req;
      // Whether a connection can be used again is said for each part of the way.
      const headers = { ...req.headers, connection: 'close' };
      const to = { host: app.hostname, port: app.port, path, method, headers, agent: false };
      const request = httpRequest(to, (from) => {
        res.writeHead(from.statusCode ?? 500, { ...from.headers, connection: 'close' });
        from.pipe(res);
      });
      req.pipe(request);
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    try {
      const proxy = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
      running.sandbox.redirectUrl = `${proxy}/shop/callback`;
      const browser = new Browser();
      const page = await browser.logIn(`${proxy}/shop/account?tab=2`);
      expect(page.text).toContain('Continue as');
      const account = { url: `${proxy}/shop/account?tab=2`, status: 200 };
      expect(await browser.pressContinue(page)).toMatchObject(account);
    } finally {
      server.close();
    }
  },
  'examples/guides/behind-a-proxy.md: outgoing.js': {
    async prepare() {
      const proxy = await forwardProxy();
      return { env: { MARKETPLACE_PROXY: proxy.url }, args: [], end: proxy.close };
    },
    async check(running) {
      expect(await running.printed()).toBe('asked through the proxy: northlight\n');
    },
  },
  'examples/guides/without-sessions.md: main.js': async (running) => {
    const origin = await running.origin();
    const browser = new Browser();
    const landed = await browser.logIn(`${origin}/account?tab=2`);
    expect(landed).toMatchObject({ url: `${origin}/account?tab=2`, status: 200 });
    expect(JSON.parse(landed.text)).toMatchObject({ name: expect.any(String) });
    expect(browser.cookies(origin)).toMatch(/login=/);
    // A copied cookie cannot be renewed.
    const again = await browser.get(`${origin}/callback?auth_key=x`);
    expect(again.status).toBe(302);
    expect(again.headers.getSetCookie().join()).not.toMatch(/(^|,)login=/);
    await expectNoFormsFromElsewhere(running, '/logout');
    expect((await browser.submit(`${origin}/logout`, {})).status).toBe(204);
    expect(browser.cookies(origin)).not.toMatch(/login=/);
  },
  'examples/guides/redis.md: main.js': {
    needsRedis: true,
    prepare: async () => ({ env: { REDIS_URL: await anyRedis() } }),
    async check(running) {
      await expectGuard(running, '/downloads');
      const redis = await createClient({ url: running.env.REDIS_URL ?? '' }).connect();
      const keys: string[] = [];
      // Other programs use the same server, also for sets.
      for await (const some of redis.scanIterator({ TYPE: 'string' })) keys.push(...some);
      const values = await Promise.all(keys.map((key) => redis.get(key)));
      redis.destroy();
      expect(keys.length).toBeGreaterThan(1);
      expect([...keys, ...values].join('\n')).not.toContain(running.code('supported'));
    },
  },
  'examples/guides/redis.md: sessions.js': {
    needsRedis: true,
    async prepare() {
      const server = await startRedis();
      redisOfSessions = server;
      return { env: { REDIS_URL: server.url }, end: () => server.stop() };
    },
    async check(running) {
      const first = await running.get('/session');
      const id = await first.json();
      const cookie = first.headers.getSetCookie()[0]?.split(';')[0] ?? '';
      const visit = () => running.get('/session', { cookie });
      expect(await (await visit()).json()).toBe(id);
      await redisOfSessions?.cut();
      await vi.waitFor(async () => expect((await visit()).status).toBe(503), SOON);
      expect(await (await visit()).json()).toMatchObject({ code: 'store_unavailable' });
      expect(await statusOf(running.get('/'))).toBe(200);
      await redisOfSessions?.restart();
      await vi.waitFor(async () => expect((await visit()).status).toBe(200), SOON);
      expect(await (await visit()).json()).toBe(id);
    },
  },
  'examples/guides/redis.md: own-limit.js': async (running) => {
    // What is left of the minute that the first attempt has begun.
    expect(await running.printed()).toMatch(/^10 too_many_attempts ([1-9]|[1-5]\d|60)\n$/);
  },
  'examples/guides/one-customer.md: main.js': {
    needsRedis: true,
    async prepare() {
      const HOLDER_SECRET = 'holder-secret-of-at-least-32-characters';
      const server = await startRedis();
      redisOfHolders = server;
      const env = { REDIS_URL: server.url, HOLDER_SECRET, STAFF: 'sam,kim' };
      return { env, end: () => server.stop() };
    },
    async check(running) {
      const code = running.code('supported');
      const ask = (user: string) =>
        statusOf(running.get('/downloads', { 'x-purchase-code': code, 'x-user': user }));
      expect([await ask('anna'), await ask('bert'), await ask('anna')]).toEqual([200, 403, 200]);
      const staff = async (user: string, path: string, body?: object) => {
        const response = await fetch(`${await running.origin()}/staff${path}`, {
          method: body ? 'POST' : 'GET',
          headers: {
            'x-user': user,
            accept: 'application/json',
            'content-type': 'application/json',
          },
          body: body ? JSON.stringify(body) : null,
        });
        const text = await response.text();
        return response.ok && text !== '' ? JSON.parse(text) : response.status;
      };
      const asked = { code: code.toUpperCase() };
      for (const [user, status] of [
        ['anna', 403],
        ['', 401],
        ['undefined', 403],
      ] as const) {
        for (const path of ['/holders', '/release'])
          expect(await staff(user, path, asked)).toBe(status);
        expect(await staff(user, '')).toBe(status);
      }
      expect(await staff('sam', '/holders', asked)).toEqual(['anna']);
      expect(await staff('sam', '')).toEqual({ [code]: ['anna'] });
      expect(await staff('sam', '/release', asked)).toBe(204);
      expect([await ask('bert'), await ask('anna')]).toEqual([200, 403]);
      const origin = `${await running.origin()}/licence`;
      const activate = async (site: string) =>
        (await postJson(`${origin}/activate`, { purchase_code: code, site })).body;
      const browser = new Browser();
      const page = async (path = '', site = '', purchase_code = code) =>
        (await browser.submit(`${origin}${path}`, { purchase_code, site })).text;
      expect(await activate('Shop.example')).toEqual({ active: 'shop.example' });
      expect(await activate('other.example')).toMatchObject({ code: 'purchase_held' });
      // A copy of the site has its site's seat; what only its own machine can reach has none.
      for (const copy of [
        'https://staging.shop.example/blog',
        'www.shop.example.',
        'SHOP.example:8080',
      ]) {
        expect(await activate(copy)).toEqual({ active: 'shop.example' });
      }
      for (const local of ['localhost', 'shop.test', '127.0.0.1:3000', 'http://127.1/', '[::1]']) {
        expect(await activate(local)).toEqual({ active: expect.any(String) });
      }
      // Names that look like these are sites as any other.
      for (const site of [
        ...[
          '127.evil.example',
          'staging.evil.example',
          'dev.evil.example',
          'localhost.evil.example',
        ],
        ...[
          'test.evil.example',
          'local.evil.example',
          '127.0.0.1.evil.example',
          'evil.example#.test',
        ],
        ...['evil.example/127.0.0.1', 'localhost@evil.example', 'evil.example?.local'],
      ]) {
        expect(await activate(site), site).toMatchObject({ code: 'purchase_held' });
      }
      // What a program can send that is no site.
      for (const site of [
        undefined,
        null,
        5,
        {},
        { toString: 1 },
        ['shop.example'],
        '',
        ' ',
        'a b',
        '//',
      ]) {
        const answer = await postJson(`${origin}/activate`, { purchase_code: code, site });
        expect([answer.status, site]).toEqual([400, site]);
      }
      for (const purchase_code of [5, {}, [code], null]) {
        const answer = await postJson(`${origin}/activate`, { purchase_code, site: 'a.example' });
        expect([402, 403]).toContain(answer.status);
      }
      expect((await browser.open(origin)).text).toContain('name="purchase_code"');
      expect(await page()).toMatch(/1 of 1 sites[\s\S]*<button name="site" value="shop\.example"/);
      expect(await page('', '', WRONG)).not.toContain('shop.example');
      // The page frees each site by the name that it shows.
      for (const copy of ['www.staging.shop.example', 'staging.www.shop.example', 'shop.example..'])
        expect(await activate(copy), copy).toEqual({ active: 'shop.example' });
      // Without a site, none is freed.
      for (const odd of ['', '//', 'a b'])
        expect(await page('/free', odd)).toContain('1 of 1 sites');
      expect(await page('/free', 'shop.example')).toContain('0 of 1 sites');
      // The cooldown, for others only.
      expect(await activate('other.example')).toMatchObject({ code: 'purchase_held' });
      expect(await activate('shop.example')).toEqual({ active: 'shop.example' });
      await redisOfHolders?.cut();
      expect(await activate('shop.example')).toMatchObject({ code: 'store_unavailable' });
      // Nobody waits for Redis.
      const asks = { method: 'POST', body: new URLSearchParams({ purchase_code: code }) };
      const signal = AbortSignal.timeout(5000);
      expect(await statusOf(fetch(origin, { ...asks, signal }))).toBe(503);
    },
  },
  'examples/guides/health.md: main.js': {
    options: { env: { STAFF_TOKEN } },
    async check(running) {
      await expectNoStartWithout(running, 'STAFF_TOKEN');
      await expectGuard(running, '/downloads', 200);
      const authorization = `Bearer ${STAFF_TOKEN}`;
      const statuses = async () =>
        Promise.all(
          ['/live', '/ready', '/marketplace'].map((path) =>
            statusOf(running.get(path, path === '/marketplace' ? { authorization } : {})),
          ),
        );
      expect(await statuses()).toEqual([200, 200, 200]);
      running.sandbox.faults.errorRate = 1;
      expect(await statuses()).toEqual([200, 200, 503]);
      // Strangers cause no request.
      const asked = running.sandbox.requests.length;
      for (const wrong of ['', 'Bearer undefined', `Basic ${STAFF_TOKEN}`]) {
        expect(await statusOf(running.get('/marketplace', { authorization: wrong }))).toBe(401);
      }
      expect(running.sandbox.requests).toHaveLength(asked);
    },
  },
  'examples/guides/questions.md: signed.js': {
    options: { env: { FILES_SECRET: 'not-so-secret-but-of-32-characters' } },
    async check(running) {
      await expectNoStartWithout(running, 'FILES_SECRET');
      await expectGuard(running, '/downloads/1042', 302);
      const customer = { 'x-purchase-code': running.code('supported') };
      const { headers } = await running.get('/downloads/1042', customer);
      const address = headers.get('location') ?? '';
      expect(address).not.toContain(customer['x-purchase-code']);
      expect(await statusOf(running.get(address))).toBe(200);
      const until = /until=(\d+)/.exec(address)?.[1] ?? '';
      for (const changed of [
        address.replace('1042', '1046'),
        address.replace(until, `${Number(until) + 1}`),
        address.replace(/&signature=.*/, ''),
        `${address}&signature=x`,
        '/files/1042.zip',
      ]) {
        expect(await statusOf(running.get(changed))).toBe(403);
      }
    },
  },
  'examples/guides/spa.md: api.js': {
    options: { env: { FRONT_END: 'http://front-end.example' } },
    async check(running) {
      const origin = { origin: 'http://front-end.example' };
      const at = await running.origin();
      const preflight = await fetch(`${at}/downloads/1042`, {
        method: 'OPTIONS',
        headers: {
          ...origin,
          'access-control-request-method': 'GET',
          'access-control-request-headers': 'x-purchase-code',
        },
      });
      expect([preflight.status, preflight.headers.get('access-control-allow-headers')]).toEqual([
        204,
        'x-purchase-code',
      ]);
      const refused = await running.get('/downloads/1042', origin);
      expect([refused.status, refused.headers.get('access-control-allow-origin')]).toEqual([
        402,
        origin.origin,
      ]);
      const evil = await running.get('/downloads/1042', { origin: 'https://evil.example' });
      expect(evil.headers.get('access-control-allow-origin')).not.toBe('https://evil.example');
      expect(await statusOf(running.get('/me', origin))).toBe(401);
      const file = running.file.replace('api.js', 'front-end.js');
      const { check, download } = await import(file);
      const code = running.code('supported');
      expect(await check(code, at)).toEqual({ verdict: 'valid' });
      expect(await check(WRONG, at)).toEqual({
        verdict: 'invalid',
        reason: 'purchase_code_invalid',
      });
      expect(await download(code, at)).toEqual({ file: 'Fjord Light' });
      await expect(download(WRONG, at)).rejects.toMatchObject({ code: 'purchase_code_invalid' });
      const browser = new Browser();
      const callback = await browser.logInUpToCallback(`${at}/login`);
      expect((await browser.get(callback)).headers.get('location')).toBe(
        'http://front-end.example',
      );
      await expectNoFormsFromElsewhere(running, '/logout');
      expect((await browser.submit(`${at}/logout`, {})).status).toBe(204);
      expect((await browser.get(`${at}/me`)).status).toBe(401);
    },
  },
  'examples/guides/receipts.md: make-keys.js': async (running) =>
    expect(await running.printed()).toMatch(
      /^RECEIPT_KEY='\{.*"d":.*\}'\n-----BEGIN PUBLIC KEY-----/,
    ),
  'examples/guides/receipts.md: server.js': {
    prepare: async () => ({
      env: {
        RECEIPT_KEY: JSON.stringify(
          generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' }),
        ),
      },
    }),
    async check(running) {
      // As `docker run --env-file` passes what make-keys.js prints: with its quotes.
      const env = { RECEIPT_KEY: `'${running.env.RECEIPT_KEY}'` };
      await runBlock(running.file, { env }, async ({ origin, output }) => {
        await expect(origin()).rejects.toThrow('RECEIPT_KEY is not what make-keys.js has printed');
        expect(output()).not.toContain(JSON.parse(running.env.RECEIPT_KEY ?? '').d);
      });
      const ask = async (body: object) => postJson(`${await running.origin()}/receipt`, body);
      const code = running.code('supported');
      expect((await ask({ code })).status).toBe(400);
      expect((await ask({ code: WRONG, machine: 'm1' })).status).toBe(403);
      const { receipt } = (await ask({ code, machine: 'm1' })).body;
      expect(decodeJwt(String(receipt))).toMatchObject({ item: 1042, machine: 'm1' });
      expect(String(receipt)).not.toContain(code);
      expect((await ask({ code: running.code('other-item'), machine: 'm1' })).status).toBe(403);
    },
  },
  'examples/guides/one-customer.md: sql-holder-store.test.ts': passes(14, PGLITE),
  'examples/guides/token-store.md: postgres-token-store.test.ts': passes(10, {
    ...PGLITE,
    env: { DOCS_FAST_CLOCK: '1' },
  }),
  // jest's own CommonJS, in which `import()` throws, is a test of the packed tarball.
  'examples/guides/testing.md: app.jest.test.cjs': passes(1, { args: ['--require', JEST_GLOBALS] }),
  'examples/guides/testing.md: app.vitest.test.js': passesInVitest(3),
  'examples/guides/testing.md: login.vitest.test.js': passesInVitest(1),
  'examples/guides/typescript.md: app.test.ts': passesInVitest(1),
  'examples/guides/testing.md: mock-agent.js': passes(2),
  'examples/guides/testing.md: more.js': prints('0\n'),
  'examples/guides/testing.md: shop.node.test.js': passes(3),
  'examples/guides/migrating.md: before.js': async (running) => {
    // The mistake that the page warns of: an outage reads as a wrong code, for customers too.
    expect(await onABadDay(running, '/downloads')).toEqual({ seen: 403, unseen: 403 });
  },
  'examples/guides/migrating.md: after.js': async (running) => {
    await expectGuard(running, '/downloads');
    expect(await onABadDay(running, '/downloads')).toEqual({ seen: 200, unseen: 503 });
  },
  'examples/guides/migrating.md: own-answers.js': async (running) => {
    const wrong = await running.get('/downloads', { 'x-purchase-code': WRONG });
    expect([wrong.status, await wrong.json()]).toEqual([
      403,
      { error: 'Invalid purchase code', code: 'purchase_code_invalid' },
    ]);
    const { unseen } = await onABadDay(running, '/downloads');
    expect(unseen).toBe(503);
    running.sandbox.faults.errorRate = 0;
    // Somebody at the customer's address has guessed: that says nothing about the customer's code.
    const ask = (code: string) => running.get('/downloads', { 'x-purchase-code': code });
    for (let i = 1; i <= 10; i++) await ask(guess(i));
    const waiting = await ask(running.code('video-item'));
    expect([waiting.status, await waiting.json()]).toEqual([
      429,
      { error: 'Please try again later', code: 'too_many_attempts' },
    ]);
  },
  'examples/guides/migrating.md: custom-callback.js': async (running) => {
    const origin = await running.origin();
    const browser = new Browser();
    const account = { url: `${origin}/account?tab=2`, status: 200 };
    expect(await browser.logIn(account.url)).toMatchObject(account);
    const callback = browser.history.find((url) => url.includes('auth_key=')) ?? '';
    expect(await browser.open(callback)).toMatchObject({ url: `${origin}/account`, status: 200 });
    const refused = await new Browser().get(callback);
    expect([refused.status, await refused.json()]).toEqual([401, { code: 'login_failed' }]);
    const visitor = new Browser();
    const last = await visitor.logInUpToCallback(`${origin}/login`);
    running.sandbox.faults.errorRate = 1;
    const outage = await visitor.get(last, { accept: 'application/json' });
    expect([outage.status, await outage.json()]).toMatchObject([
      503,
      { code: 'service_unavailable' },
    ]);
  },
  'examples/guides/rotating-keys.md: main.js': {
    async prepare() {
      const folder = await mkdtemp(join(tmpdir(), 'marketgate-key-'));
      return {
        env: { API_KEY_FILE: join(folder, 'key') },
        end: () => rm(folder, { recursive: true }),
      };
    },
    async check(running) {
      const { sandbox, env } = running;
      const file = env.API_KEY_FILE ?? '';
      await writeFile(file, `${sandbox.data.workspaces[0]?.api_key}\n`);
      await expectGuard(running, '/downloads');
      await writeFile(file, `${sandbox.data.rotateApiKey('northlight')}\n`);
      expect(
        await statusOf(running.get('/downloads', { 'x-purchase-code': running.code('extended') })),
      ).toBe(200);
    },
  },
  'examples/guides/rotating-keys.md: lists.js': prints('marketplace\n', {
    env: {
      TOKEN_KEY_NEW: Buffer.alloc(32, 8).toString('base64'),
      COOKIE_SECRET_NEW: 'another-one-that-is-long-enough-too',
    },
  }),
  'examples/guides/express-4.md: main.cjs': {
    options: { env: { DOCS_EXPRESS: 'express4' } },
    async check(running) {
      // An error of an async handler is answered, and does not end the process.
      running.sandbox.faults.errorRate = 1;
      expect(await statusOf(running.get('/author'))).toBe(503);
      running.sandbox.faults.errorRate = 0;
      expect(await (await running.get('/items/1042')).json()).toMatchObject({ id: 1042 });
      const form = await fetch(`${await running.origin()}/downloads/1042`, {
        method: 'POST',
        body: new URLSearchParams({ purchase_code: running.code('supported') }),
      });
      expect(form.status).toBe(200);
    },
  },
  'examples/guides/watching.md: main.js': async (running) => {
    await expectGuard(running, '/downloads', 204);
    expect(running.output()).toMatch(/^\{"event":"guard",.*"allowed":true/m);
    expect(running.output()).toContain(
      '{"event":"lookup","what":"purchase","source":"service","outcome":"negative"}',
    );
  },
  'examples/guides/watching.md: prometheus.js': async (running) => {
    await expectGuard(running, '/downloads', 204);
    const port = /^metrics at (\d+)$/m.exec(running.output())?.[1];
    const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    expect((await running.get('/metrics')).status).toBe(404);
    expect(text).toContain('marketgate_guard_decisions_total{allowed="true",code="none"} 1');
    expect(text).toMatch(/duration_seconds_count\{endpoint="\/api\/purchases\/validation",.*\} 2/);
  },
};
