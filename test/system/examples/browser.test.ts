import { readFileSync } from 'node:fs';
import type { Locator } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { faultsInBothLooks, tooWideAt } from '../../support/axe.js';
import { chromiumIsMissing, newContext } from '../../support/chromium.js';
import { openShopExample } from './open-shop-example.js';

const UNKNOWN = 'aaaaaaaa-0000-4000-8000-000000000000';

/** At localhost, with the sandbox at 127.0.0.1: two sites, so that SameSite matters. */
async function visitShop() {
  const shop = await openShopExample({ host: 'localhost' });
  const page = await (await newContext({ baseURL: shop.origin })).newPage();
  /** What the content security policy blocked. */
  const blocked: string[] = [];
  page.on('console', (message) => {
    if (/Content.Security.Policy/i.test(message.text())) blocked.push(message.text());
  });
  await page.goto('/');
  return { page, shop, blocked };
}

describe.skipIf(chromiumIsMissing())('examples/shop in a browser', () => {
  it('leads by the keyboard alone through login and redeeming to the licence, and out again', async () => {
    const { page, shop, blocked } = await visitShop();
    const link = (name: string | RegExp) => page.getByRole('link', { name });
    const button = (name: string) => page.getByRole('button', { name });
    const hasFocus = async (target: Locator): Promise<boolean> =>
      (await target.and(page.locator(':focus')).count()) === 1;
    async function press(target: Locator): Promise<void> {
      await target.waitFor();
      for (let presses = 0; presses < 40 && !(await hasFocus(target)); presses++) {
        await page.keyboard.press('Tab');
      }
      expect(await hasFocus(target)).toBe(true);
      await page.keyboard.press('Enter');
    }
    await page.keyboard.press('Tab');
    expect(await hasFocus(link('Skip to the content'))).toBe(true);
    const outline = 'getComputedStyle(document.activeElement).outlineStyle';
    expect(await page.evaluate(outline)).toBe('solid');
    for (const name of ['Photography', 'Fjord Light', /^Log in$/]) await press(link(name));
    for (const name of ['Mira Solheim', 'Accept']) await press(button(name));
    await link('Your account: Mira Solheim').waitFor();
    expect(page.url()).toBe(`${shop.origin}/items/1042`);

    await press(link('Redeem a code'));
    const field = page.getByLabel('Purchase code');
    await field.focus();
    await page.keyboard.type(UNKNOWN);
    await page.keyboard.press('Enter');
    await page.getByRole('alert').waitFor();
    expect(await hasFocus(field)).toBe(true);
    await page.keyboard.press('ControlOrMeta+A');
    await page.keyboard.type(` ${shop.code('supported')} `);
    await page.keyboard.press('Enter');
    await page.getByRole('status').getByText('Fjord Light was added to your account.').waitFor();
    const started = page.waitForEvent('download');
    await press(link('Download Fjord Light'));
    expect(readFileSync(await (await started).path(), 'utf8')).toContain('Licence: Regular');

    await press(button('Log out'));
    await link('Log in').waitFor();
    // The back button neither shows the account nor logs in again.
    await page.goBack();
    await page.getByRole('heading', { name: 'Please log in' }).waitFor();
    expect([shop.asked('/api/authorize'), blocked]).toEqual([1, []]);
  });

  it('plays media, and its pages fit for everybody, without a fault that axe finds', async () => {
    const { page, shop, blocked } = await visitShop();
    const isPositive = (expression: string) =>
      expect.poll(() => page.evaluate(expression)).toBeGreaterThan(0);
    await isPositive('document.querySelector(".grid img").naturalWidth');
    await page.goto('/items/1049');
    await isPositive('document.querySelector("video").duration');
    for (const path of ['/', '/items/1055', '/items/9999']) {
      await page.goto(path);
      expect([path, ...(await faultsInBothLooks(page))]).toEqual([path]);
    }
    expect([blocked, shop.failures]).toEqual([[], []]);
  });

  it('has pages for customers that fit, without a fault that axe finds', async () => {
    const { page, shop, blocked } = await visitShop();
    await page.getByRole('link', { name: 'Log in', exact: true }).click();
    for (const name of ['Mira Solheim', 'Accept']) await page.getByRole('button', { name }).click();
    for (const path of ['/items/1042', '/redeem', '/items/1042/renew']) {
      await page.goto(path);
      expect([path, ...(await faultsInBothLooks(page))]).toEqual([path]);
    }
    await page.goto('/items/1042');
    await page.getByLabel('Purchase code').fill(UNKNOWN);
    expect(await tooWideAt(page, [1280, 390, 320], 'input[name=purchase_code]')).toEqual([]);
    await page.keyboard.press('Enter');
    await page.getByRole('alert').waitFor();
    await page.getByLabel('Purchase code').fill(shop.code('supported'));
    await page.keyboard.press('Enter');
    await page.getByRole('status').waitFor();
    expect([await page.getByRole('alert').count(), await faultsInBothLooks(page)]).toEqual([0, []]);
    for (const kind of ['extended', 'unsupported'] as const) {
      await page.goto('/redeem');
      await page.getByLabel('Purchase code').fill(shop.code(kind));
      await page.keyboard.press('Enter');
      await page.getByRole('status').waitFor();
    }
    expect(await faultsInBothLooks(page)).toEqual([]);
    expect([blocked, shop.failures]).toEqual([[], []]);
  });
});
