import express from 'express';
import { errorHandler, MarketgateError, type MarketgateErrorCode } from 'marketgate';
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { cutOffWidths, faultsInBothLooks, faultsOf, tooWideAt } from '../../support/axe.js';
import { chromiumIsMissing, newContext } from '../../support/chromium.js';
import { listen } from '../../support/listen.js';
import { newToken, type Running, start } from '../../unit/sandbox/support.js';

/** A sandbox with something in every part of the console. */
async function busy(): Promise<Running> {
  const running = await start();
  const { sandbox } = running;
  await newToken(running);
  await running.get(`/api/items/all?api_key=${running.apiKey}`);
  await running.get('/api/account/details?api_key=wrong');
  await running.validate('x'.repeat(128));
  sandbox.faults.errorRate = 1;
  await running.get('/api/items/all');
  sandbox.dialect.nulls = true;
  sandbox.data.addPurchase({ item_id: 1042, purchase_code: 'A'.repeat(128) });
  return running;
}

async function visit({ baseUrl }: Running, path: string): Promise<Page> {
  const context = await newContext({ baseURL: baseUrl, reducedMotion: 'reduce' });
  const page = await context.newPage();
  await page.goto(path);
  return page;
}

const unfold = (page: Page) =>
  page.evaluate("document.querySelectorAll('details').forEach((each) => (each.open = true))");

const toConsent = (page: Page) => page.locator('button').first().click();

describe.skipIf(chromiumIsMissing())('accessibility', () => {
  it.each<[string, (running: Running) => string, ((page: Page) => Promise<unknown>)?]>([
    ['the console, unfolded', () => '/sandbox/console', unfold],
    ['the login page', ({ appId }) => `/api/oauth?app_id=${appId}`],
    ['the consent page', ({ appId }) => `/api/oauth?app_id=${appId}`, toConsent],
    ['an unknown app', () => '/api/oauth?app_id=0'],
  ])('%s: axe finds nothing, and it fits from 320 to 1920', async (_name, pathOf, act) => {
    const running = await busy();
    const page = await visit(running, pathOf(running));
    await act?.(page);
    expect(await faultsInBothLooks(page)).toEqual([]);
    expect(await tooWideAt(page, [360, 768, 1024, 1920])).toEqual([]);
  });

  it('the pages of errorHandler, with the logo of the site, fit at 320 and 1280', async () => {
    const app = express();
    const svg =
      '<svg xmlns="http://www.w3.org/2000/svg" width="40" height="40"><rect width="40" height="40"/></svg>';
    app.get('/logo.svg', (_req, res) => void res.type('svg').send(svg));
    app.use((req, _res, next) => {
      const options = req.path === '/too_many_attempts' ? { retryAfter: 42 } : {};
      const code = req.path.slice(1) as MarketgateErrorCode;
      next(new MarketgateError(code, 'for the operator', options));
    });
    const site = { name: 'A shop with a name', logo: '/logo.svg', contact: 'help@shop.example' };
    app.use(errorHandler({ loginPath: '/login', redeemPath: '/redeem', site, log: false }));
    const page = await (await newContext({ baseURL: await listen(app) })).newPage();
    const refused: string[] = [];
    page.on(
      'console',
      (message) => message.text().includes('Content Security') && refused.push(message.text()),
    );
    for (const code of ['purchase_required', 'too_many_attempts', 'purchase_held']) {
      await page.goto(`/${code}`);
      expect([code, await faultsInBothLooks(page)]).toEqual([code, []]);
    }
    expect(await page.evaluate("document.querySelector('img').naturalWidth")).toBe(40);
    expect(refused).toEqual([]);
    await page.goto('/purchase_required');
    await page.getByLabel('Purchase code').fill('6f1c2a54-9d0e-4b7a-8c35-0e2f4a6b8d10');
    expect(await cutOffWidths(page, 'input')).toEqual([]);
  });

  it('what is wrong is seen: these tests can fail', async () => {
    const page = await visit(await start(), '/nothing');
    await page.evaluate(`document.querySelector('h1').innerHTML = '<img src="/favicon.ico">'`);
    await page.evaluate(`document.querySelector('h1').style.minWidth = '3000px'`);
    const found = (await faultsOf(page)).join();
    expect(found).toContain('image-alt');
    expect(found).toContain('sideways');
  });
});
