import { describe, expect, it } from 'vitest';
import { Browser, type Visit } from '../../support/browser.js';
import { openShopExample as open, type ShopExample } from './open-shop-example.js';
import { runExample, runSources } from './run-example.js';

const heading = ({ text }: Visit): string | undefined => /<h1>([^<]*)<\/h1>/.exec(text)?.[1];

/** The text of the box above the field. */
const notice = ({ text }: Visit): string =>
  (/role="alert">([\s\S]*?)<\/div>/.exec(text)?.[1] ?? '').replace(/<[^>]*>/g, ' ');

async function ask(url: string, code?: string) {
  const headers = { accept: 'application/json', ...(code && { 'x-purchase-code': code }) };
  const response = await fetch(url, { headers });
  const text = await response.text();
  return [response.status, response.ok ? text : JSON.parse(text).code];
}

describe('examples/shop', () => {
  it('shows the catalogue, its categories, and what each kind of item has', async () => {
    const { page, keyApi } = await open();
    const linksOn = async (path: string) =>
      [...(await page(path)).text.matchAll(/href="\/items\/(\d+)"/g)].map(([, id]) => Number(id));
    const ids = (await keyApi.listItems()).map(({ id }) => id);
    expect(await linksOn('/')).toEqual(expect.arrayContaining(ids));
    expect((await linksOn('/?category=Music')).sort()).toEqual([1054, 1055, 1058]);
    for (const [id, preview] of [
      [1042, /<img class="preview"[^>]*preview\.svg"[^>]*alt="Preview of Fjord Light"/],
      [1049, /<video class="preview"[^>]*preview\.webm"/],
      [1055, /<audio class="player"[^>]*preview\.wav"/],
    ] as const) {
      expect((await page(`/items/${id}`)).text).toMatch(preview);
    }
  });

  it('escapes what the marketplace sends, and links to web addresses only', async () => {
    const item = {
      ...{ id: 7, workspace: 'northlight', kind: 'image', name: '<script>alert(1)</script>' },
      ...{ description: '"><img src=x onerror=alert(1)>', category: `"'&`, sub_category: '' },
      ...{ options: [], version: '1.0.0', demo_link: 'javascript:alert(1)', tags: ['<i>'] },
      ...{ screenshots: 0, price: { regular: 5, extended: 50 }, currency: 'USD' },
      published_at: '2024-01-01T00:00:00Z',
    };
    const { page } = await open({ seed: { items: [item] } });
    for (const path of ['/', '/items/7']) {
      const { text, status } = await page(path);
      expect([status, text]).toEqual([200, expect.stringContaining('&lt;script&gt;')]);
      expect(text).not.toMatch(/<script|<img src=x|<i>|javascript:/);
    }
  });

  it('sends programs and forms the licence for a code of the item', async () => {
    const { browser, origin, code } = await open();
    const url = `${origin}/items/1042/download`;
    const licence = expect.stringMatching(/^Item: Fjord Light \(1042\)\nLicence: Extended\n/);
    expect(await ask(url, code('extended'))).toEqual([200, licence]);
    const byForm = await browser.submit(url, { purchase_code: ` ${code('supported')}\u200b ` });
    expect(byForm.headers.get('content-disposition')).toContain('licence-1042.txt');
  });

  it.each([
    ['/nowhere', '', 404, '', 'There is no such page'],
    ['/items/9999', '', 404, 'item_not_found', 'We do not have this item'],
    ['/items/abc', '', 400, 'item_id_invalid', 'This is not an item number'],
    ['/items/1042/download', '', 402, 'purchase_required', 'This is for customers'],
    ['/items/1042/download', '"<b>', 403, 'purchase_code_invalid', 'does not know this code'],
    ['/items/1042/download', 'other-item', 403, 'purchase_item_mismatch', 'for another item'],
    ['/items/1042/support', 'other-item', 403, 'purchase_item_mismatch', 'for another item'],
    ['/items/1042/support', 'support-over', 403, 'support_expired', 'this purchase has ended'],
  ])(
    '%s with the code "%s" is %d, as JSON %s, as a page in words',
    async (path, given, status, error, words) => {
      const shop = await open();
      const code = /-/.test(given) ? shop.code(given as 'other-item') : given;
      const page = await shop.browser.open(shop.origin + path, { 'x-purchase-code': code });
      expect([page.status, page.text]).toEqual([status, expect.stringContaining(words)]);
      expect(page.text).not.toContain('"<b>');
      if (error !== '') expect(await ask(shop.origin + path, code)).toEqual([status, error]);
      // A refused code is explained next to its field.
      if (path.endsWith('download')) {
        expect([heading(page), notice(page)]).toEqual([
          'Fjord Light',
          expect.stringContaining(words),
        ]);
        expect(page.text).toContain('aria-invalid="true"');
      }
      expect(shop.failures).toEqual([]);
    },
  );

  it('keeps a redeemed purchase for one account, until a refund; it opens its download and no other', async () => {
    const shop = await open();
    const code = shop.code('audio-item');
    await shop.logIn();
    const account = await shop.redeem(code);
    expect(account.url).toBe(`${shop.origin}/account`);
    expect(account.text).toContain('Ember was added to your account.');
    expect(account.text).not.toContain(code);
    expect((await shop.page('/account')).text).not.toContain('was added to your account');
    expect((await shop.page('/items/1055')).text).toContain('Yours to download');
    expect((await shop.page('/items/1055/download')).text).toContain('Licence: Extended');
    expect((await shop.page('/items/1042/download')).status).toBe(402);

    const other = new Browser();
    await other.logIn(`${shop.origin}/login`, '3002');
    const refused = await other.submit(`${shop.origin}/redeem`, { purchase_code: code });
    expect(refused.status).toBe(403);
    expect(notice(refused)).toContain('used by another account');

    shop.sandbox.data.refundPurchase(code);
    shop.sandbox.clock.advance(2 * 3_600_000);
    expect((await shop.page('/items/1055/download')).status).toBe(403);
    expect((await shop.page('/account')).text).toContain('Nothing here yet.');
  });

  it.each([
    ['supported', 'Get support', 200],
    ['unsupported', '<a href="/contact">Ask us to renew it</a>', 403],
  ] as const)('who bought an item %s is offered: %s', async (kind, offer, status) => {
    const shop = await open();
    await shop.logIn();
    await shop.redeem(shop.code(kind));
    expect((await shop.page('/items/1042')).text).toContain(offer);
    expect((await shop.page('/items/1042/support')).status).toBe(status);
    expect((await shop.page('/contact')).text).toContain('mailto:hello@northlight.example');
  });

  it.each<[string, number, string, (shop: ShopExample) => unknown]>([
    ['is stopped', 503, 'service_unavailable', ({ sandbox }) => sandbox.close()],
    [
      'has a new api_key',
      500,
      'api_key_rejected',
      ({ sandbox }) => sandbox.data.rotateApiKey('northlight'),
    ],
  ])('calls no code wrong when the marketplace %s', async (_what, status, error, breakIt) => {
    const shop = await open();
    await shop.logIn();
    await shop.redeem(shop.code('supported'));
    await breakIt(shop);
    const page = await shop.redeem(shop.code('extended'));
    expect([page.status, heading(page)]).toEqual([status, 'Redeem a purchase code']);
    expect(notice(page)).toContain('may well be fine');
    expect(page.text).not.toMatch(/invalid|does not know|check that you copied/i);
    // The code is still in the field.
    expect(page.text).toContain(`value="${shop.code('extended')}"`);
    expect(shop.failures).toMatchObject([{ code: error }]);
    expect((await shop.page('/items/1042/download')).status).toBe(200);
  });

  it.each<[Record<string, string>, number]>([
    [{ 'sec-fetch-site': 'cross-site' }, 403],
    [{ 'sec-fetch-site': 'same-site' }, 403],
    [{ origin: 'https://evil.example' }, 403],
    [{ origin: 'null' }, 403],
    [{ 'sec-fetch-site': 'same-origin' }, 303],
  ])('answers a form that comes with %j by %i', async (headers, status) => {
    const { origin } = await open();
    const init = { method: 'POST', redirect: 'manual', headers } as const;
    expect((await fetch(`${origin}/logout`, init)).status).toBe(status);
  });

  it('allows media of the marketplace, no script, and no copy in a cache', async () => {
    const { page, baseUrl } = await open();
    const { headers } = await page('/');
    const policy = headers.get('content-security-policy');
    expect(policy).toContain(`default-src 'none'; style-src 'self'; img-src 'self' ${baseUrl};`);
    expect(policy).not.toMatch(/script-src|unsafe|\*/);
    expect(headers.get('cache-control')).toBe('no-store');
    expect(headers.get('set-cookie')).toBeNull();
  });

  it.each([
    [false, 'http', /^shop=.*HttpOnly; SameSite=Lax/],
    [true, 'https', /^__Host-shop=.*; Secure/],
    [true, 'http', /^$/],
  ])(
    'production %s, visited by %s: the session cookie is %s',
    async (production, proto, cookie) => {
      const { browser, origin } = await open({ production });
      const { headers } = await browser.get(`${origin}/login`, { 'x-forwarded-proto': proto });
      expect(headers.getSetCookie().join()).toMatch(cookie);
    },
  );
});

describe('npm run demo', { timeout: 40_000 }, () => {
  it('needs no build, says where to click, and ends on Ctrl-C', async () => {
    const running = runSources('examples/shop/server.ts', { PORT: '0' });
    const origin = await running.prints(/(http:\/\/localhost:\d+)\/ {2}the catalogue/);
    const code = await running.prints(/X-Purchase-Code: ([0-9a-f-]{36})"/);
    await running.prints(/Ctrl-C stops it/);
    expect(await ask(`${origin}/items/1042/download`, code)).toEqual([200, expect.any(String)]);
    running.child.kill('SIGINT');
    expect([await running.ended, running.errors()]).toEqual([0, '']);
  });

  it('names the variables that are missing, and repeats no secret', async () => {
    const running = runExample('shop/server.ts', { MARKETPLACE_API_KEY: 'very-secret' });
    expect(await running.ended).toBe(1);
    expect(running.errors()).toContain('Set MARKETPLACE_BASE_URL, MARKETPLACE_AUTH_URL');
    expect(running.errors()).not.toContain('very-secret');
  });
});
