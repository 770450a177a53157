import { generateKeyPairSync } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { decodeJwt } from 'jose';
import { createClient } from 'redis';
import { expect } from 'vitest';
import { Browser } from '../../../support/browser.js';
import { forwardProxy } from '../../../support/forward-proxy.js';
import { anyRedis } from '../../../support/redis-server.js';
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
  SUPPORTED,
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

/** PGlite keeps a timer of ten seconds. Optimising its WebAssembly takes longer than what these programs do with it. */
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

/** Only the operator's own tools get in. */
async function expectStaffOnly(
  running: Running,
  send: (headers: Record<string, string>) => Promise<number>,
) {
  for (const wrong of ['', 'Bearer ', 'Bearer undefined', STAFF_TOKEN, `Bearer ${STAFF_TOKEN}x`]) {
    expect(await send({ authorization: wrong })).toBe(401);
  }
  await expectNoStartWithout(running, 'STAFF_TOKEN');
}

/** A login leads to the page that needed it. */
async function expectLogin(running: Running, path: string): Promise<Browser> {
  const browser = new Browser();
  const url = `${await running.origin()}${path}`;
  expect(await browser.logIn(url)).toMatchObject({ url, status: 200 });
  return browser;
}

const guarded =
  (path: string, opened?: number): Check['check'] =>
  (running) =>
    expectGuard(running, path, opened);

