import { generateKeyPairSync } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { decodeJwt } from 'jose';
import { createClient } from 'redis';
import { expect, onTestFinished } from 'vitest';
import { Browser } from '../../../support/browser.js';
import { forwardProxy } from '../../../support/forward-proxy.js';
import { newPath } from '../../../support/new-path.js';
import { anyRedis } from '../../../support/redis-server.js';
import { guess } from '../../../support/wire.js';
import { type Running, runBlock } from '../support/run-block.js';
import {
  type Check,
  type Checks,
  expectGuard,
  expectNoFormsFromElsewhere,
  expectNoStartWithout,
  postJson,
  SUPPORTED,
  WRONG,
} from './check.js';

const STAFF_TOKEN = 'a-token-of-the-staff-with-32-characters';

const statusOf = async (answer: Promise<Response>): Promise<number> => (await answer).status;

/** Asks a guarded route with a code. Gives the status. */
const visit = (running: Running, path: string, code: string): Promise<number> =>
  statusOf(running.get(path, { 'x-purchase-code': code }));

/** The statuses in an outage, for a code seen before and for one not seen. */
async function onABadDay(running: Running, path: string) {
  expect(await visit(running, path, SUPPORTED)).toBe(200);
  running.sandbox.faults.errorRate = 1;
  return [
    await visit(running, path, SUPPORTED),
    await visit(running, path, running.code('extended')),
  ];
}

