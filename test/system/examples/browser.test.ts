import { describe, expect, it } from 'vitest';
import { faultsInBothLooks } from '../../support/axe.js';
import { chromiumIsMissing, newContext } from '../../support/chromium.js';
import { runExample } from './run-example.js';

const UNKNOWN = 'aaaaaaaa-0000-4000-8000-000000000000';

describe.skipIf(chromiumIsMissing())('in a browser', () => {
  async function visit(example: string, ready: RegExp) {
    const running = runExample(`${example}/server.ts`, { PORT: '0' });
    const baseURL = await running.prints(ready);
    const code = await running.prints(/^([0-9a-f-]{36})/m);
    const page = await (await newContext({ baseURL })).newPage();
    await page.goto('/');
    return { page, code };
  }

  it('storefront: a code is refused, and another shows the licence', async () => {
    const { page, code } = await visit('storefront', /The shop is at (\S+)/);
    expect(await faultsInBothLooks(page)).toEqual([]);
    await page.getByRole('link', { name: 'Fjord Light' }).click();
    await page.getByLabel('Purchase code').fill(UNKNOWN);
    await page.getByRole('button', { name: 'Show my licence' }).click();
    await page.getByRole('alert').filter({ hasText: 'does not know this code' }).waitFor();
    expect(await faultsInBothLooks(page)).toEqual([]);
    await page.getByLabel('Purchase code').fill(code);
    await page.getByRole('button', { name: 'Show my licence' }).click();
    await page.getByText('Support until').waitFor();
    for (const path of ['/items/1049', '/items/1055', '/nothing']) {
      await page.goto(path);
      expect([path, ...(await faultsInBothLooks(page))]).toEqual([path]);
    }
  });

  it('downloads: log in, redeem, download', async () => {
    const { page, code } = await visit('downloads', /Your files are at ([^\s;]+)/);
    expect(await faultsInBothLooks(page)).toEqual([]);
    await page.getByRole('link', { name: 'Log in with Marketplace' }).click();
    await page.getByRole('button', { name: 'Mira Solheim' }).click();
    await page.getByRole('button', { name: 'Accept' }).click();
    await page.getByLabel('Purchase code').fill(UNKNOWN);
    await page.getByRole('button', { name: 'Redeem' }).click();
    await page.getByRole('alert').waitFor();
    await page.getByLabel('Purchase code').fill(code);
    await page.getByRole('button', { name: 'Redeem' }).click();
    await page.getByRole('status').filter({ hasText: 'is yours now' }).waitFor();
    expect(await faultsInBothLooks(page)).toEqual([]);
    const started = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Download' }).click();
    expect((await started).suggestedFilename()).toBe('item-1042.txt');
  });
});