const CHECKS: Checks = {
  'redeem.md: shop.js': async (running) => {
    const origin = await running.origin();
    const browser = await expectLogin(running, '/account');
    const redeem = (from: Browser) => from.submit(`${origin}/redeem`, { purchase_code: SUPPORTED });
    expect(await redeem(browser)).toMatchObject({ url: `${origin}/account` });
    expect((await browser.get(`${origin}/files/1042`)).status).toBe(200);
    expect((await browser.get(`${origin}/files/1046`)).status).toBe(402);
    const other = new Browser();
    await other.logIn(`${origin}/account`, '3002');
    expect((await redeem(other)).status).toBe(403);
    await expectNoFormsFromElsewhere(running, '/redeem', '/logout');
    expect((await browser.submit(`${origin}/logout`, {})).url).toBe(`${origin}/`);
    expect((await browser.get(`${origin}/files/1042`)).status).toBe(302);
  },
  'show-items.md: items.js': async (running) => {
    running.sandbox.data.addItem({ name: '<b>Bold</b>', tags: ['x"y'] });
    const text = async (path: string) => (await running.get(path)).text();
    expect(await text('/')).toMatch(/Fjord Light[\s\S]*page 1 of 2/);
    expect(await text('/?q=%22bold%3C')).toContain('value="&#34;bold&#60;"');
    expect(await text('/')).not.toContain('<b>Bold');
    expect(await text('/items/1042')).toContain('Regular licence USD');
    expect(await statusOf(running.get('/items/1'))).toBe(404);
  },
  'one-customer.md: main.js': {
    needsRedis: true,
    async prepare() {
      const HOLDER_SECRET = 'holder-secret-of-at-least-32-characters';
      return { env: { REDIS_URL: await anyRedis(), HOLDER_SECRET, STAFF: 'sam,kim' } };
    },
    async check(running) {
      const origin = await running.origin();
      const code = running.code('supported');
      const ask = (user: string) =>
        statusOf(running.get('/downloads', { 'x-purchase-code': code, 'x-user': user }));
      const staff = async (user: string, path: string) => {
        const headers = { 'x-user': user, 'content-type': 'application/json' };
        const body = JSON.stringify({ code: code.toUpperCase() });
        const answer = await fetch(`${origin}/staff${path}`, { method: 'POST', headers, body });
        return answer.status === 200 ? answer.json() : answer.status;
      };
      // The Redis can be one that others use, too.
      await staff('sam', '/release');
      expect([await ask('anna'), await ask('bert'), await ask('anna')]).toEqual([200, 403, 200]);
      expect([await staff('anna', '/holders'), await staff('', '/release')]).toEqual([403, 401]);
      expect(await staff('sam', '/holders')).toEqual(['anna']);
      expect(await staff('sam', '/release')).toBe(204);
      expect([await ask('bert'), await ask('anna')]).toEqual([200, 403]);
      await staff('sam', '/release');

      const browser = new Browser();
      const page = async (path = '', site = '') =>
        (await browser.submit(`${origin}/licence${path}`, { purchase_code: code, site })).text;
      const activate = async (site: string) =>
        (await postJson(`${origin}/licence/activate`, { purchase_code: code, site })).body;
      expect(await activate('Shop.example')).toEqual({ active: expect.any(String) });
      expect(await activate('other.example')).toMatchObject({ code: 'purchase_held' });
      expect(await page()).toContain('1 of 1 sites');
      expect(await page('/free', 'shop.example')).toContain('0 of 1 sites');
    },
  },
  'refusals.md: refunds.js': {
    options: { env: { STAFF_TOKEN } },
    async check(running) {
      await expectGuard(running, '/manual');
      const visit = (path: string, code: string) =>
        statusOf(running.get(path, { 'x-purchase-code': code }));
      const report = async (headers: Record<string, string>, body: object) =>
        (await postJson(`${await running.origin()}/refunds`, body, headers)).status;
      const code = running.code('extended');
      expect(await visit('/manual', code)).toBe(200);
      running.sandbox.data.refundPurchase(code);
      expect([await visit('/manual', code), await visit('/previews', code)]).toEqual([200, 200]);
      await expectStaffOnly(running, (headers) => report(headers, { purchase_code: code }));
      const authorization = `Bearer ${STAFF_TOKEN}`;
      expect(await report({ authorization }, { purchase_code: code })).toBe(204);
      expect(await visit('/manual', code)).toBe(403);
      expect(await visit('/downloads', SUPPORTED)).toBe(200);
      running.sandbox.faults.errorRate = 1;
      expect(await visit('/downloads', SUPPORTED)).toBe(503);
    },
  },
  'refusals.md: pages.js': async (running) => {
    const browser = new Browser();
    const origin = await running.origin();
    const support = async (kind: 'supported' | 'support-over') =>
      browser.open(`${origin}/support`, { 'x-purchase-code': running.code(kind) });
    expect((await support('supported')).status).toBe(200);
    running.sandbox.dialect.supportedUntilPast = true;
    expect((await support('support-over')).text).toMatch(/ended on 20.*items\/1042">Renew/);
    const verdict = async (purchase_code: string) =>
      (await browser.submit(origin, { purchase_code })).text;
    expect(await verdict(SUPPORTED)).toContain('Thank you');
    expect(await verdict(running.code('other-item'))).toContain('for another item');
    expect((await browser.open(`${origin}/de`)).text).toMatch(/lang="de"[\s\S]*Bitte geben Sie/);
    running.sandbox.faults.errorRate = 1;
    expect(await verdict(running.code('video-item'))).toContain('cannot check codes just now');
  },
  'desktop-app.md: server.js': async (running) => {
    const origin = await running.origin();
    const send = async (path: string, machine: unknown) =>
      (await postJson(`${origin}/${path}`, { code: SUPPORTED, machine })).status;
    const statuses = [];
    for (const machine of ['a', 'b', 'c', 'a', 'd', 5])
      statuses.push(await send('activate', machine));
    expect(statuses).toEqual([200, 200, 200, 200, 403, 400]);
    expect([await send('deactivate', 'a'), await send('activate', 'd')]).toEqual([200, 200]);
    const { mayRun } = await import(running.file.replace('server.js', 'program.js'));
    const saved = { code: SUPPORTED, machine: 'd', checkedAt: 0 };
    expect([await mayRun(saved, origin), await mayRun(saved, 'http://127.0.0.1:9')]).toEqual([
      ...[true, true],
    ]);
    expect(await mayRun({ ...saved, machine: 'e' }, origin)).toBe(false);
  },
  'desktop-app.md: make-keys.js': async (running) =>
    expect(await running.printed()).toMatch(
      /^RECEIPT_KEY='\{.*"d":.*\}'\n-----BEGIN PUBLIC KEY-----/,
    ),
  'desktop-app.md: receipts.js': {
    prepare: async () => {
      const { privateKey } = generateKeyPairSync('ed25519');
      return { env: { RECEIPT_KEY: JSON.stringify(privateKey.export({ format: 'jwk' })) } };
    },
    async check(running) {
      // As `docker run --env-file` passes what make-keys.js prints: with its quotes.
      const env = { RECEIPT_KEY: `'${running.env.RECEIPT_KEY}'` };
      await runBlock(running.file, { env, isHosted: true }, async ({ origin, output }) => {
        await expect(origin()).rejects.toThrow('RECEIPT_KEY is not what make-keys.js has printed');
        expect(output()).not.toContain(JSON.parse(running.env.RECEIPT_KEY ?? '').d);
      });
      const ask = async (body: object) => postJson(`${await running.origin()}/receipt`, body);
      expect((await ask({ code: WRONG, machine: 'm1' })).status).toBe(403);
      const { receipt } = (await ask({ code: SUPPORTED, machine: 'm1' })).body;
      expect(decodeJwt(String(receipt))).toMatchObject({ item: 1042, machine: 'm1' });
      expect(String(receipt)).not.toContain(SUPPORTED);
    },
  },
  'existing-login.md: main.js': async (running) => {
    const origin = await running.origin();
    const ada = { username: 'ada', password: 'correct horse' };
    const browser = new Browser();
    expect((await browser.get(`${origin}/account?tab=2`)).status).toBe(302);
    expect((await browser.submit(`${origin}/login`, ada)).url).toBe(`${origin}/account?tab=2`);
    const asked = await browser.logIn(`${origin}/profile`);
    expect((await browser.pressContinue(asked)).url).toBe(`${origin}/profile`);
    expect((await new Browser().logIn(`${origin}/marketplace`)).text).toContain('Hello, ada');
    // Nobody is stuck: each refusal leads on.
    const stranger = await new Browser().logIn(`${origin}/marketplace`, '3002');
    expect([stranger.status, stranger.text]).toEqual([403, expect.stringContaining('"/login"')]);
    const other = await browser.logIn(`${origin}/marketplace`, '3002');
    const { status, text } = await browser.pressContinue(other);
    expect([status, text]).toEqual([409, expect.stringContaining('action="/disconnect"')]);
    await expectNoFormsFromElsewhere(running, '/disconnect', '/logout', '/login');
    const send = (body: string) =>
      statusOf(
        fetch(`${origin}/login`, {
          ...{ method: 'POST', redirect: 'manual', body },
          headers: { 'content-type': 'application/x-www-form-urlencoded' },
        }),
      );
    expect(await send('username=ada&password=a&password=b')).toBe(302);
    for (let i = 0; i < 10; i++) await send(`username=ada&password=${i}`);
    expect(await send('username=ada&password=x')).toBe(429);
  },
  'without-sessions.md: main.js': async (running) => {
    const origin = await running.origin();
    const browser = await expectLogin(running, '/account?tab=2');
    expect(browser.cookies(origin)).toMatch(/login=/);
    // A copied cookie cannot be renewed.
    const again = await browser.get(`${origin}/callback?auth_key=x`);
    expect(again.headers.getSetCookie().join()).not.toMatch(/(^|,)login=/);
    await expectNoFormsFromElsewhere(running, '/logout');
    expect((await browser.submit(`${origin}/logout`, {})).status).toBe(204);
    expect(browser.cookies(origin)).not.toMatch(/login=/);
  },
  'spa.md: api.js': {
    options: { env: { FRONT_END: 'http://front-end.example' } },
    async check(running) {
      const origin = { origin: 'http://front-end.example' };
      const at = await running.origin();
      const refused = await running.get('/downloads/1042', origin);
      expect([refused.status, refused.headers.get('access-control-allow-origin')]).toEqual([
        402,
        origin.origin,
      ]);
      expect(await statusOf(running.get('/me', origin))).toBe(401);
      const { check, download } = await import(running.file.replace('api.js', 'front-end.js'));
      expect(await check(SUPPORTED, at)).toEqual({ verdict: 'valid' });
      expect(await download(SUPPORTED, at)).toEqual({ file: 'Fjord Light' });
      await expect(download(WRONG, at)).rejects.toMatchObject({ code: 'purchase_code_invalid' });
      const browser = new Browser();
      const callback = await browser.logInUpToCallback(`${at}/login`);
      expect((await browser.get(callback)).headers.get('location')).toBe(origin.origin);
      // A page of the API leads back to the front end.
      expect((await new Browser().open(`${at}/callback?auth_key=x`)).text).toContain(
        `<a href="${origin.origin}"`,
      );
      await expectNoFormsFromElsewhere(running, '/logout');
    },
  },
  'typescript.md: server.ts': async (running) => {
    const origin = await running.origin();
    const browser = await expectLogin(running, '/account');
    const redeemed = await browser.submit(`${origin}/redeem`, { purchase_code: SUPPORTED });
    expect(redeemed).toMatchObject({ url: `${origin}/account`, status: 200 });
    expect((await browser.open(`${origin}/files/1042`)).text).toContain('Fjord Light');
  },
  'typescript.md: main.cjs': {
    options: { env: { DOCS_EXPRESS: 'express4' } },
    async check(running) {
      await expectGuard(running, '/downloads/1042');
      // An error of an async handler is answered, and does not end the process.
      running.sandbox.faults.errorRate = 1;
      expect(await statusOf(running.get('/author'))).toBe(503);
    },
  },
  'nestjs.md: main.ts': async (running) => {
    await expectGuard(running, '/downloads/1042');
    const browser = await expectLogin(running, '/account');
    const callback = browser.history.find((url) => url.includes('auth_key=')) ?? '';
    const account = `${await running.origin()}/account`;
    expect(await browser.open(callback)).toMatchObject({ url: account, status: 200 });
    // The exception filter.
    const refused = await new Browser().open(callback);
    expect(refused).toMatchObject({ status: 403, text: expect.stringContaining('not started in') });
  },
  'hono-next.md: login.test.js': passes(3),
  'migrating.md: before.js': async (running) => {
    // The mistake that the page warns of: an outage reads as a wrong code, for customers too.
    expect(await onABadDay(running, '/downloads')).toEqual({ seen: 403, unseen: 403 });
  },
  'migrating.md: after.js': async (running) => {
    await expectGuard(running, '/downloads');
    expect(await onABadDay(running, '/downloads')).toEqual({ seen: 200, unseen: 503 });
  },
  'migrating.md: own-answers.js': async (running) => {
    const ask = (code: string) => running.get('/downloads', { 'x-purchase-code': code });
    expect(await (await ask(WRONG)).json()).toMatchObject({ error: 'Invalid purchase code' });
    // Somebody at the customer's address has guessed: that says nothing about the customer's code.
    for (let i = 1; i <= 10; i++) await ask(guess(i));
    const waiting = await ask(SUPPORTED);
    expect([waiting.status, await waiting.json()]).toEqual([
      429,
      { error: 'Please try again later', code: 'too_many_attempts' },
    ]);
  },
  'migrating.md: custom-callback.js': async (running) => {
    const browser = await expectLogin(running, '/account?tab=2');
    const callback = browser.history.find((url) => url.includes('auth_key=')) ?? '';
    expect((await browser.open(callback)).status).toBe(200);
    const refused = await new Browser().get(callback);
    expect([refused.status, await refused.json()]).toEqual([401, { code: 'login_failed' }]);
  },
  'going-live.md: health.js': {
    options: { env: { STAFF_TOKEN } },
    async check(running) {
      await expectStaffOnly(running, (headers) => statusOf(running.get('/marketplace', headers)));
      const statuses = () =>
        Promise.all(
          ['/live', '/ready', '/marketplace'].map((path) =>
            statusOf(running.get(path, { authorization: `Bearer ${STAFF_TOKEN}` })),
          ),
        );
      expect(await statuses()).toEqual([200, 200, 200]);
      running.sandbox.faults.errorRate = 1;
      expect(await statuses()).toEqual([200, 200, 503]);
    },
  },
  'behind-a-proxy.md: main.js': async (running) => {
    const from = (address: string, code: string) =>
      statusOf(running.get('/downloads', { 'x-forwarded-for': address, 'x-purchase-code': code }));
    for (let i = 1; i <= 10; i++) expect(await from('192.0.2.1', guess(i))).toBe(403);
    expect(await from('192.0.2.1', guess(11))).toBe(429);
    expect(await from('192.0.2.2', guess(12))).toBe(403);
  },
  'behind-a-proxy.md: cdn.js': {
    options: { env: { CDN_ADDRESSES: '198.51.100.0/24' } },
    async check(running) {
      const seen = async (forwarded: string) =>
        (
          await running.get('/', { 'x-forwarded-for': forwarded, 'cf-connecting-ip': '1.1.1.1' })
        ).text();
      expect(await seen('1.1.1.1, 203.0.113.7, 198.51.100.9')).toContain('come from 203.0.113.7.');
      // Past the CDN: what the visitor writes there is not believed.
      expect(await seen('1.1.1.1, 203.0.113.8')).toContain('come from 203.0.113.8.');
    },
  },
  // A proxy that strips the path is a test of the login.
  'behind-a-proxy.md: path.js': async (running) => {
    const page = await running.get('/account', { accept: 'text/html' });
    expect([page.status, page.headers.get('location')]).toEqual([302, '/shop/login']);
  },
  'behind-a-proxy.md: outgoing.js': {
    async prepare() {
      const proxy = await forwardProxy();
      return { env: { MARKETPLACE_PROXY: proxy.url }, args: [], end: proxy.close };
    },
    check: async (running) =>
      expect(await running.printed()).toBe('asked through the proxy: northlight\n'),
  },
  'redis.md: main.js': {
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
      expect(keys.length).toBeGreaterThan(0);
      expect([...keys, ...values].join('\n')).not.toContain(SUPPORTED);
    },
  },
  'redis.md: sessions.js': {
    needsRedis: true,
    prepare: async () => ({ env: { REDIS_URL: await anyRedis() } }),
    async check(running) {
      const first = await running.get('/session');
      const cookie = first.headers.getSetCookie()[0]?.split(';')[0] ?? '';
      const again = await running.get('/session', { cookie });
      expect(await again.json()).toBe(await first.json());
    },
  },
  'redis.md: own-limit.js': async (running) =>
    expect(await running.printed()).toMatch(/^10 too_many_attempts ([1-9]|[1-5]\d|60)\n$/),
  'stores.md: stores.test.ts': passes(17, { ...PGLITE, env: { DOCS_FAST_CLOCK: '1' } }),
  'keys.md: rotate.js': {
    async prepare() {
      const folder = await mkdtemp(join(tmpdir(), 'marketgate-key-'));
      const end = () => rm(folder, { recursive: true });
      return { env: { API_KEY_FILE: join(folder, 'key') }, end };
    },
    async check({ sandbox, env, ...running }) {
      const file = env.API_KEY_FILE ?? '';
      await writeFile(file, `${sandbox.data.workspaces[0]?.api_key}\n`);
      await expectGuard({ sandbox, env, ...running }, '/downloads');
      await writeFile(file, `${sandbox.data.rotateApiKey('northlight')}\n`);
      const code = running.code('extended');
      expect(await statusOf(running.get('/downloads', { 'x-purchase-code': code }))).toBe(200);
    },
  },
  'keys.md: lists.js': prints('marketplace\n', {
    env: {
      TOKEN_KEY_NEW: Buffer.alloc(32, 8).toString('base64'),
      COOKIE_SECRET_NEW: 'another-one-that-is-long-enough-too',
    },
  }),
  'keys.md: shops.js': {
    options: {
      seeded: ({ workspaces: [, south], apps: [, partners] }) => ({
        SOUTH_API_KEY: south?.api_key ?? '',
        PARTNERS_APP_ID: partners?.app_id ?? 'partners',
        PARTNERS_APP_SECRET: partners?.app_secret ?? 'partners-secret',
      }),
    },
    async check(running) {
      await expectGuard(running, '/north/downloads/1042');
      const code = running.code('other-workspace');
      const download = (shop: string) =>
        statusOf(running.get(`/${shop}/downloads/1061`, { 'x-purchase-code': code }));
      expect([await download('south'), await download('north')]).toEqual([200, 403]);
      const body = new URLSearchParams({ purchase_code: code });
      const redeemed = fetch(`${await running.origin()}/redeem`, { method: 'POST', body });
      expect(await statusOf(redeemed)).toBe(200);
      await expectNoFormsFromElsewhere(running, '/redeem');
      const start = await running.get('/partners/login');
      expect(start.headers.get('location')).toContain(`app_id=${running.env.PARTNERS_APP_ID}`);
    },
  },
  'watching.md: main.js': async (running) => {
    await expectGuard(running, '/downloads', 204);
    expect(running.output()).toMatch(/^\{"event":"guard",.*"allowed":true/m);
  },
  'watching.md: prometheus.js': async (running) => {
    await expectGuard(running, '/downloads', 204);
    const port = /^metrics at (\d+)$/m.exec(running.output())?.[1];
    const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    expect(text).toContain('marketgate_guard_decisions_total{allowed="true",code="none"} 1');
  },
  // jest's own CommonJS, in which `import()` throws, is a test of the packed tarball.
  'testing.md: app.jest.test.cjs': passes(1, { args: ['--require', JEST_GLOBALS] }),
  'testing.md: app.vitest.test.js': passesInVitest(3),
  'testing.md: login.vitest.test.js': passesInVitest(1),
  'testing.md: mock-agent.js': passes(2),
  'testing.md: more.js': prints('0\n'),
  'testing.md: shop.node.test.js': passes(3),
  'questions.md: signed.js': {
    options: { env: { FILES_SECRET: 'not-so-secret-but-of-32-characters' } },
    async check(running) {
      await expectNoStartWithout(running, 'FILES_SECRET');
      await guarded('/downloads/1042', 302)(running);
      const customer = { 'x-purchase-code': SUPPORTED };
      const { headers } = await running.get('/downloads/1042', customer);
      const address = headers.get('location') ?? '';
      expect(await statusOf(running.get(address))).toBe(200);
      expect(await statusOf(running.get(address.replace('1042', '1046')))).toBe(403);
      expect(await statusOf(running.get('/files/1042.zip'))).toBe(403);
    },
  },
};

/** By page and file, from the top of the repository. */
export const GUIDE_CHECKS: Checks = Object.fromEntries(
  Object.entries(CHECKS).map(([name, check]) => [`examples/guides/${name}`, check]),
);
