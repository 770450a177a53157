import type { Locator, Page } from 'playwright-core';
import { describe, expect, it, onTestFinished } from 'vitest';
import { KeyApi } from '../../../src/index.js';
import { chromiumIsMissing, newContext } from '../../support/chromium.js';
import { type Running, start } from '../../unit/sandbox/support.js';

// What runs in the page is text: these files are compiled for Node, which has no DOM.
const focusedId = (page: Page): Promise<unknown> => page.evaluate('document.activeElement.id');

describe.skipIf(chromiumIsMissing())('the console in a browser', () => {
  /** A console that is open and live. */
  async function open(running: Running) {
    const context = await newContext({ baseURL: running.baseUrl });
    await context.grantPermissions(['clipboard-read', 'clipboard-write']);
    const page = await context.newPage();
    const problems: string[] = [];
    let loads = 0;
    page.on('load', () => {
      loads++;
    });
    page.on('pageerror', (error) => problems.push(error.message));
    page.on('console', (message) => {
      if (message.type() === 'error') problems.push(message.text());
    });
    page.on('request', (request) => {
      if (!request.url().startsWith(running.baseUrl)) problems.push('a request to elsewhere');
    });
    await page.goto('/');
    await page.getByText('Live', { exact: true }).waitFor();
    return { page, problems, loads: () => loads };
  }

  const client = (running: Running): KeyApi => {
    const keyApi = new KeyApi({
      baseUrl: running.baseUrl,
      apiKey: running.apiKey,
      cache: false,
      retries: 0,
    });
    onTestFinished(() => keyApi.close());
    return keyApi;
  };

  const card = (page: Page, title: string): Locator =>
    page.getByRole('region', { name: title, exact: true }).and(page.locator('section'));

  const unfold = (page: Page, title: string) => card(page, title).locator('summary').click();

  const clipboard = (page: Page): Promise<unknown> =>
    page.evaluate('navigator.clipboard.readText()');

  it('a developer walks through it, and the page is never loaded again', async () => {
    const running = await start();
    const keyApi = client(running);
    const { page, problems, loads } = await open(running);
    const requests = page.locator('tr.request');

    // A request of the app shows up by itself.
    await page.getByText('Nothing has been asked yet').waitFor();
    await keyApi.listItems();
    await requests.getByText('/api/items/all').waitFor();
    expect(await requests.count()).toBe(1);

    // A code is copied with one click, and works.
    const row = card(page, 'Purchases')
      .getByRole('row')
      .filter({ hasText: running.code('extended') });
    await row.getByRole('button', { name: 'Copy the code' }).click();
    await page
      .getByRole('status')
      .getByText('Copied the code: Fjord Light, supported, …60b2')
      .waitFor();
    const code = String(await clipboard(page));
    expect(code).toBe(running.code('extended'));
    expect((await keyApi.validatePurchase(code))?.item.id).toBe(1042);
    await page.getByRole('button', { name: 'Copy .env' }).click();
    await expect.poll(() => clipboard(page)).toContain(`MARKETPLACE_API_KEY=${running.apiKey}`);

    // A fault is flipped, and the app fails; another way, and it works again.
    await unfold(page, 'Faults');
    const errorRate = page.getByLabel('errorRate');
    await errorRate.fill('1');
    await errorRate.press('Tab');
    await card(page, 'Faults').getByText('1 on', { exact: true }).waitFor();
    await expect(keyApi.listItems()).rejects.toMatchObject({ code: 'service_unavailable' });
    await requests.getByText('500').waitFor();
    await page.getByRole('button', { name: 'Reset the faults' }).click();
    await expect.poll(() => errorRate.inputValue()).toBe('0');
    const html = page.getByRole('switch', { name: / html$/ });
    await html.check();
    await expect.poll(() => running.sandbox.faults.html).toBe(true);
    await expect(keyApi.listItems()).rejects.toMatchObject({ code: 'unexpected_response' });
    await html.uncheck();
    await expect.poll(() => running.sandbox.faults.html).toBe(false);
    await unfold(page, 'Dialect');
    await page.getByLabel('localised').selectOption('de');
    await expect.poll(() => running.sandbox.dialect.localised).toBe('de');

    // A purchase is added, loses its support and gets it back, is refunded, and that is taken back.
    const purchases = card(page, 'Purchases');
    await purchases.locator('summary').click();
    await purchases.getByRole('combobox', { name: /^Item/ }).selectOption('1049');
    await purchases.getByRole('button', { name: 'Add a purchase' }).click();
    await purchases.getByText('Slow Water 1049, Regular').nth(1).waitFor();
    const bought = String(running.sandbox.data.purchases.at(-1)?.purchase_code);
    const added = purchases.getByRole('row').filter({ hasText: bought });
    await added.getByRole('button', { name: 'End support' }).click();
    await added.getByText('support ended on').waitFor();
    await added.getByRole('button', { name: 'Renew' }).click();
    await added.getByText('with support until').waitFor();
    await added.getByRole('button', { name: 'Refund' }).click();
    await added.getByText('Was refunded').waitFor();
    await page
      .getByRole('status')
      .getByText(/5 minutes have passed.*Sooner/)
      .waitFor();
    expect(await keyApi.validatePurchase(bought)).toBeNull();
    await added.getByRole('button', { name: 'Take back' }).click();
    await added.getByText('with support until').waitFor();
    expect(await keyApi.validatePurchase(bought)).not.toBeNull();
    // What was opened stays open.
    expect(await purchases.getByRole('button', { name: 'Add a purchase' }).isVisible()).toBe(true);

    // The clock moves, and is set right.
    const clock = card(page, 'Clock');
    await clock.getByRole('button', { name: '+ 1 hour' }).click();
    await expect.poll(() => running.sandbox.clock() - Date.now()).toBeGreaterThan(3_500_000);
    await clock.getByRole('button', { name: 'Reset clock' }).click();
    await expect.poll(() => running.sandbox.clock() - Date.now()).toBeLessThan(60_000);

    expect([loads(), problems]).toEqual([1, []]);
  });

  it('shows what code and other consoles change, and keeps what is being typed', async () => {
    const running = await start();
    const { page } = await open(running);
    await unfold(page, 'Faults');
    const url = page.getByLabel('Logins lead back to, for Northlight Studio');
    await url.fill('http://localhost:5');
    running.sandbox.faults.hang = true;
    await expect.poll(() => page.getByRole('switch', { name: / hang$/ }).isChecked()).toBe(true);
    const key = running.sandbox.data.rotateApiKey('tidewater');
    await page.getByText(key, { exact: true }).waitFor();
    expect(await url.inputValue()).toBe('http://localhost:5');
    await page.keyboard.type('000/callback');
    await page.keyboard.press('Enter');
    await expect.poll(() => running.sandbox.redirectUrl).toBe('http://localhost:5000/callback');
  });

  it('finds the sandbox again after it was restarted, and what happened meanwhile', async () => {
    const running = await start();
    const { page } = await open(running);
    await unfold(page, 'Dialect');
    const port = Number(new URL(running.baseUrl).port);
    await running.sandbox.close();
    await page.getByText('Reconnecting', { exact: true }).waitFor();
    running.sandbox.dialect.nulls = true;
    await running.sandbox.listen(port);
    await page.getByText('Live', { exact: true }).waitFor();
    await expect.poll(() => page.getByRole('switch', { name: / nulls$/ }).isChecked()).toBe(true);
  });

  it('waits with an update while the value of a switch is being typed', async () => {
    const running = await start();
    const { page } = await open(running);
    await unfold(page, 'Faults');
    const latency = page.getByLabel('latency');
    await latency.selectText();
    await page.keyboard.type('7');
    running.sandbox.faults.hang = true;
    // An update later, in which the card of the faults has changed.
    await page.waitForResponse((response) => response.url().endsWith('/sandbox/console'));
    await page.waitForResponse((response) => response.url().endsWith('/sandbox/console'));
    expect(running.sandbox.faults.latency).toBe(0);
    await page.keyboard.type('5ms');
    await latency.press('Tab');
    await expect.poll(() => running.sandbox.faults.latency).toBe(75);
    await expect.poll(() => page.getByRole('switch', { name: / hang$/ }).isChecked()).toBe(true);
  });

  it('says what a switch does not take, and shows where it stands', async () => {
    const running = await start();
    const { page } = await open(running);
    await unfold(page, 'Faults');
    await page.getByLabel('latency').fill('300');
    await page.getByLabel('errorRate').focus();
    await page.getByRole('status').getByText('expected a duration with its unit').waitFor();
    await page.getByLabel('latency').fill('2s');
    await page.getByLabel('errorRate').focus();
    await expect.poll(() => running.sandbox.faults.latency).toBe(2000);
    await page.getByLabel('errorRate').fill('7');
    await page.getByLabel('latency').focus();
    await page.getByRole('status').getByText('expected a number from 0 to 1').waitFor();
    await expect.poll(() => page.getByLabel('errorRate').inputValue()).toBe('0');
    expect(running.sandbox.faults.errorRate).toBe(0);
  });

  it('sells the item that a shop\'s "Buy" leads to', async () => {
    const running = await start();
    const { page } = await open(running);
    await page.goto('/sandbox/console?item=1049#add-purchase');
    await page.getByRole('button', { name: 'Add a purchase' }).click();
    await card(page, 'Purchases').getByText('Slow Water 1049, Regular').nth(1).waitFor();
    expect(running.sandbox.data.purchases.at(-1)).toMatchObject({ item_id: 1049, kind: 'added' });
  });

  it('can be used with the keyboard alone', async () => {
    const running = await start();
    const { page } = await open(running);
    // The first code is one Tab away.
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await expect.poll(() => clipboard(page)).toBe(running.code('supported'));
    await page.getByRole('button', { name: 'New key for northlight' }).focus();
    await page.keyboard.press('Enter');
    await expect.poll(() => running.sandbox.data.workspaces[0]?.api_key).not.toBe(running.apiKey);
    const outline = 'getComputedStyle(document.activeElement).outlineStyle';
    expect(await page.evaluate(outline)).toBe('solid');
    await page.getByRole('button', { name: 'Refund: Fjord Light, supported, …8d10' }).focus();
    await page.keyboard.press('Enter');
    // The button is gone with the purchase: the focus stays in its section, not at the top of the page.
    await expect.poll(() => focusedId(page)).toBe('purchases-title');
    await card(page, 'Faults').locator('summary').focus();
    await page.keyboard.press('Enter');
    await page.getByRole('switch', { name: / truncated$/ }).focus();
    await page.keyboard.press('Space');
    await expect.poll(() => running.sandbox.faults.truncated).toBe(true);
    await expect.poll(() => focusedId(page)).toBe('faults.truncated');
  });
});
