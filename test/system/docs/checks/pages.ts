import { writeFile } from 'node:fs/promises';
import { decodeJwt } from 'jose';
import { expect } from 'vitest';
import { Browser } from '../../../support/browser.js';
import { guess } from '../../../support/wire.js';
import { type Running, runBlock } from '../support/run-block.js';
import {
  type Check,
  expectGuard,
  expectNoFormsFromElsewhere,
  expectNoStartWithout,
  postJson,
  SUPPORTED,
  WRONG,
} from './check.js';

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

/** Only the operator's own tools get in. Returns their headers. */
async function expectStaffOnly(
  running: Running,
  send: (headers: Record<string, string>) => Promise<number>,
) {
  const token = running.env.STAFF_TOKEN;
  for (const wrong of ['', 'Bearer undefined', token, `Bearer ${token}x`]) {
    expect(await send({ authorization: wrong })).toBe(401);
  }
  await expectNoStartWithout(running, 'STAFF_TOKEN');
  return { authorization: `Bearer ${token}` };
}

/** A login leads to the page that needed it. */
async function expectLogin(running: Running, path: string): Promise<Browser> {
  const browser = new Browser();
  const url = `${await running.origin()}${path}`;
  expect(await browser.logIn(url)).toMatchObject({ url, status: 200 });
  return browser;
}

/** Opens the callback of a browser's login in another browser. */
const openElsewhere = ({ history }: Browser) =>
  new Browser().open(history.find((url) => url.includes('auth_key=')) ?? '');

const prints =
  (text: string | RegExp): Check =>
  async ({ printed }) =>
    expect(await printed()).toMatch(text);

