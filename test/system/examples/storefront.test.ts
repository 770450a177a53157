import type { Item } from 'marketgate';
import { describe, expect, it } from 'vitest';
import { browse, commonTags, linkTo, wishOf } from '../../../examples/storefront/catalogue.js';
import { format } from '../../../examples/storefront/format.js';
import { Browser } from '../../support/browser.js';
import { expressVersions } from '../../support/express-versions.js';
import { openStorefront } from './open-storefront.js';
import { runExample } from './run-example.js';

const UNKNOWN = 'aaaaaaaa-0000-4000-8000-000000000000';

const idsOf = (text: string): string[] =>
  [...text.matchAll(/<a href="\/items\/(\d+)"/g)].map(([, id = '']) => id);

describe.each(expressVersions)('the storefront on %s', (_name, version) => {
  it('every item is on exactly one page, and browsing costs one call', async () => {
    const shop = await openStorefront(version);
    const browser = new Browser();
    const first = await browser.open(`${shop.origin}/`);
    const last = Math.max(
      ...[...first.text.matchAll(/page=(\d+)/g)].map(([, page]) => Number(page)),
    );
    const ids = idsOf(first.text);
    for (let page = 2; page <= last; page++) {
      ids.push(...idsOf((await browser.open(`${shop.origin}/?page=${page}`)).text));
    }
    const all = await shop.keyApi.listItems();
    expect(ids).toEqual(all.map(({ id }) => String(id)));
    await browser.open(`${shop.origin}/?q=light`);
    await browser.open(`${shop.origin}/items/1042`);
    expect(shop.sandbox.requests.filter(({ path }) => path.startsWith('/api/'))).toHaveLength(1);
    expect(browser.cookies(shop.origin)).toBe('');
  });

  it('finds by words in any order, by tag, and says when there is nothing', async () => {
    const shop = await openStorefront(version);
    const browser = new Browser();
    expect(idsOf((await browser.open(`${shop.origin}/?q=LIGHT+fjörd`)).text)).toEqual(['1042']);
    const tagged = await browser.open(`${shop.origin}/?tag=acoustic`);
    expect(idsOf(tagged.text)).toContain('1055');
    const none = await browser.open(`${shop.origin}/?q=xyzzy`);
    expect([none.status, idsOf(none.text)]).toEqual([200, []]);
    expect(none.text).toContain('Nothing like that here');
  });

  it('shows what each kind of item has, and nothing that it has not', async () => {
    const shop = await openStorefront(version);
    const page = async (id: number) =>
      (await new Browser().open(`${shop.origin}/items/${id}`)).text;
    const [image, video, audio] = [await page(1042), await page(1049), await page(1055)];
    expect(image).toContain(`${shop.baseUrl}/media/items/1042/preview.svg`);
    expect(image).toContain('alt="Screenshot 1"');
    expect(video).toMatch(/<video [^>]*poster="[^"]+preview.svg"[^>]* src="[^"]+preview.webm"/);
    expect(audio).toMatch(/<audio [^>]*src="[^"]+preview.wav"/);
    expect([/<video|<audio/.test(image), /<video|Screenshot/.test(audio)]).toEqual([false, false]);
    expect(image).toContain('href="https://market.example/item/1042"');
    expect(image).toMatch(/Extended licence<\/dt><dd>\$180</);
  });

  it('shows the licence to who enters its code, on that item only, and forgets it', async () => {
    const shop = await openStorefront(version);
    const browser = new Browser();
    const at = (path: string) => `${shop.origin}/items/${path}`;
    const held = await browser.submit(at('1042/licence'), { purchase_code: shop.code('extended') });
    expect(held.url).toBe(at('1042'));
    expect(held.text).toMatch(/<strong>Extended<\/strong>, code ending in <code>60b2</);
    expect(held.text).toContain('Support until');
    expect(held.text).not.toContain(shop.code('extended'));
    expect((await browser.open(at('1049'))).text).not.toContain('code ending');
    expect((await browser.submit(at('1042/licence/forget'), {})).text).not.toContain('code ending');
  });

  it.each([
    ['a wrong code', UNKNOWN, 403, 'does not know this code'],
    ['no code', ' ', 402, 'Please enter your purchase code'],
    ['the code of another item', 'e7520b9d-8a13-4fc6-85e2-c40d71a9f635', 403, 'for another item'],
  ])('%s is told at the field', async (_what, code, status, words) => {
    const shop = await openStorefront(version);
    const visit = await new Browser().submit(`${shop.origin}/items/1042/licence`, {
      purchase_code: code,
    });
    expect(visit.status).toBe(status);
    expect(visit.text).toContain(words);
    expect(visit.text).toContain('aria-describedby="problem"');
  });

  it('an outage keeps the shop open, and calls no code wrong', async () => {
    const shop = await openStorefront(version);
    const browser = new Browser();
    await browser.open(`${shop.origin}/`);
    const form = `${shop.origin}/items/1042/licence`;
    await browser.submit(form, { purchase_code: shop.code('supported') });
    shop.sandbox.faults.errorRate = 1;
    shop.sandbox.clock.advance(3 * 3_600_000);
    expect((await browser.open(`${shop.origin}/`)).status).toBe(200);
    expect((await browser.open(`${shop.origin}/items/1042`)).text).toContain('code ending');
    const other = await new Browser().submit(form, { purchase_code: shop.code('extended') });
    expect(other.status).toBe(503);
    expect(other.text).toContain('could not be checked');
    shop.sandbox.clock.advance(24 * 3_600_000);
    shop.keyApi.invalidate();
    expect((await browser.open(`${shop.origin}/`)).status).toBe(503);
  });

  it('a refund takes the licence off the page', async () => {
    const shop = await openStorefront(version);
    const browser = new Browser();
    const code = shop.code('supported');
    await browser.submit(`${shop.origin}/items/1042/licence`, { purchase_code: code });
    shop.sandbox.data.refundPurchase(code);
    await shop.keyApi.invalidate(code);
    const { text } = await browser.open(`${shop.origin}/items/1042`);
    expect(text).toContain('calls your code invalid now');
    expect(text).not.toContain('code ending');
  });

  it('the service’s words are text: neither markup nor a script in a link gets into a page', async () => {
    const evil = '"><script>alert(1)</script>';
    const seed = {
      items: [
        {
          ...{
            id: 7,
            workspace: 'northlight',
            kind: 'image' as const,
            name: evil,
            description: evil,
          },
          ...{
            category: evil,
            sub_category: evil,
            options: [evil],
            version: '1.0.0',
            tags: [evil],
          },
          ...{ demo_link: 'https://demo.example/', screenshots: 0, currency: 'USD' },
          ...{ price: { regular: 1, extended: 2 }, published_at: '2024-01-01T00:00:00Z' },
        },
      ],
      purchases: [],
    };
    const shop = await openStorefront(version, { seed });
    for (const path of ['/', '/items/7', `/?q=${encodeURIComponent(evil)}`]) {
      const { text, headers } = await new Browser().open(`${shop.origin}${path}`);
      expect(text).not.toContain('<script');
      expect(text).toContain('&lt;script&gt;');
      expect(headers.get('content-security-policy')).not.toContain('script-src');
    }
  });

  it.each(['/items/999999', '/items/abc', '/nothing'])(
    '%s is not found, in words',
    async (path) => {
      const shop = await openStorefront(version);
      const visit = await new Browser().open(`${shop.origin}${path}`);
      expect(visit.status).toBe(404);
      expect(visit.text).toContain('There is no such page');
    },
  );

  it('a form of another site is refused', async () => {
    const shop = await openStorefront(version);
    const answer = await fetch(`${shop.origin}/items/1042/licence`, {
      method: 'POST',
      headers: { 'sec-fetch-site': 'cross-site' },
      body: new URLSearchParams({ purchase_code: shop.code('supported') }),
    });
    expect(answer.status).toBe(403);
  });
});

