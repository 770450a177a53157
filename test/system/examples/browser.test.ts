import { readFileSync } from 'node:fs';
import type { Locator } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { faultsInBothLooks, tooWideAt } from '../../support/axe.js';
import { chromiumIsMissing, newContext } from '../../support/chromium.js';
import { openShopExample } from './open-shop-example.js';

const UNKNOWN = 'aaaaaaaa-0000-4000-8000-000000000000';

describe.skipIf(chromiumIsMissing())('examples/shop in a browser', () => {
  it('leads by the keyboard alone through login and redeeming to the licence, and out again, on pages in which axe finds nothing', async () => {
    // At localhost, with the sandbox at 127.0.0.1: two sites, so that SameSite matters.
    const shop = await openShopExample({ host: 'localhost' });
    const page = await (await newContext({ baseURL: shop.origin })).newPage();
    /** What the content security policy blocked. */
    const blocked: string[] = [];
    page.on('console', (message) => {
      if (/Content.Security.Policy/i.test(message.text())) blocked.push(message.text());
    });
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
    const isPositive = (expression: string) =>
      expect.poll(() => page.evaluate(expression)).toBeGreaterThan(0);

    await page.goto('/items/1049');
    await isPositive('document.querySelector("video").duration');
    await page.goto('/');
    await isPositive('document.querySelector(".grid img").naturalWidth');
    expect(await faultsInBothLooks(page)).toEqual([]);
    await page.reload();
    await page.keyboard.press('Tab');
    expect(await hasFocus(link('Skip to the content'))).toBe(true);
    const outline = 'getComputedStyle(document.activeElement).outlineStyle';
    expect(await page.evaluate(outline)).toBe('solid');
    for (const name of ['Photography', 'Fjord Light', /^Log in$/]) await press(link(name));
    for (const name of ['Mira Solheim', 'Accept']) await press(button(name));
    await link('Your account: Mira Solheim').waitFor();
    expect(page.url()).toBe(`${shop.origin}/items/1042`);
    expect(await faultsInBothLooks(page)).toEqual([]);

    await press(link('Redeem a code'));
    const field = page.getByLabel('Purchase code');
    await field.focus();
    await page.keyboard.type(UNKNOWN);
    expect(await tooWideAt(page, [320, 390, 1280], 'input[name=purchase_code]')).toEqual([]);
    await page.keyboard.press('Enter');
    await page.getByRole('alert').waitFor();
    expect(await hasFocus(field)).toBe(true);
    expect(await faultsInBothLooks(page)).toEqual([]);
    await page.keyboard.press('ControlOrMeta+A');
    await page.keyboard.type(` ${shop.code('supported')} `);
    await page.keyboard.press('Enter');
    await page.getByRole('status').getByText('Fjord Light was added to your account.').waitFor();
    expect(await faultsInBothLooks(page)).toEqual([]);
    const started = page.waitForEvent('download');
    await press(link('Download Fjord Light'));
    expect(readFileSync(await (await started).path(), 'utf8')).toContain('Licence: Regular');

    await press(button('Log out'));
    await link('Log in').waitFor();
    // The back button neither shows the account nor logs in again.
    await page.goBack();
    await page.getByRole('heading', { name: 'Please log in' }).waitFor();
    expect([shop.asked('/api/authorize'), blocked, shop.failures]).toEqual([1, [], []]);
  });
});
