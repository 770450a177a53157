import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'vitest';
import { Browser } from '../../../support/browser.js';
import type { Running } from '../support/run-block.js';
import {
  type Checks,
  expectGuard,
  expectNoFormsFromElsewhere,
  expectNoStartWithout,
  postJson,
  STAFF_TOKEN,
  SUPPORTED,
  WRONG,
} from './check.js';

/** The programs of the guides that are about shops, logins and frameworks. */
export const SHOP_CHECKS: Checks = {
  'examples/guides/redeem.md: shop.js': async (running) => {
    const origin = await running.origin();
    const browser = new Browser();
    const redeem = (from: Browser, purchase_code: string) =>
      from.submit(`${origin}/redeem`, { purchase_code });
    await browser.logIn(`${origin}/account`);
    expect(await redeem(browser, SUPPORTED)).toMatchObject({ url: `${origin}/account` });
    const { text } = await redeem(browser, running.code('other-item'));
    expect(text).toMatch(/Item 1042[\s\S]*Item 1046/);
    const file = async (from: Browser, id: number) =>
      (await from.get(`${origin}/files/${id}`)).status;
    expect([await file(browser, 1042), await file(browser, 1046)]).toEqual([200, 200]);
    expect(await browser.open(`${origin}/files/1049`)).toMatchObject({
      status: 402,
      text: expect.stringMatching(/action="\/redeem">[\s\S]*name="purchase_code"/),
    });

    const other = new Browser();
    await other.logIn(`${origin}/account`, '3002');
    expect((await redeem(other, SUPPORTED)).status).toBe(403);
    const landed = await browser.submit(`${origin}/logout`, {});
    expect(landed).toMatchObject({ url: `${origin}/`, status: 200 });
    expect(await file(browser, 1042)).toBe(302);
    await expectNoFormsFromElsewhere(running, '/redeem', '/logout');
  },
  'examples/guides/refused.md: pages.js': async (running) => {
    const browser = new Browser();
    const origin = await running.origin();
    const open = (path: string, code = '') =>
      browser.open(`${origin}${path}`, code === '' ? {} : { 'x-purchase-code': code });
    expect((await open('/support', SUPPORTED)).status).toBe(200);
    running.sandbox.dialect.supportedUntilPast = true;
    expect(await open('/support', running.code('support-over'))).toMatchObject({
      status: 403,
      text: expect.stringMatching(/ended on 20\d\d-\d\d-\d\d\..*items\/1042">Renew/),
    });
    const { text } = await open('/support', running.code('unsupported'));
    expect(text).toContain('has ended, or was not bought with it');
    const asked = running.sandbox.requests.length;
    await open('/support', running.code('unsupported'));
    await open('/support?renewed', running.code('unsupported'));
    expect(running.sandbox.requests).toHaveLength(asked + 1);

    const verdict = async (purchase_code: string) =>
      (await browser.submit(origin, { purchase_code })).text;
    expect((await open('/')).text).toContain('Enter your purchase code');
    expect(await verdict(SUPPORTED)).toContain('Thank you');
    expect(await verdict(running.code('other-item'))).toContain('for another item');
    expect(await verdict(WRONG)).toContain('do not know');

    expect((await open('/de')).text).toContain('Kaufcode');
    expect((await running.get('/de')).headers.get('content-type')).toContain('problem+json');
    running.sandbox.faults.errorRate = 1;
    expect(await verdict(running.code('video-item'))).toContain('cannot check codes just now');
  },
  'examples/guides/refunds.md: main.js': {
    options: { env: { STAFF_TOKEN } },
    check: refundsAreSeen,
  },
  'examples/guides/several-shops.md: main.js': {
    options: {
      seeded: ({ workspaces: [, south], apps: [, partners] }) => ({
        SOUTH_API_KEY: south?.api_key ?? '',
        PARTNERS_APP_ID: partners?.app_id ?? 'partners',
        PARTNERS_APP_SECRET: partners?.app_secret ?? 'partners-secret',
      }),
    },
    async check(running) {
      const origin = await running.origin();
      await expectGuard(running, '/north/downloads/1042');
      const south = { 'x-purchase-code': running.code('other-workspace') };
      expect((await running.get('/south/downloads/1061', south)).status).toBe(200);
      expect((await running.get('/north/downloads/1061', south)).status).toBe(403);
      const redeem = async (purchase_code: string) => {
        const body = new URLSearchParams({ purchase_code });
        return (await fetch(`${origin}/redeem`, { method: 'POST', body })).status;
      };
      expect(await redeem(SUPPORTED)).toBe(200);
      expect(await redeem(running.code('other-workspace'))).toBe(200);
      const browser = new Browser();
      expect(JSON.parse((await browser.logIn(`${origin}/login`)).text)).toMatchObject({
        from: 'marketplace',
      });
      const start = await running.get('/partners/login');
      expect(start.headers.get('location')).toContain(`app_id=${running.env.PARTNERS_APP_ID}`);
    },
  },
  'examples/guides/desktop-app.md: server.js': async (running) => {
    const origin = await running.origin();
    const send = (path: string, code: string, machine?: unknown) =>
      postJson(`${origin}/${path}`, { code, machine });
    for (const machine of ['a', 'b', 'c', 'a']) {
      expect(await send('activate', SUPPORTED, machine)).toMatchObject({
        status: 200,
        body: { valid: true, license_type: 'Regular' },
      });
    }
    expect((await send('activate', SUPPORTED, 'd')).body).toMatchObject({
      code: 'purchase_held',
    });
    // Of a machine that was never activated it changes nothing.
    expect((await send('deactivate', SUPPORTED, 'd')).status).toBe(200);
    expect((await send('activate', SUPPORTED, 'd')).status).toBe(403);
    expect((await send('deactivate', 'a-code-of-nobody', 'a')).status).toBe(403);
    expect((await send('deactivate', SUPPORTED, 'a')).body).toEqual({ valid: false });
    expect((await send('activate', SUPPORTED, 'd')).status).toBe(200);
    // Machines that were never activated take no seats by "Deactivate".
    const extended = running.code('extended');
    for (const machine of ['x', 'y', 'z']) await send('deactivate', extended, machine);
    expect((await send('activate', extended, 'mine')).status).toBe(200);
    for (const machine of [5, { a: 1 }, ['a'], '', undefined]) {
      expect((await send('activate', SUPPORTED, machine)).status).toBe(400);
    }
  },
  'examples/guides/desktop-app.md: program.js': async (running) => {
    await running.printed();
    const { mayRun } = (await import(running.file)) as {
      mayRun(saved: object, server: string): Promise<boolean>;
    };
    let status = 200;
    let page: string | undefined;
    const server = createServer((_req, res) => {
      const body = status === 200 ? { valid: true } : { status, code: 'some_code' };
      res.writeHead(status).end(page ?? JSON.stringify(body));
    }).listen(0);
    await once(server, 'listening');
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const saved = { code: SUPPORTED, machine: 'a' };
    expect(await mayRun(saved, url)).toBe(true);
    for (const [given, expected] of [
      [429, true],
      [503, true],
      [403, false],
      // A negative answer ends the stored positive one.
      [503, false],
      [200, true],
      [402, false],
      [503, false],
      [200, true],
    ] as const) {
      status = given;
      expect(await mayRun(saved, url)).toBe(expected);
    }
    // The page of a network that asks for its own login is neither a yes nor a no.
    for (page of ['<h1>Welcome to our hotel</h1>', '{}', '[]', 'null']) {
      for (status of [200, 403]) {
        expect(await mayRun(saved, url)).toBe(true);
        expect(await mayRun({ ...saved, checkedAt: 0 }, url)).toBe(false);
      }
    }
    server.close();
    server.closeAllConnections();
    expect(await mayRun(saved, url)).toBe(true);
    expect(await mayRun({ ...saved, checkedAt: 0 }, url)).toBe(false);
  },
  'examples/guides/existing-login.md: main.js': async (running) => {
    const origin = await running.origin();
    const ada = { username: 'ada', password: 'correct horse' };
    const browser = new Browser();
    expect((await browser.get(`${origin}/account?tab=2`)).status).toBe(302);
    const seen = async (path: string) => JSON.parse((await browser.open(origin + path)).text);
    const inside = await browser.submit(`${origin}/login`, ada);
    expect(inside.url).toBe(`${origin}/account?tab=2`);
    expect(await seen('/account')).toEqual({ name: 'ada', isConnected: false });
    const unconnected = await browser.get(`${origin}/profile`);
    expect(unconnected.headers.get('location')).toBe('/marketplace');
    const asked = await browser.logIn(`${origin}/profile`);
    expect(asked.text).toContain('connected to your account here');
    expect(await seen('/account')).toEqual({ name: 'ada', isConnected: false });
    expect((await browser.pressContinue(asked)).url).toBe(`${origin}/profile`);
    expect(await seen('/account')).toEqual({ name: 'ada', isConnected: true });
    expect(await seen('/profile')).toEqual({ token: 'is alive' });

    const later = new Browser();
    const landed = await later.logIn(`${origin}/marketplace`);
    expect(JSON.parse(landed.text)).toEqual({ name: 'ada', isConnected: true });
    const stranger = await new Browser().logIn(`${origin}/marketplace`, '3002');
    expect(stranger).toMatchObject({
      status: 403,
      text: expect.stringContaining('password first'),
    });
    // The account in use is logged in again unasked. Another one replaces it only after a step of its own.
    expect((await later.logIn(`${origin}/marketplace`)).url).toBe(`${origin}/account`);
    const other = () => browser.logIn(`${origin}/marketplace`, '3002');
    expect(await browser.pressContinue(await other())).toMatchObject({ status: 409 });
    await browser.submit(`${origin}/disconnect`, {});
    // Ada has said "Continue" to this account.
    expect((await other()).url).toBe(`${origin}/account`);
    expect(await seen('/account')).toEqual({ name: 'ada', isConnected: true });
    await expectSafePasswordForm(running);
  },
  'examples/guides/typescript.md: server.ts': async (running) => {
    const origin = await running.origin();
    const browser = new Browser();
    expect((await browser.logIn(`${origin}/account`)).url).toBe(`${origin}/account`);
    expect((await browser.get(`${origin}/files/1042`)).status).toBe(402);
    const redeemed = await browser.submit(`${origin}/redeem`, { purchase_code: SUPPORTED });
    expect(redeemed).toMatchObject({ url: `${origin}/account`, status: 200 });
    const { text } = await browser.open(`${origin}/files/1042`);
    expect(JSON.parse(text)).toEqual({ id: '1042', file: 'Fjord Light' });
  },
  'examples/guides/nestjs.md: main.ts': async (running) => {
    const origin = await running.origin();
    await expectGuard(running, '/downloads/1042');
    const browser = new Browser();
    const landed = await browser.logIn(`${origin}/account`);
    expect(landed).toMatchObject({ url: `${origin}/account`, status: 200 });
    const callback = browser.history.find((url) => url.includes('auth_key=')) ?? '';
    for (const url of [callback, `${origin}/account`]) {
      expect(await browser.open(url)).toMatchObject({ url: `${origin}/account`, status: 200 });
    }
    // The exception filter.
    const refused = await new Browser().open(`${origin}/callback?auth_key=x`);
    expect(refused).toMatchObject({ status: 403, text: expect.stringContaining('not started in') });
  },
};

async function refundsAreSeen(running: Running): Promise<void> {
  const { sandbox } = running;
  const origin = await running.origin();
  await expectNoStartWithout(running, 'STAFF_TOKEN');
  await expectGuard(running, '/manual');
  const visit = async (path: string, code: string) =>
    (await running.get(path, { 'x-purchase-code': code })).status;
  const first = running.code('extended');
  const second = running.code('video-item');
  for (const code of [first, second]) expect(await visit('/manual', code)).toBe(200);
  sandbox.data.refundPurchase(first);
  sandbox.data.refundPurchase(second);
  expect(await visit('/manual', first)).toBe(200);
  expect(await visit('/previews', first)).toBe(200);
  expect(await visit('/previews?size=full', first)).toBe(403);
  expect(await visit('/manual', first)).toBe(403);
  const report = async (authorization: string, fields: object = { purchase_code: second }) =>
    (
      await fetch(`${origin}/refunds`, {
        method: 'POST',
        headers: { authorization, 'content-type': 'application/json' },
        body: JSON.stringify(fields),
      })
    ).status;
  for (const wrong of ['', 'Bearer ', 'Bearer undefined', STAFF_TOKEN, `Bearer ${STAFF_TOKEN}x`]) {
    expect(await report(wrong)).toBe(401);
  }
  expect(await visit('/manual', second)).toBe(200);
  expect(await report(`Bearer ${STAFF_TOKEN}`)).toBe(204);
  expect(await visit('/manual', second)).toBe(403);
  expect(await visit('/downloads', SUPPORTED)).toBe(200);
  sandbox.faults.errorRate = 1;
  expect(await report(`Bearer ${STAFF_TOKEN}`, { code: second })).toBe(400);
  expect([await visit('/downloads', SUPPORTED), await visit('/manual', SUPPORTED)]).toEqual([
    503, 200,
  ]);
}

/** Other sites cannot send the form, nobody can guess without end, and no input ends the process. */
async function expectSafePasswordForm(running: Running): Promise<void> {
  const url = `${await running.origin()}/login`;
  const send = async (
    headers: Record<string, string>,
    body = 'username=ada&password=correct+horse',
  ) => {
    const type = 'application/x-www-form-urlencoded';
    const answer = await fetch(url, {
      ...{ method: 'POST', redirect: 'manual', body },
      headers: { 'content-type': type, ...headers },
    });
    return [answer.status, answer.headers.get('location'), answer.headers.getSetCookie().length];
  };
  for (const elsewhere of [
    { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' },
    { 'sec-fetch-site': 'same-site' },
    { origin: 'https://evil.example' },
    { origin: 'null' },
    { origin: `https://evil.example/${new URL(url).host}` },
  ]) {
    expect((await send(elsewhere as Record<string, string>))[0]).toBe(403);
  }
  const own = { 'sec-fetch-site': 'same-origin', origin: new URL(url).origin };
  expect(await send(own, 'username=ada&password=a&password=b')).toEqual([302, '/login', 0]);
  expect(await send(own, 'username=ada&username=ada&password=a')).toEqual([302, '/login', 0]);
  for (let i = 0; i < 10; i++) await send(own, `username=ada&password=${i}`);
  expect((await send(own))[0]).toBe(429);
}
