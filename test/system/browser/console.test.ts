import type { Page } from 'playwright-core';
import { describe, expect, it, onTestFinished } from 'vitest';
import { KeyApi } from '../../../src/index.js';
import { chromiumIsMissing, newContext } from '../../support/chromium.js';
import { type Running, start } from '../../unit/sandbox/support.js';

describe.skipIf(chromiumIsMissing())('the console in a browser', () => {
  async function open(running: Running, path = '/', viewport = { width: 1280, height: 800 }) {
    const context = await newContext({ baseURL: running.baseUrl, viewport });
    await context.grantPermissions(['clipboard-read', 'clipboard-write']);
    const page = await context.newPage();
    page.setDefaultTimeout(20_000);
    const problems: string[] = [];
    page.on('pageerror', (error) => problems.push(error.message));
    page.on('console', (message) => {
      if (message.type() === 'error') problems.push(message.text());
    });
    page.on('request', (request) => {
      if (!request.url().startsWith(running.baseUrl)) problems.push('a request to elsewhere');
    });
    await page.goto(path);
    return { page, problems };
  }

  const client = ({ baseUrl, apiKey }: Running): KeyApi => {
    const keyApi = new KeyApi({ baseUrl, apiKey, cache: false, retries: 0 });
    onTestFinished(() => keyApi.close());
    return keyApi;
  };

  const clipboard = (page: Page): Promise<unknown> =>
    page.evaluate('navigator.clipboard.readText()');

  const rowOf = (page: Page, code: string) => page.getByRole('row').filter({ hasText: code });

  it('a developer sells, refunds and takes back, sets faults, and moves the clock', async () => {
    const running = await start();
    const keyApi = client(running);
    const { page, problems } = await open(running);
    const button = (name: string) => page.getByRole('button', { name, exact: true });

    // A request of the app shows up by itself.
    await page.getByText('Requests of your app show up here').waitFor();
    await keyApi.listItems();
    await page.locator('tr.request').getByText('GET /api/items/all').waitFor();

    await page.locator('select[name=item_id]').selectOption('1049');
    await button('Sell').click();
    const sold = String(running.sandbox.data.purchases.at(-1)?.purchase_code);
    await page.getByRole('button', { name: 'Copy code: Slow Water' }).click();
    await expect.poll(() => clipboard(page)).toBe(sold);
    expect(await page.getByRole('link', { name: 'Back to the shop' }).getAttribute('href')).toBe(
      'http://localhost:3999/',
    );
    const row = rowOf(page, sold);
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
    expect(running.sandbox.faults.errorRate).toBe(0);

    await button('+ 10 minutes').click();
    await page.getByText('The sandbox’s clock shows').waitFor();
    expect(running.sandbox.clock() - Date.now()).toBeGreaterThan(590_000);
    expect(problems).toEqual([]);
  });

  it('copies with the keyboard alone: the first button is a code that is valid', async () => {
    const running = await start();
    const { page } = await open(running);
    await page.keyboard.press('Tab');
    expect(await page.evaluate('getComputedStyle(document.activeElement).outlineStyle')).toBe(
      'solid',
    );
    await page.keyboard.press('Enter');
    await expect.poll(() => clipboard(page)).toBe(running.code('supported'));
  });

  it('says that its sandbox has stopped', async () => {
    const running = await start();
    const { page } = await open(running);
    await running.sandbox.close();
    await page.locator('body.gone').waitFor();
  });

  it.each([1280, 390])(
    'at %i pixels shows purchases in full width, and requests without scrolling',
    async (width) => {
      const running = await start();
      const purchase_code = 'x'.repeat(128);
      running.sandbox.data.addPurchase({ item_id: 1042, purchase_code });
      const { page } = await open(running, '/sandbox/console', { width, height: 800 });
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width);
      const heights = await page
        .locator('#codes tr')
        .evaluateAll((rows) => rows.map((row) => row.getBoundingClientRect().height));
      expect(Math.max(...heights)).toBeLessThan(width === 1280 ? 40 : 130);
      const top = await page
        .locator('#requests')
        .evaluate((part) => part.getBoundingClientRect().top);
      expect(top).toBeLessThan(400);
    },
  );
});
