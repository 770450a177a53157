import { describe, expect, it } from 'vitest';
import { createApp } from '../../../examples/downloads/app.js';
import { LicenceStore } from '../../../examples/downloads/licences.js';
import { Browser, type Visit } from '../../support/browser.js';
import { newPath } from '../../support/new-path.js';
import { openShop } from '../../support/shop.js';

const UNKNOWN = 'aaaaaaaa-0000-4000-8000-000000000000';

async function open() {
  const shop = await openShop();
  const file = newPath('licences.json');
  const { keyApi, loginApi, sandbox } = shop;
  const app = createApp({
    ...{ keyApi, loginApi, clock: sandbox.clock, secret: 'for-the-tests-only' },
    licences: await LicenceStore.open(file),
  });
  const origin = await shop.serve(app);
  const redeem = (browser: Browser, purchase_code: string) =>
    browser.submit(`${origin}/redeem`, { purchase_code });
  return {
    ...{ ...shop, origin, redeem },
    async customer(user = '3001') {
      const browser = new Browser();
      await browser.logIn(`${origin}/login`, user);
      return browser;
    },
    /** The licences after a restart. */
    async saved(user = '3001') {
      return (await LicenceStore.open(file)).of(user);
    },
    /** Presses "Download". Gives the address of the file, or the page that refuses it. */
    async download(browser: Browser, visit: Visit) {
      const action = /action="(\/licences\/[^"]+\/link)"/.exec(visit.text)?.[1];
      const page = await browser.submit(`${origin}${action}`, {});
      return { link: browser.history.findLast((url) => url.includes('/files/')) ?? '', page };
    },
  };
}

describe('examples/downloads', () => {
  it('redeems a code once; another browser and a restart have the licence', async () => {
    const shop = await open();
    const visit = await shop.redeem(await shop.customer(), ` ${shop.code('supported')}\u200b`);
    expect(visit.text).toContain('Fjord Light is yours now.');
    const other = await shop.customer();
    const again = await other.open(`${shop.origin}/`);
    expect(again.text).toContain('Download Fjord Light');
    expect(again.text).not.toContain('is yours now');
    expect(await shop.saved()).toMatchObject([{ itemId: 1042, code: shop.code('supported') }]);
    const { link } = await shop.download(other, again);
    expect(await (await fetch(link)).text()).toBe('Thank you for Fjord Light.\n');
  });

  it('a code keeps its signs, so that two codes that differ by one are two licences', async () => {
    const shop = await open();
    const codes = ['AB12.CD34', 'AB12CD34'];
    for (const purchase_code of codes)
      shop.sandbox.data.addPurchase({ item_id: 1042, purchase_code });
    const browser = await shop.customer();
    for (const code of codes) await shop.redeem(browser, ` ${code}`);
    expect((await shop.saved()).map(({ code }) => code)).toEqual(codes);
  });

  it('a link ends after a minute, and with every change', async () => {
    const shop = await open();
    const browser = await shop.customer();
    const { link } = await shop.download(
      browser,
      await shop.redeem(browser, shop.code('supported')),
    );
    const changed = [
      link.replace(/files\/./, (start) => `files/${start.endsWith('a') ? 'b' : 'a'}`),
      link.replace(/expires=(\d)/, (_all, digit) => `expires=${(Number(digit) % 9) + 1}`),
      link.replace(/signature=./, (start) => (start.endsWith('A') ? 'signature=B' : 'signature=A')),
      link.replace(/&signature=.*/, ''),
      `${link}&signature=x`,
    ];
    for (const each of changed) expect((await fetch(each)).status).toBe(403);
    shop.sandbox.clock.advance(59_000);
    expect((await fetch(link)).status).toBe(200);
    shop.sandbox.clock.advance(1000);
    expect((await fetch(link)).status).toBe(410);
  });

  it('a code belongs to one account, also of two at the same moment', async () => {
    const shop = await open();
    const [first, second] = [await shop.customer('3001'), await shop.customer('3002')];
    const code = shop.code('supported');
    const visits = await Promise.all([shop.redeem(first, code), shop.redeem(second, code)]);
    expect(visits.map(({ status }) => status).sort()).toEqual([200, 403]);
    const loser = visits[0].status === 200 ? second : first;
    const refused = await shop.redeem(loser, code.toUpperCase());
    expect(refused.text).toContain('redeemed with another account');
    const [winner] = visits.filter(({ status }) => status === 200);
    // Somebody else's licence does not exist.
    expect((await shop.download(loser, winner as Visit)).page.status).toBe(404);
  });

  it('notices a refund at the next download; older links end with it', async () => {
    const shop = await open();
    const browser = await shop.customer();
    const visit = await shop.redeem(browser, shop.code('supported'));
    const { link } = await shop.download(browser, visit);
    shop.sandbox.data.refundPurchase(shop.code('supported'));
    const { page } = await shop.download(browser, visit);
    expect([page.status, page.text]).toEqual([403, expect.stringContaining('not valid any more')]);
    expect((await fetch(link)).status).toBe(403);
    expect(await shop.saved()).toEqual([]);
  });

  it('an outage takes no files away, and calls no code invalid', async () => {
    const shop = await open();
    const browser = await shop.customer();
    const visit = await shop.redeem(browser, shop.code('supported'));
    shop.sandbox.faults.errorRate = 1;
    shop.sandbox.clock.advance(3 * 3_600_000);
    expect((await shop.download(browser, visit)).page.status).toBe(200);
    const redeem = await shop.redeem(browser, shop.code('other-item'));
    expect([redeem.status, redeem.text]).toEqual([503, expect.stringContaining('not be checked')]);
  });

  it('shows a wrong code next to the form; without a login there is no form', async () => {
    const shop = await open();
    const wrong = await shop.redeem(await shop.customer(), UNKNOWN);
    expect([wrong.status, wrong.text]).toEqual([403, expect.stringContaining('does not know')]);
    expect((await shop.redeem(new Browser(), UNKNOWN)).status).toBe(401);
  });
});
