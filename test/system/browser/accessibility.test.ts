import express from 'express';
import { errorHandler, MarketgateError, type MarketgateErrorCode } from 'marketgate';
import { describe, expect, it } from 'vitest';
import { faultsInBothLooks, tooWideAt } from '../../support/axe.js';
import { chromiumIsMissing, newContext } from '../../support/chromium.js';
import { listen } from '../../support/listen.js';
import { newToken, start } from '../../unit/sandbox/support.js';

const visit = async (baseURL: string) =>
  (await newContext({ baseURL, reducedMotion: 'reduce' })).newPage();

describe.skipIf(chromiumIsMissing())('axe finds nothing', () => {
  it('on the console, with something in every part of it, and the pages of the login', async () => {
    const running = await start();
    const { sandbox } = running;
    await newToken(running);
    await running.get(`/api/items/all?api_key=${running.apiKey}`);
    await running.get('/api/account/details?api_key=wrong');
    await running.validate('x'.repeat(128));
    sandbox.faults.errorRate = 1;
    await running.get('/api/items/all');
    sandbox.faults.errorRate = 0;
    sandbox.dialect.nulls = true;
    sandbox.data.addPurchase({ item_id: 1042, purchase_code: 'A'.repeat(128) });

    const page = await visit(running.baseUrl);
    await page.goto('/sandbox/console');
    await page.evaluate(
      "document.querySelectorAll('details').forEach((each) => (each.open = true))",
    );
    expect(await faultsInBothLooks(page)).toEqual([]);
    expect(await tooWideAt(page, [360, 768, 1024, 1920])).toEqual([]);
    await page.goto('/api/oauth?app_id=0');
    expect(await faultsInBothLooks(page)).toEqual([]);
    await page.goto(`/api/oauth?app_id=${running.appId}`);
    expect(await faultsInBothLooks(page)).toEqual([]);
    await page.getByRole('button', { name: 'Mira Solheim' }).click();
    await page.getByRole('button', { name: 'Accept' }).waitFor();
    expect(await faultsInBothLooks(page)).toEqual([]);
  });

  it('on the pages of errorHandler, whose form can lead to another site', async () => {
    const elsewhere = await listen((_req, res) => res.end('elsewhere'));
    const app = express();
    const svg =
      '<svg xmlns="http://www.w3.org/2000/svg" width="40" height="40"><rect width="40" height="40"/></svg>';
    app.get('/logo.svg', (_req, res) => void res.type('svg').send(svg));
    app.post('/redeem', (_req, res) => res.redirect(303, elsewhere));
    app.use((req, _res, next) => {
      const code = req.path.slice(1) as MarketgateErrorCode;
      next(new MarketgateError(code, 'for the operator', { retryAfter: 42 }));
    });
    const site = { name: 'A shop with a name', logo: '/logo.svg', contact: 'help@shop.example' };
    app.use(errorHandler({ loginPath: '/login', redeemPath: '/redeem', site, log: false }));
    const page = await visit((await listen(app)).replace('127.0.0.1', 'localhost'));
    const refused: string[] = [];
    page.on('console', (message) => refused.push(message.text()));
    for (const code of ['purchase_held', 'purchase_required']) {
      await page.goto(`/${code}`);
      expect([code, await faultsInBothLooks(page)]).toEqual([code, []]);
    }
    expect(await page.evaluate("document.querySelector('img').naturalWidth")).toBe(40);
    const field = page.getByLabel('Purchase code');
    await field.fill('6f1c2a54-9d0e-4b7a-8c35-0e2f4a6b8d10');
    expect(await tooWideAt(page, [1280, 390, 320], 'input')).toEqual([]);
    await field.press('Enter');
    await page.waitForURL(elsewhere);
    expect(refused.filter((text) => text.includes('Content Security'))).toEqual([]);
  });

  it('unless something is wrong: these tests can fail', async () => {
    const page = await visit((await start()).baseUrl);
    await page.goto('/nothing');
    await page.evaluate(`document.querySelector('h1').innerHTML =
      '<img src="/favicon.ico"><p style="width: 3000px; color: #eee; background: #fff">Hardly seen</p>'`);
    const found = (await faultsInBothLooks(page)).join();
    expect(found).toContain('image-alt');
    expect(found).toContain('dark, 320: color-contrast');
    expect(found).toContain('dark, 320: the page scrolls sideways');
  });
});
