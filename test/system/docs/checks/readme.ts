import { expect } from 'vitest';
import { Browser } from '../../../support/browser.js';
import { type Checks, expectGuard, WRONG } from './check.js';

/** Codes of the sandbox's default seed never change. */
const SUPPORTED = '6f1c2a54-9d0e-4b7a-8c35-0e2f4a6b8d10';

/** The programs of the README. */
export const README_CHECKS: Checks = {
  'README.md: server.js': {
    async check(running) {
      await expectGuard(running, '/downloads/1042');
      const other = await running.get('/downloads/1', { 'x-purchase-code': SUPPORTED });
      expect(await other.json()).toMatchObject({ code: 'purchase_item_mismatch' });
    },
  },
  'README.md: login.js': {
    async check(running) {
      const origin = await running.origin();
      expect((await running.get('/account')).status).toBe(401);
      const landed = await new Browser().logIn(`${origin}/account`);
      expect(landed).toMatchObject({ url: `${origin}/account`, status: 200 });
      expect(JSON.parse(landed.text)).toEqual({
        id: running.sandbox.data.users[0]?.user_id,
        name: expect.any(String),
      });
    },
  },
  'README.md: remember.js': {
    options: { env: { CODE_OF_7: SUPPORTED } },
    async check(running) {
      const origin = await running.origin();
      const browser = new Browser();
      const redeem = (purchase_code: string) =>
        browser.submit(`${origin}/redeem`, { purchase_code });
      expect((await browser.get(`${origin}/downloads`)).status).toBe(402);
      expect((await redeem(WRONG)).status).toBe(403);
      expect(await redeem(SUPPORTED)).toMatchObject({ url: `${origin}/downloads`, status: 204 });
      const api = async (user: string) => (await running.get('/api', { 'x-user': user })).status;
      expect([await api('7'), await api('8')]).toEqual([204, 402]);
    },
  },
};
