import { describe, expect, it } from 'vitest';
import { createApp } from '../../../examples/storefront/app.js';
import { Browser } from '../../support/browser.js';
import { openShop } from '../../support/shop.js';

const UNKNOWN = 'aaaaaaaa-0000-4000-8000-000000000000';

async function open(options: Parameters<typeof openShop>[1] = {}) {
  const shop = await openShop({}, options);
  const origin = await shop.serve(createApp({ keyApi: shop.keyApi, secret: 'for-the-tests-only' }));
  const browser = new Browser();
  return {
    ...{ ...shop, origin },
    page: (path: string) => browser.open(`${origin}${path}`),
    enter: (purchase_code: string) =>
      browser.submit(`${origin}/items/1042/licence`, { purchase_code }),
  };
}

describe('examples/storefront', () => {
  it('shows all items, those of a tag, and each with what it has, for one request', async () => {
    const { page, keyApi, baseUrl, asked } = await open();
    const front = (await page('/')).text;
    for (const { id } of await keyApi.listItems()) expect(front).toContain(`"/items/${id}"`);
    const tagged = (await page('/?tag=acoustic')).text;
    expect(tagged).toContain('"/items/1055"');
    expect(tagged).not.toContain('"/items/1042"');
    expect((await page('/?tag=xyzzy')).text).toContain('Nothing here');

    const [image, video, audio] = await Promise.all(
      [1042, 1049, 1055].map(async (id) => (await page(`/items/${id}`)).text),
    );
    expect(image).toContain(`<img src="${baseUrl}/media/items/1042/preview.svg"`);
    expect(image).toMatch(/Extended licence<\/dt><dd>\$180</);
    expect(video).toMatch(/<video [^>]*src="[^"]+preview.webm"/);
    expect(audio).toMatch(/<audio [^>]*src="[^"]+preview.wav"/);
    expect(image).not.toMatch(/<video|<audio/);
    expect(asked('/api/items/all') + asked('/api/items/item')).toBe(1);
  });

  it('shows the licence of a code that was entered, on that item only', async () => {
    const { page, enter, code } = await open();
    const entered = await enter(` ${code('extended')} `);
    expect(entered.text).toMatch(/<strong>Extended<\/strong>, bought .* Support until/);
    expect(entered.text).not.toContain(code('extended'));
    expect((await page('/items/1049')).text).toContain('name="purchase_code"');
  });

  it.each([
    ['a wrong code', UNKNOWN, 403, 'does not know this code'],
    ['no code', ' ', 402, 'Please enter your purchase code'],
    ['the code of another item', 'e7520b9d-8a13-4fc6-85e2-c40d71a9f635', 403, 'for another item'],
  ])('shows what is wrong with %s next to the field', async (_what, code, status, words) => {
    const visit = await (await open()).enter(code);
    expect([visit.status, visit.text]).toEqual([status, expect.stringContaining(words)]);
    expect(visit.text).toContain('aria-describedby="problem"');
  });

  it('stays open in an outage, and calls no code wrong', async () => {
    const { page, enter, code, sandbox, keyApi } = await open();
    await enter(code('supported'));
    sandbox.faults.errorRate = 1;
    sandbox.clock.advance(3 * 3_600_000);
    expect((await page('/items/1042')).text).toContain('<strong>Regular</strong>');
    const other = await enter(code('extended'));
    expect([other.status, other.text]).toEqual([503, expect.stringContaining('not be checked')]);
    sandbox.clock.advance(24 * 3_600_000);
    await keyApi.invalidate();
    expect((await page('/')).status).toBe(503);
  });

  it('takes the licence off the page after a refund', async () => {
    const { page, enter, code, sandbox, keyApi } = await open();
    await enter(code('supported'));
    sandbox.data.refundPurchase(code('supported'));
    await keyApi.invalidate(code('supported'));
    expect((await page('/items/1042')).text).toContain('not valid any more');
  });

  it('escapes what the marketplace sends, and links to web addresses only', async () => {
    const evil = '"><script>alert(1)</script>';
    const item = {
      ...{ id: 7, workspace: 'northlight', kind: 'image' as const, name: evil, description: evil },
      ...{ category: evil, sub_category: evil, options: [evil], version: '1.0.0', tags: [evil] },
      ...{ demo_link: 'javascript:alert(1)', screenshots: 0, currency: 'USD' },
      ...{ price: { regular: 1, extended: 2 }, published_at: '2024-01-01T00:00:00Z' },
    };
    const { page } = await open({ seed: { items: [item], purchases: [] } });
    for (const path of ['/', '/items/7', `/?tag=${encodeURIComponent(evil)}`]) {
      const { text } = await page(path);
      expect(text).toContain('&lt;script&gt;');
      expect(text).not.toMatch(/<script|javascript:/);
    }
  });

  it.each([
    ['/items/999999', 404],
    ['/items/abc', 400],
    ['/nothing', 404],
  ])('%s is %d, with a page', async (path, status) => {
    const visit = await (await open()).page(path);
    expect([visit.status, visit.text]).toEqual([status, expect.stringContaining('To the catalog')]);
  });
});