describe('its catalogue', () => {
  const bare = (id: number, rest: Partial<Item> = {}): Item =>
    ({ id, name: `Item ${id}`, media: {}, ...rest }) as Item;

  it('bears items that have next to nothing', () => {
    const items = [bare(1), bare(2, { tags: ['A', 'a'] })];
    expect(browse(items, wishOf({ q: 'item' })).found).toBe(2);
    expect(browse(items, wishOf({ tag: 'A' })).items).toEqual([items[1]]);
    expect(commonTags(items)).toEqual([{ name: 'a', count: 1 }]);
  });

  it.each([
    [
      { q: ['a', 'b'], tag: { x: 1 }, page: '-1' },
      { search: '', tag: '', page: 1 },
    ],
    [{ page: '9'.repeat(50) }, { search: '', tag: '', page: 1 }],
    [
      { q: 'x'.repeat(500), page: '0' },
      { search: 'x'.repeat(80), tag: '', page: 1 },
    ],
  ])('reads any query: %j', (query, wish) => expect(wishOf(query)).toEqual(wish));

  it('a page beyond the last is the last', () => {
    const items = Array.from({ length: 13 }, (_, i) => bare(i + 1));
    expect(browse(items, wishOf({ page: '99' }))).toMatchObject({ page: 3, pages: 3, found: 13 });
    expect(linkTo({ search: 'a b', page: 2 })).toBe('/?q=a+b&page=2');
  });

  it('formats what may be missing or wrong', () => {
    expect(format.money(24, 'USD')).toBe('$24');
    expect(format.money(24.5, 'not a currency')).toBe('24.50 not a currency');
    expect(format.money(undefined, 'USD')).toBe('');
    expect(format.day('nonsense')).toBe('');
    expect(format.safeUrl('javascript:alert(1)')).toBeUndefined();
    expect(format.safeUrl('https://a.example/')).toBe('https://a.example/');
  });
});

describe('examples/storefront/server.ts', () => {
  it('starts, and ends on SIGTERM', async () => {
    const running = runExample('storefront/server.ts', { PORT: '0' });
    const origin = await running.prints(/The shop is at (http:\/\/localhost:\d+)/);
    expect((await fetch(`${origin}/`)).status).toBe(200);
    expect((await fetch(`${origin}/assets/style.css`)).status).toBe(200);
    running.child.kill('SIGTERM');
    expect(await running.ended).toBe(0);
  });

  it('half a configuration is refused, and repeats no secret', async () => {
    const running = runExample('storefront/server.ts', { MARKETPLACE_API_KEY: 'very-secret' });
    expect(await running.ended).toBe(1);
    expect(running.output()).toContain('Set MARKETPLACE_BASE_URL');
    expect(running.output()).not.toContain('very-secret');
  });
});
