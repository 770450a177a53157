import { expect } from 'vitest';
import { Browser } from '../../../support/browser.js';
import type { Running } from '../support/run-block.js';
import {
  type Checks,
  expectGuard,
  expectNoFormsFromElsewhere,
  postJson,
  SUPPORTED,
  WRONG,
} from './check.js';

export const README_CHECKS: Checks = {
  'README.md: server.mjs': async (running) => {
    const origin = await running.origin();
    await expectGuard(running, '/downloads/1042');
    const browser = new Browser();
    const landed = await browser.logIn(`${origin}/account`);
    expect(landed).toMatchObject({ url: `${origin}/account`, status: 200 });
    expect(landed.text).toContain('You are logged in.');

    const visitor = new Browser();
    const download = `${origin}/downloads/1042`;
    const refusal = await visitor.open(download);
    expect([refusal.status, refusal.text]).toEqual([
      402,
      expect.stringMatching(/<form method="post" action="\/redeem">[\s\S]*name="purchase_code"/),
    ]);
    const redeem = (purchase_code: string) => visitor.submit(`${origin}/redeem`, { purchase_code });
    const wrong = await redeem(WRONG);
    expect([wrong.status, wrong.text]).toEqual([
      403,
      expect.stringContaining('name="purchase_code"'),
    ]);
    expect(await redeem(SUPPORTED)).toMatchObject({ url: download, status: 200 });
    // Also after the login, and the login after a further code.
    await visitor.logIn(`${origin}/account`);
    expect((await visitor.open(download)).status).toBe(200);
    await redeem(running.code('other-item'));
    expect((await visitor.open(`${origin}/downloads/1046`)).status).toBe(200);
    expect((await visitor.get(`${origin}/account`)).status).toBe(200);
    await expectNoPlantedSession(running);
    await expectNoFormsFromElsewhere(running, '/redeem', '/logout');

    const mine = (from: Browser) =>
      from.get(`${origin}/mine/1042`, { 'x-purchase-code': SUPPORTED });
    expect((await mine(browser)).status).toBe(200);
    const second = new Browser();
    expect((await mine(second)).headers.get('location')).toBe('/login');
    await second.logIn(`${origin}/account`, '3002');
    expect((await mine(second)).status).toBe(403);
    expect(await second.submit(`${origin}/logout`, {})).toMatchObject({
      url: `${origin}/`,
      status: 200,
    });
    expect((await second.get(`${origin}/account`)).status).toBe(302);

    running.sandbox.dialect.supportedUntilPast = true;
    const support = async (kind: 'supported' | 'support-over') => {
      const answer = await running.get('/support/1042', { 'x-purchase-code': running.code(kind) });
      return [answer.status, await answer.json()];
    };
    expect(await support('supported')).toEqual([200, { mail: 'me@site.example' }]);
    expect(await support('support-over')).toEqual([
      403,
      {
        item: expect.any(String),
        ended: expect.stringMatching(/^20\d\d-/),
        renew: 'https://market.example/items/1042',
      },
    ]);

    const check = async (code?: string) => (await postJson(`${origin}/check`, { code })).body;
    expect(await check(SUPPORTED)).toEqual({ verdict: 'valid' });
    expect(await check(WRONG)).toEqual({ verdict: 'invalid' });
    expect(await check()).toEqual({ verdict: 'absent' });
    expect(await (await running.get('/items')).json()).toContainEqual({
      id: 1042,
      name: 'Fjord Light',
    });
  },
};

/** Whoever has planted a session's cookie in a customer's browser shares nothing that the customer redeems. */
async function expectNoPlantedSession(running: Running): Promise<void> {
  const origin = await running.origin();
  const planted = await running.get('/account', { accept: 'text/html' });
  const cookie = planted.headers.getSetCookie()[0]?.split(';')[0] ?? '';
  const redeemed = await fetch(`${origin}/redeem`, {
    ...{ method: 'POST', redirect: 'manual', headers: { cookie } },
    body: new URLSearchParams({ purchase_code: SUPPORTED }),
  });
  const own = redeemed.headers.getSetCookie()[0]?.split(';')[0] ?? '';
  expect((await running.get('/downloads/1042', { cookie: own })).status).toBe(200);
  expect((await running.get('/downloads/1042', { cookie })).status).toBe(402);
}
