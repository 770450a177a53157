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

// What a visitor sees of it is in readme.test.ts.
export const README_CHECKS: Checks = {
  'README.md: guard.js': (running) => expectGuard(running, '/downloads/1042'),
  'README.md: server.mjs': async (running) => {
    const origin = await running.origin();
    await expectGuard(running, '/downloads/1042');
    await expectNoPlantedSession(running);
    await expectNoFormsFromElsewhere(running, '/redeem', '/logout');

    // The code stays through a login, and the login through a further code.
    const visitor = new Browser();
    const redeem = (purchase_code: string) => visitor.submit(`${origin}/redeem`, { purchase_code });
    await redeem(SUPPORTED);
    expect((await visitor.logIn(`${origin}/account`)).text).toContain('Hello, Mira Solheim');
    expect((await visitor.open(`${origin}/downloads/1042`)).status).toBe(200);
    await redeem(running.code('other-item'));
    expect((await visitor.open(`${origin}/account`)).text).toContain('Hello, Mira Solheim');

    const check = async (code?: string) => (await postJson(`${origin}/check`, { code })).body;
    expect(await check(WRONG)).toEqual({ verdict: 'invalid' });
    expect(await check()).toEqual({ verdict: 'absent' });
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
