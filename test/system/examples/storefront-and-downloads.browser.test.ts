import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { faultsInBothLooks } from '../../support/axe.js';
import { chromiumIsMissing, newContext } from '../../support/chromium.js';
import { openDownloads } from './open-downloads.js';
import { openStorefront } from './open-storefront.js';

const UNKNOWN = 'aaaaaaaa-0000-4000-8000-000000000000';

describe.skipIf(chromiumIsMissing())('in a browser', () => {
  /** A window, and what its pages complained of: the content security policy, other hosts. */
  async function visit(baseURL: string) {
    const context = await newContext({ baseURL });
    const page = await context.newPage();
    const problems: string[] = [];
    page.on('console', (message) => {
      if (/Content.Security.Policy/i.test(message.text())) problems.push(message.text());
    });
    page.on('request', (request) => {
      const { hostname, protocol } = new URL(request.url());
      const isHere = ['localhost', '127.0.0.1'].includes(hostname);
      if (protocol.startsWith('http') && !isHere) problems.push(`a request to ${hostname}`);
    });
    return { page, problems };
  }

  it('the storefront: search, a video that plays, a licence that stays, pages for everybody', async () => {
    const shop = await openStorefront();
    const { page, problems } = await visit(shop.origin);
    await page.goto('/');
    await page.getByRole('searchbox').fill('fjord');
    await page.keyboard.press('Enter');
    await page.getByRole('link', { name: 'Fjord Light' }).click();
    await page.getByRole('heading', { level: 1, name: 'Fjord Light' }).waitFor();
    await page.getByLabel(/purchase code/i).fill(UNKNOWN);
    await page.getByRole('button', { name: 'Show my licence' }).click();
    await page.getByRole('alert').filter({ hasText: 'does not know this code' }).waitFor();
    await page.getByLabel(/purchase code/i).fill(` ${shop.code('extended')} `);
    await page.getByRole('button', { name: 'Show my licence' }).click();
    await page.getByText('code ending in').waitFor();
    await page.goto('/items/1049');
    const ready = `new Promise((done) => {
      const video = document.querySelector('video');
      if (video.readyState > 0) done(video.videoWidth);
      video.addEventListener('loadedmetadata', () => done(video.videoWidth));
    })`;
    expect(await page.evaluate(ready)).toBeGreaterThan(0);
    await page.goto('/items/1042');
    await page.getByText('code ending in').waitFor();
    expect(await page.evaluate(`[...document.images].filter((img) => !img.complete).length`)).toBe(
      0,
    );
    expect(problems).toEqual([]);
    for (const path of [
      '/',
      '/?q=xyzzy',
      '/items/1042',
      '/items/1049',
      '/items/1055',
      '/nothing',
    ]) {
      await page.goto(path);
      expect([path, ...(await faultsInBothLooks(page))]).toEqual([path]);
    }
  });

  it('the downloads: log in, redeem, download, a refund that is noticed, pages for everybody', async () => {
    const shop = await openDownloads(undefined, 'localhost');
    const { page, problems } = await visit(shop.origin);
    await page.goto('/');
    expect(await faultsInBothLooks(page)).toEqual([]);
    await page.getByRole('link', { name: 'Log in with Marketplace' }).click();
    await page.getByRole('button', { name: 'Mira Solheim' }).click();
    await page.getByRole('button', { name: 'Accept' }).click();
    await page.getByRole('textbox', { name: 'Purchase code' }).fill(UNKNOWN);
    await page.getByRole('button', { name: 'Redeem' }).click();
    await page.getByRole('alert').waitFor();
    expect(await faultsInBothLooks(page)).toEqual([]);
    await page.getByRole('textbox', { name: 'Purchase code' }).fill(shop.code('supported'));
    await page.getByRole('button', { name: 'Redeem' }).click();
    await page.getByRole('status').filter({ hasText: 'Fjord Light is yours now.' }).waitFor();
    expect(await faultsInBothLooks(page)).toEqual([]);
    const started = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Download Fjord Light' }).click();
    const download = await started;
    expect(download.suggestedFilename()).toMatch(/^item-1042-.*\.csv$/);
    expect(readFileSync(await download.path(), 'utf8')).toMatch(/^step,hue,hex\r\n/);
    await page.goto('/');
    expect(await page.getByRole('status').count()).toBe(0);
    shop.sandbox.data.refundPurchase(shop.code('supported'));
    await page.getByRole('button', { name: 'Download Fjord Light' }).click();
    await page.getByText('Not valid any more.').waitFor();
    expect(await page.getByRole('button', { name: /Download/ }).count()).toBe(0);
    expect(problems).toEqual([]);
  });
});