/** By page and file. */
export const CHECKS: Readonly<Record<string, Check>> = {
  'README.md: guard.js': (running) => expectGuard(running, '/downloads/1042'),
  // What a visitor sees of it is in readme.test.ts.
  'README.md: server.mjs': async (running) => {
    const origin = await running.origin();
    await expectNoFormsFromElsewhere(running, '/redeem', '/logout');

    // Whoever has planted a session's cookie in a customer's browser shares nothing that the customer redeems.
    const planted = new Browser();
    await planted.open(`${origin}/account`);
    const cookie = planted.cookies(origin);
    await planted.submit(`${origin}/redeem`, { purchase_code: SUPPORTED });
    expect((await planted.open(`${origin}/downloads/1042`)).status).toBe(200);
    expect(await statusOf(running.get('/downloads/1042', { cookie }))).toBe(402);

    // The code stays through a login, and the login through a further code.
    const visitor = new Browser();
    const redeem = (purchase_code: string) => visitor.submit(`${origin}/redeem`, { purchase_code });
    await redeem(SUPPORTED);
    await visitor.logIn(`${origin}/account`);
    expect((await visitor.open(`${origin}/downloads/1042`)).status).toBe(200);
    await redeem(running.code('other-item'));
    expect((await visitor.open(`${origin}/account`)).text).toContain('Hello, Mira Solheim');
  },
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
    running.sandbox.data.addItem({ name: '<b>Bold</b>' });
    const text = await (await running.get('/?q=%22%3Cb%3E')).text();
    expect(text).toContain('value="&#34;&#60;b');
    expect(text).not.toContain('<b>');
  },
  'one-customer.md: main.js': async (running) => {
    const origin = await running.origin();
    const ask = (user: string) =>
      statusOf(running.get('/downloads', { 'x-purchase-code': SUPPORTED, 'x-user': user }));
    const staff = (user: string, path: string) =>
      postJson(`${origin}/staff${path}`, { code: SUPPORTED }, { 'x-user': user });
    // The Redis can be one that others use, too.
    await staff('sam', '/release');
    expect([await ask('anna'), await ask('bert'), await ask('anna')]).toEqual([200, 403, 200]);
    expect(await staff('anna', '/holders')).toMatchObject({ status: 403 });
    expect(await staff('sam', '/holders')).toMatchObject({ body: ['anna'] });

    const activate = (site: string) =>
      postJson(`${origin}/licence/activate`, { purchase_code: SUPPORTED, site });
    expect(await activate('Shop.example')).toMatchObject({ body: { active: 'shop.example' } });
    expect(await activate('other.example')).toMatchObject({ body: { code: 'purchase_held' } });
    const seat = { purchase_code: SUPPORTED, site: 'shop.example' };
    const freed = await new Browser().submit(`${origin}/licence/free`, seat);
    expect(freed.text).toContain('0 of 1 sites');
  },
  'refusals.md: refunds.js': async (running) => {
    const url = `${await running.origin()}/refunds`;
    const code = running.code('extended');
    const report = async (headers: Record<string, string>) =>
      (await postJson(url, { purchase_code: code }, headers)).status;
    expect(await visit(running, '/manual', code)).toBe(200);
    running.sandbox.data.refundPurchase(code);
    expect(await visit(running, '/manual', code)).toBe(200);
    expect(await report(await expectStaffOnly(running, report))).toBe(204);
    expect(await visit(running, '/manual', code)).toBe(403);
    // A fresh route has no answer of its own in an outage.
    expect(await onABadDay(running, '/downloads')).toEqual([503, 503]);
  },
  'refusals.md: pages.js': async (running) => {
    const browser = new Browser();
    const origin = await running.origin();
    running.sandbox.dialect.supportedUntilPast = true;
    const over = { 'x-purchase-code': running.code('support-over') };
    const support = await browser.open(`${origin}/support`, over);
    expect(support.text).toMatch(/ended on 20.*items\/1042">Renew/);
    expect((await browser.open(`${origin}/de`)).text).toMatch(/lang="de"[\s\S]*Bitte geben Sie/);
    running.sandbox.faults.errorRate = 1;
    const verdict = await browser.submit(origin, { purchase_code: SUPPORTED });
    expect(verdict.text).toContain('cannot check codes just now');
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
  'desktop-app.md: receipts.js': async (running) => {
    // As `docker run --env-file` passes what make-keys.js prints: with its quotes.
    const { RECEIPT_KEY: key } = running.env;
    await runBlock(running.file, { RECEIPT_KEY: `'${key}'` }, async (quoted) => {
      await expect(quoted.origin()).rejects.toThrow('RECEIPT_KEY is not what make-keys.js has');
      expect(quoted.output()).not.toContain(JSON.parse(key).d);
    });
    const url = `${await running.origin()}/receipt`;
    const ask = (code: string) => postJson(url, { code, machine: 'm1' });
    expect(await ask(WRONG)).toMatchObject({ status: 403 });
    const { receipt } = (await ask(SUPPORTED)).body;
    expect(decodeJwt(String(receipt))).toMatchObject({ item: 1042, machine: 'm1' });
    expect(String(receipt)).not.toContain(SUPPORTED);
  },
  'existing-login.md: main.js': async (running) => {
    const origin = await running.origin();
    const browser = new Browser();
    const logIn = (password?: string) =>
      browser.submit(`${origin}/login`, password ? { username: 'ada', password } : {});
    await browser.get(`${origin}/account?tab=2`);
    expect((await logIn('correct horse')).url).toBe(`${origin}/account?tab=2`);
    const asked = await browser.logIn(`${origin}/profile`);
    expect((await browser.pressContinue(asked)).url).toBe(`${origin}/profile`);
    expect((await new Browser().logIn(`${origin}/marketplace`)).text).toContain('Hello, ada');
    // A further account of the marketplace is nobody's, and does not replace the connected one.
    const stranger = await new Browser().logIn(`${origin}/marketplace`, '3002');
    expect(stranger.status).toBe(403);
    const other = await browser.logIn(`${origin}/marketplace`, '3002');
    expect((await browser.pressContinue(other)).status).toBe(409);
    await expectNoFormsFromElsewhere(running, '/disconnect', '/logout', '/login');
    for (let i = 0; i < 9; i++) await logIn();
    expect((await logIn('correct horse')).status).toBe(429);
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
  'spa.md: api.js': async (running) => {
    const { FRONT_END: origin } = running.env;
    const at = await running.origin();
    const { status, headers } = await running.get('/downloads/1042', { origin });
    expect([status, headers.get('access-control-allow-origin')]).toEqual([402, origin]);
    const { check, download } = await import(running.file.replace('api.js', 'front-end.js'));
    expect(await check(SUPPORTED, at)).toEqual({ verdict: 'valid' });
    expect(await download(SUPPORTED, at)).toEqual({ file: 'Fjord Light' });
    const browser = new Browser();
    const callback = await browser.logInUpToCallback(`${at}/login`);
    expect((await browser.get(callback)).headers.get('location')).toBe(origin);
    await expectNoFormsFromElsewhere(running, '/logout');
  },
  'typescript.md: server.ts': async (running) => {
    const origin = await running.origin();
    const browser = await expectLogin(running, '/account');
    await browser.submit(`${origin}/redeem`, { purchase_code: SUPPORTED });
    expect((await browser.open(`${origin}/files/1042`)).text).toContain('Fjord Light');
  },
  'typescript.md: main.cjs': async (running) => {
    await expectGuard(running, '/downloads/1042');
    // An error of an async handler is answered, and does not end the process.
    running.sandbox.faults.errorRate = 1;
    expect(await statusOf(running.get('/author'))).toBe(503);
  },
  'nestjs.md: main.ts': async (running) => {
    await expectGuard(running, '/downloads/1042');
    const refused = await openElsewhere(await expectLogin(running, '/account'));
    // The exception filter.
    expect(refused).toMatchObject({ status: 403, text: expect.stringContaining('not started in') });
  },
  // The mistake that the page warns of: an outage reads as a wrong code, for customers too.
  'migrating.md: before.js': async (running) =>
    expect(await onABadDay(running, '/downloads')).toEqual([403, 403]),
  'migrating.md: after.js': async (running) =>
    expect(await onABadDay(running, '/downloads')).toEqual([200, 503]),
  'migrating.md: own-answers.js': async (running) => {
    for (let i = 1; i <= 10; i++) expect(await visit(running, '/downloads', guess(i))).toBe(403);
    // Somebody at the customer's address has guessed: that says nothing about the customer's code.
    expect(await visit(running, '/downloads', SUPPORTED)).toBe(429);
  },
  'migrating.md: custom-callback.js': async (running) => {
    const refused = await openElsewhere(await expectLogin(running, '/account?tab=2'));
    expect(refused).toMatchObject({ status: 401, text: '{"code":"login_failed"}' });
  },
  'going-live.md: health.js': async (running) => {
    const headers = await expectStaffOnly(running, (own) =>
      statusOf(running.get('/marketplace', own)),
    );
    const paths = ['/live', '/ready', '/marketplace'];
    const statuses = () => Promise.all(paths.map((path) => statusOf(running.get(path, headers))));
    expect(await statuses()).toEqual([200, 200, 200]);
    running.sandbox.faults.errorRate = 1;
    expect(await statuses()).toEqual([200, 200, 503]);
  },
  'behind-a-proxy.md: main.js': async (running) => {
    const from = (address: string, code: string) =>
      statusOf(running.get('/downloads', { 'x-forwarded-for': address, 'x-purchase-code': code }));
    for (let i = 1; i <= 10; i++) expect(await from('192.0.2.1', guess(i))).toBe(403);
    expect(await from('192.0.2.1', guess(11))).toBe(429);
    expect(await from('192.0.2.2', guess(12))).toBe(403);
  },
  'behind-a-proxy.md: cdn.js': async ({ get }) => {
    const seen = async (forwarded: string) =>
      (await get('/', { 'x-forwarded-for': forwarded, 'cf-connecting-ip': '1.1.1.1' })).text();
    expect(await seen('1.1.1.1, 203.0.113.7, 198.51.100.9')).toContain('come from 203.0.113.7.');
    // Past the CDN: what the visitor writes there is not believed.
    expect(await seen('1.1.1.1, 203.0.113.8')).toContain('come from 203.0.113.8.');
  },
  'behind-a-proxy.md: outgoing.js': prints('asked through the proxy: northlight'),
  'redis.md: main.js': (running) => expectGuard(running, '/downloads'),
  'redis.md: own-limit.js': prints(/^10 too_many_attempts ([1-9]|[1-5]\d|60)$/m),
  'keys.md: rotate.js': async (running) => {
    const { sandbox, env } = running;
    await writeFile(env.API_KEY_FILE, `${env.MARKETPLACE_API_KEY}\n`);
    expect(await visit(running, '/downloads', SUPPORTED)).toBe(200);
    await writeFile(env.API_KEY_FILE, `${sandbox.data.rotateApiKey('northlight')}\n`);
    expect(await visit(running, '/downloads', running.code('extended'))).toBe(200);
  },
  'keys.md: lists.js': prints(''),
  'keys.md: shops.js': async (running) => {
    const code = running.code('other-workspace');
    expect(await visit(running, '/south/downloads/1061', code)).toBe(200);
    expect(await visit(running, '/north/downloads/1061', code)).toBe(403);
    const redeem = `${await running.origin()}/redeem`;
    for (const purchase_code of [code, SUPPORTED]) {
      expect((await new Browser().submit(redeem, { purchase_code })).status).toBe(200);
    }
    await expectNoFormsFromElsewhere(running, '/redeem');
    const start = await running.get('/partners/login');
    expect(start.headers.get('location')).toContain(`app_id=${running.env.PARTNERS_APP_ID}`);
  },
  // With the subscribers of main.js.
  'watching.md: prometheus.js': async (running) => {
    await expectGuard(running, '/downloads', 204);
    await expect.poll(running.output).toMatch(/^\{"event":"guard",.*"allowed":true/m);
    const port = /^metrics at (\d+)$/m.exec(running.output())?.[1];
    const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    expect(text).toContain('marketgate_guard_decisions_total{allowed="true",code="none"} 1');
  },
  'questions.md: signed.js': async (running) => {
    await expectNoStartWithout(running, 'FILES_SECRET');
    await expectGuard(running, '/downloads/1042', 302);
    const { headers } = await running.get('/downloads/1042', { 'x-purchase-code': SUPPORTED });
    const address = headers.get('location') ?? '';
    expect(await statusOf(running.get(address))).toBe(200);
    expect(await statusOf(running.get(address.replace('1042', '1046')))).toBe(403);
    expect(await statusOf(running.get('/files/1042.zip'))).toBe(403);
  },
};