/** Only the operator's own tools get in. */
async function expectStaffOnly(
  running: Running,
  send: (headers: Record<string, string>) => Promise<number>,
) {
  for (const wrong of ['', 'Bearer undefined', STAFF_TOKEN, `Bearer ${STAFF_TOKEN}x`]) {
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

/** The callback of a browser's login, opened again. */
const callbackOf = ({ history }: Browser): string =>
  history.find((url) => url.includes('auth_key=')) ?? '';

const prints =
  (text: string | RegExp): Check['check'] =>
  async ({ printed }) =>
    expect(await printed()).toMatch(text);

const onRedis = async () => ({ REDIS_URL: await anyRedis() });

export const GUIDE_CHECKS: Checks = {
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
  },
  'show-items.md: items.js': async (running) => {
    running.sandbox.data.addItem({ name: '<b>Bold</b>', tags: ['x"y'] });
    const text = async (path: string) => (await running.get(path)).text();
    expect(await text('/')).toMatch(/Fjord Light[\s\S]*page 1 of 2/);
    expect(await text('/')).not.toContain('<b>Bold');
    expect(await text('/?q=%22bold%3C')).toContain('value="&#34;bold&#60;"');
    expect(await text('/items/1042')).toContain('Regular licence USD');
  },
  'one-customer.md: main.js': {
    needsRedis: true,
    env: async () => ({
      ...{ HOLDER_SECRET: 'holder-secret-of-at-least-32-characters', STAFF: 'sam,kim' },
      ...(await onRedis()),
    }),
    async check(running) {
      const origin = await running.origin();
      const ask = (user: string) =>
        statusOf(running.get('/downloads', { 'x-purchase-code': SUPPORTED, 'x-user': user }));
      const staff = (user: string, path: string) =>
        postJson(`${origin}/staff${path}`, { code: SUPPORTED.toUpperCase() }, { 'x-user': user });
      // The Redis can be one that others use, too.
      await staff('sam', '/release');
      expect([await ask('anna'), await ask('bert'), await ask('anna')]).toEqual([200, 403, 200]);
      expect(await staff('anna', '/holders')).toMatchObject({ status: 403 });
      expect(await staff('sam', '/holders')).toMatchObject({ body: ['anna'] });
      await staff('sam', '/release');
      expect([await ask('bert'), await ask('anna')]).toEqual([200, 403]);
      await staff('sam', '/release');

      const page = async (path = '', site = '') =>
        new Browser().submit(`${origin}/licence${path}`, { purchase_code: SUPPORTED, site });
      const activate = (site: string) =>
        postJson(`${origin}/licence/activate`, { purchase_code: SUPPORTED, site });
      expect(await activate('Shop.example')).toMatchObject({ body: { active: 'shop.example' } });
      expect(await activate('other.example')).toMatchObject({ body: { code: 'purchase_held' } });
      expect((await page('/free', 'shop.example')).text).toContain('0 of 1 sites');
    },
  },
  'refusals.md: refunds.js': {
    env: () => ({ STAFF_TOKEN }),
    async check(running) {
      const url = `${await running.origin()}/refunds`;
      const code = running.code('extended');
      const report = async (headers: Record<string, string>) =>
        (await postJson(url, { purchase_code: code }, headers)).status;
      expect(await visit(running, '/manual', code)).toBe(200);
      running.sandbox.data.refundPurchase(code);
      expect(await visit(running, '/manual', code)).toBe(200);
      await expectStaffOnly(running, report);
      expect(await report({ authorization: `Bearer ${STAFF_TOKEN}` })).toBe(204);
      expect(await visit(running, '/manual', code)).toBe(403);
      // A fresh route has no answer of its own in an outage.
      expect(await onABadDay(running, '/downloads')).toEqual([503, 503]);
    },
  },
  'refusals.md: pages.js': async (running) => {
    const browser = new Browser();
    const origin = await running.origin();
    running.sandbox.dialect.supportedUntilPast = true;
    const over = { 'x-purchase-code': running.code('support-over') };
    expect((await browser.open(`${origin}/support`, over)).text).toMatch(
      /ended on 20.*items\/1042">Renew/,
    );
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
    expect(await mayRun(saved, origin)).toBe(true);
    expect(await mayRun(saved, 'http://127.0.0.1:9')).toBe(true);
    expect(await mayRun({ ...saved, machine: 'e' }, origin)).toBe(false);
  },
  'desktop-app.md: make-keys.js': prints(/^RECEIPT_KEY='\{.*"d":.*\}'\n-----BEGIN PUBLIC KEY-----/),
  'desktop-app.md: receipts.js': {
    env: () => {
      const { privateKey } = generateKeyPairSync('ed25519');
      return { RECEIPT_KEY: JSON.stringify(privateKey.export({ format: 'jwk' })) };
    },
    async check(running) {
      // As `docker run --env-file` passes what make-keys.js prints: with its quotes.
      const key = running.env.RECEIPT_KEY ?? '';
      await runBlock(
        running.file,
        () => ({ RECEIPT_KEY: `'${key}'` }),
        async (quoted) => {
          await expect(quoted.origin()).rejects.toThrow('RECEIPT_KEY is not what make-keys.js has');
          expect(quoted.output()).not.toContain(JSON.parse(key).d);
        },
      );
      const url = `${await running.origin()}/receipt`;
      const ask = (code: string) => postJson(url, { code, machine: 'm1' });
      expect(await ask(WRONG)).toMatchObject({ status: 403 });
      const { receipt } = (await ask(SUPPORTED)).body;
      expect(decodeJwt(String(receipt))).toMatchObject({ item: 1042, machine: 'm1' });
      expect(String(receipt)).not.toContain(SUPPORTED);
    },
  },
  'existing-login.md: main.js': async (running) => {
    const origin = await running.origin();
    const browser = new Browser();
    const logIn = (from: Browser, password: string) =>
      from.submit(`${origin}/login`, { username: 'ada', password });
    await browser.get(`${origin}/account?tab=2`);
    expect((await logIn(browser, 'correct horse')).url).toBe(`${origin}/account?tab=2`);
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
    await Promise.all(Array.from({ length: 10 }, () => logIn(new Browser(), 'wrong')));
    expect((await logIn(new Browser(), 'correct horse')).status).toBe(429);
  },
  'without-sessions.md: main.js': async (running) => {
    const origin = await running.origin();
    const browser = await expectLogin(running, '/account?tab=2');
    // A copied cookie cannot be renewed.
    const again = await browser.get(`${origin}/callback?auth_key=x`);
    expect(again.headers.getSetCookie().join()).not.toMatch(/(^|,)login=/);
    await expectNoFormsFromElsewhere(running, '/logout');
    expect((await browser.submit(`${origin}/logout`, {})).status).toBe(204);
    expect(browser.cookies(origin)).not.toMatch(/login=/);
  },
  'spa.md: api.js': {
    env: () => ({ FRONT_END: 'http://front-end.example' }),
    async check(running) {
      const origin = running.env.FRONT_END ?? '';
      const at = await running.origin();
      const { status, headers } = await running.get('/downloads/1042', { origin });
      expect([status, headers.get('access-control-allow-origin')]).toEqual([402, origin]);
      expect(await statusOf(running.get('/me', { origin }))).toBe(401);
      const { check, download } = await import(running.file.replace('api.js', 'front-end.js'));
      expect(await check(SUPPORTED, at)).toEqual({ verdict: 'valid' });
      expect(await download(SUPPORTED, at)).toEqual({ file: 'Fjord Light' });
      await expect(download(WRONG, at)).rejects.toMatchObject({ code: 'purchase_code_invalid' });
      const browser = new Browser();
      const callback = await browser.logInUpToCallback(`${at}/login`);
      expect((await browser.get(callback)).headers.get('location')).toBe(origin);
      // A page of the API leads back to the front end.
      const failed = await new Browser().open(`${at}/callback?auth_key=x`);
      expect(failed.text).toContain(`<a href="${origin}"`);
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
    env: () => ({ DOCS_EXPRESS: 'express4' }),
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
    // The exception filter.
    const refused = await new Browser().open(callbackOf(browser));
    expect(refused).toMatchObject({ status: 403, text: expect.stringContaining('not started in') });
  },
  'migrating.md: before.js': async (running) => {
    // The mistake that the page warns of: an outage reads as a wrong code, for customers too.
    expect(await onABadDay(running, '/downloads')).toEqual([403, 403]);
  },
  'migrating.md: after.js': async (running) =>
    expect(await onABadDay(running, '/downloads')).toEqual([200, 503]),
  'migrating.md: own-answers.js': async (running) => {
    const ask = async (code: string) => {
      const answer = await running.get('/downloads', { 'x-purchase-code': code });
      return { status: answer.status, ...((await answer.json()) as object) };
    };
    expect(await ask(WRONG)).toMatchObject({ status: 403, error: 'Invalid purchase code' });
    // Somebody at the customer's address has guessed: that says nothing about the customer's code.
    for (let i = 1; i <= 10; i++) await ask(guess(i));
    expect(await ask(SUPPORTED)).toMatchObject({ status: 429, error: 'Please try again later' });
  },
  'migrating.md: custom-callback.js': async (running) => {
    const callback = callbackOf(await expectLogin(running, '/account?tab=2'));
    const refused = await new Browser().get(callback);
    expect([refused.status, await refused.json()]).toEqual([401, { code: 'login_failed' }]);
  },
  'going-live.md: health.js': {
    env: () => ({ STAFF_TOKEN }),
    async check(running) {
      await expectStaffOnly(running, (headers) => statusOf(running.get('/marketplace', headers)));
      const headers = { authorization: `Bearer ${STAFF_TOKEN}` };
      const statuses = () =>
        Promise.all(
          ['/live', '/ready', '/marketplace'].map((path) => statusOf(running.get(path, headers))),
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
    env: () => ({ CDN_ADDRESSES: '198.51.100.0/24' }),
    async check({ get }) {
      const seen = async (forwarded: string) =>
        (await get('/', { 'x-forwarded-for': forwarded, 'cf-connecting-ip': '1.1.1.1' })).text();
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
    async env() {
      const { url, close } = await forwardProxy();
      onTestFinished(close);
      return { MARKETPLACE_PROXY: url };
    },
    check: prints('asked through the proxy: northlight'),
  },
  'redis.md: main.js': {
    needsRedis: true,
    env: onRedis,
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
    env: onRedis,
    async check({ get }) {
      const first = await get('/session');
      const cookie = first.headers.getSetCookie()[0]?.split(';')[0] ?? '';
      expect(await (await get('/session', { cookie })).json()).toBe(await first.json());
    },
  },
  'redis.md: own-limit.js': prints(/^10 too_many_attempts ([1-9]|[1-5]\d|60)$/m),
  'keys.md: rotate.js': {
    env: () => ({ API_KEY_FILE: newPath('key') }),
    async check(running) {
      const { sandbox, env } = running;
      const file = env.API_KEY_FILE ?? '';
      await writeFile(file, `${env.MARKETPLACE_API_KEY}\n`);
      expect(await visit(running, '/downloads', SUPPORTED)).toBe(200);
      await writeFile(file, `${sandbox.data.rotateApiKey('northlight')}\n`);
      expect(await visit(running, '/downloads', running.code('extended'))).toBe(200);
    },
  },
  'keys.md: lists.js': {
    env: () => ({
      TOKEN_KEY_NEW: Buffer.alloc(32, 8).toString('base64'),
      COOKIE_SECRET_NEW: 'another-one-that-is-long-enough-too',
    }),
    check: prints(''),
  },
  'keys.md: shops.js': {
    env: ({ workspaces: [, south], apps: [, partners] }) => ({
      SOUTH_API_KEY: south?.api_key ?? '',
      PARTNERS_APP_ID: partners?.app_id ?? 'partners',
      PARTNERS_APP_SECRET: partners?.app_secret ?? 'partners-secret',
    }),
    async check(running) {
      await expectGuard(running, '/north/downloads/1042');
      const code = running.code('other-workspace');
      expect(await visit(running, '/south/downloads/1061', code)).toBe(200);
      expect(await visit(running, '/north/downloads/1061', code)).toBe(403);
      const redeem = `${await running.origin()}/redeem`;
      for (const purchase_code of [code, SUPPORTED]) {
        expect(await new Browser().submit(redeem, { purchase_code })).toMatchObject({
          status: 200,
        });
      }
      await expectNoFormsFromElsewhere(running, '/redeem');
      const start = await running.get('/partners/login');
      expect(start.headers.get('location')).toContain(`app_id=${running.env.PARTNERS_APP_ID}`);
    },
  },
  'watching.md: main.js': async (running) => {
    await expectGuard(running, '/downloads', 204);
    await expect.poll(running.output).toMatch(/^\{"event":"guard",.*"allowed":true/m);
  },
  'watching.md: prometheus.js': async (running) => {
    await expectGuard(running, '/downloads', 204);
    const port = /^metrics at (\d+)$/m.exec(running.output())?.[1];
    const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    expect(text).toContain('marketgate_guard_decisions_total{allowed="true",code="none"} 1');
  },
  'questions.md: signed.js': {
    env: () => ({ FILES_SECRET: 'not-so-secret-but-of-32-characters' }),
    async check(running) {
      await expectNoStartWithout(running, 'FILES_SECRET');
      await expectGuard(running, '/downloads/1042', 302);
      const { headers } = await running.get('/downloads/1042', { 'x-purchase-code': SUPPORTED });
      const address = headers.get('location') ?? '';
      expect(await statusOf(running.get(address))).toBe(200);
      expect(await statusOf(running.get(address.replace('1042', '1046')))).toBe(403);
      expect(await statusOf(running.get('/files/1042.zip'))).toBe(403);
    },
  },
};
