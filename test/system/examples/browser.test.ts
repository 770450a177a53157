import { readFileSync } from 'node:fs';
import type { Locator, Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { cutOffWidths, faultsInBothLooks } from '../../support/axe.js';
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

const account = (page: Page): Locator =>
  page.getByRole('link', { name: 'Your account: Mira Solheim' });

describe.skipIf(chromiumIsMissing())('examples/shop in a browser', () => {
  it('leads from the catalogue through login and redeeming to the licence, and out again', async () => {
    const { page, shop, blocked } = await visitShop();
    await page.getByRole('link', { name: 'Photography' }).click();
    await page.getByRole('link', { name: 'Fjord Light' }).click();
    await page.getByRole('link', { name: 'Log in' }).click();
    await page.getByRole('button', { name: 'Mira Solheim' }).click();
    await page.getByRole('button', { name: 'Accept' }).click();
    await account(page).waitFor();
    expect(page.url()).toBe(`${shop.origin}/items/1042`);

    await page.getByRole('link', { name: 'Redeem a code' }).click();
    await page.getByLabel('Purchase code').fill(` ${shop.code('supported')} `);
    await page.getByRole('button', { name: 'Redeem' }).click();
    await page.getByRole('status').getByText('Fjord Light was added to your account.').waitFor();
    const started = page.waitForEvent('download');
    await page.getByRole('link', { name: 'Download Fjord Light' }).click();
    expect(readFileSync(await (await started).path(), 'utf8')).toContain('Licence: Regular');

    await page.getByRole('button', { name: 'Log out' }).click();
    await page.getByRole('link', { name: 'Log in' }).waitFor();
    // The back button neither shows the account nor logs in again.
    await page.goBack();
    await page.getByRole('heading', { name: 'Please log in' }).waitFor();
    expect([shop.asked('/api/authorize'), blocked]).toEqual([1, []]);
  });

  it('works with the keyboard alone, which shows where it is', async () => {
    const { page, shop } = await visitShop();
    const hasFocus = async (target: Locator): Promise<boolean> =>
      (await target.and(page.locator(':focus')).count()) === 1;
    async function tabTo(target: Locator): Promise<void> {
      await target.waitFor();
      for (let presses = 0; presses < 40 && !(await hasFocus(target)); presses++) {
        await page.keyboard.press('Tab');
      }
      expect(await hasFocus(target)).toBe(true);
    }
    await page.keyboard.press('Tab');
    expect(await hasFocus(page.getByRole('link', { name: 'Skip to the content' }))).toBe(true);
    await tabTo(page.getByRole('link', { name: 'Log in' }));
    const outline = 'getComputedStyle(document.activeElement).outlineStyle';
    expect(await page.evaluate(outline)).toBe('solid');
    await page.keyboard.press('Enter');
    for (const name of ['Mira Solheim', 'Accept']) {
      await tabTo(page.getByRole('button', { name }));
      await page.keyboard.press('Enter');
    }
    await account(page).waitFor();
    await tabTo(page.getByRole('link', { name: 'Redeem a code' }));
    await page.keyboard.press('Enter');
    const field = page.getByLabel('Purchase code');
    await tabTo(field);
    await page.keyboard.type(UNKNOWN);
    await page.keyboard.press('Enter');
    await page.getByRole('alert').waitFor();
    expect(await hasFocus(field)).toBe(true);
    await page.keyboard.press('ControlOrMeta+A');
    await page.keyboard.type(shop.code('supported'));
    await page.keyboard.press('Enter');
    await page.getByRole('status').waitFor();
  });

  it('plays media, and its pages fit, without a fault that axe finds', async () => {
    const { page, shop, blocked } = await visitShop();
    const isPositive = (expression: string) =>
      expect.poll(() => page.evaluate(expression)).toBeGreaterThan(0);
    await isPositive('document.querySelector(".grid img").naturalWidth');
    await page.goto('/items/1049');
    await isPositive('document.querySelector("video").duration');
    for (const path of ['/', '/items/1055', '/items/9999', '/items/1042']) {
      await page.goto(path);
      expect([path, ...(await faultsInBothLooks(page))]).toEqual([path]);
    }
    await page.getByLabel('Purchase code').fill(UNKNOWN);
    expect(await cutOffWidths(page, 'input[name=purchase_code]')).toEqual([]);
    expect([blocked, shop.failures]).toEqual([[], []]);
  });
});
