import { describe, expect, it, onTestFinished } from 'vitest';
import { KeyApi } from '../../../src/index.js';
import { chromiumIsMissing, newContext } from '../../support/chromium.js';
import { start } from '../../unit/sandbox/support.js';

describe.skipIf(chromiumIsMissing())('on the console', () => {
  it('a developer copies codes, sells, refunds and takes back, sets faults, moves the clock, and sees what stops', async () => {
    const { sandbox, baseUrl, apiKey, code } = await start();
    const keyApi = new KeyApi({ baseUrl, apiKey, cache: false, retries: 0 });
    onTestFinished(() => keyApi.close());
    const context = await newContext({ baseURL: baseUrl });
    await context.grantPermissions(['clipboard-read', 'clipboard-write']);
    const page = await context.newPage();
    const problems: string[] = [];
    page.on('pageerror', (error) => problems.push(error.message));
    page.on('console', (message) => {
      if (message.type() === 'error') problems.push(message.text());
    });
    page.on('request', (request) => {
      if (!request.url().startsWith(baseUrl)) problems.push('a request to elsewhere');
    });
    const button = (name: string | RegExp) => page.getByRole('button', { name, exact: true });
    const copied = () => page.evaluate('navigator.clipboard.readText()');

    // With the keyboard alone: the first button is that of a code that is valid.
    await page.goto('/');
    await page.keyboard.press('Tab');
    const outline = 'getComputedStyle(document.activeElement).outlineStyle';
    expect(await page.evaluate(outline)).toBe('solid');
    await page.keyboard.press('Enter');
    await expect.poll(copied).toBe(code('supported'));

    // A request of the app shows up by itself.
    await page.getByText('Requests of your app show up here').waitFor();
    await keyApi.listItems();
    await page.locator('tr.request').getByText('GET /api/items/all').waitFor();

    await page.locator('select[name=item_id]').selectOption('1049');
    await button('Sell').click();
    const sold = String(sandbox.data.purchases.at(-1)?.purchase_code);
    await button(/^Copy code: Slow Water/).click();
    await expect.poll(copied).toBe(sold);
    const shop = page.getByRole('link', { name: 'Back to the shop' });
    expect(await shop.getAttribute('href')).toBe('http://localhost:3999/');
    const row = page.getByRole('row').filter({ hasText: sold });
    await row.getByRole('button', { name: /^Refund/ }).click();
    // It stays there, not in a message that goes.
    await page.getByText(/Was refunded.*5 minutes have passed/).waitFor();
    expect(await keyApi.validatePurchase(sold)).toBeNull();
    await row.getByRole('button', { name: /^Take back/ }).click();
    await page.getByText('asks again after 30 seconds').waitFor();
    expect(await keyApi.validatePurchase(sold)).not.toBeNull();

    await page.locator('#faults summary').click();
    await page.getByLabel('errorRate').fill('1');
    await page.getByLabel('errorRate').press('Enter');
    await page.getByText('errorRate=1', { exact: true }).waitFor();
    await expect(keyApi.listItems()).rejects.toMatchObject({ code: 'service_unavailable' });
    await button('Reset the faults').click();
    await page.getByText('Reset: faults.').waitFor();
    expect(sandbox.faults.errorRate).toBe(0);

    await button('+ 10 minutes').click();
    await page.getByText('The sandbox’s clock shows').waitFor();
    expect(sandbox.clock() - Date.now()).toBeGreaterThan(590_000);
    expect(problems).toEqual([]);

    await sandbox.close();
    await page.locator('body.gone').waitFor();
  });
});
