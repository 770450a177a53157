import { describe, expect, it } from 'vitest';
import { Browser, type Visit } from '../../support/browser.js';
import { openShopExample as open, type ShopExample } from './open-shop-example.js';
import { runExample } from './run-example.js';

const UNKNOWN = 'aaaaaaaa-0000-4000-8000-000000000000';

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
      [1049, /<video class="preview"[^>]*clip\.webm"/],
      [1055, /<audio class="player"[^>]*music\.mp3"/],
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

  it('takes a code on the page of the item, after the login, and shows no old complaint next to the download', async () => {
    const { browser, origin, code, page, logIn } = await open();
    const item = `${origin}/items/1042`;
    const visited = await page('/items/1042');
    expect(visited.text).toContain('href="/login?to=%2Fitems%2F1042"');
    expect(visited.text).not.toContain('name="purchase_code"');
    await logIn();
    const redeem = (purchase_code: string) => browser.submit(`${item}/redeem`, { purchase_code });
    expect(notice(await redeem(UNKNOWN))).toContain('does not know this code');
    const redeemed = await redeem(` ${code('extended')}\u200b `);
    expect([redeemed.url, redeemed.status]).toEqual([item, 200]);
    expect(redeemed.text).toContain('was added to your account');
    expect(redeemed.text).not.toContain('role="alert"');
    const licence = await page('/items/1042/download');
    expect(licence.text).toMatch(/^Item: Fjord Light \(1042\)\nLicence: Extended\n/);
    expect(licence.headers.get('content-disposition')).toContain('licence-1042.txt');
    const bought = (await page('/items/1042')).text;
    expect(bought).toContain('href="https://market.example/items/1042"');
  });

  it.each([
    ['/nowhere', 404, undefined, 'There is no such page'],
    ['/items/9999', 404, 'item_not_found', 'We do not have this item'],
    ['/items/abc', 400, 'item_id_invalid', 'This is not an item number'],
    ['/items/1042/download', 401, 'login_required', undefined],
    ['/account', 401, 'login_required', undefined],
  ])('%s is %d, as JSON %s, as a page in words', async (path, status, code, words) => {
    const shop = await open();
    expect(await ask(shop.origin + path)).toEqual([status, code]);
    if (words === undefined) return;
    const page = await shop.browser.open(shop.origin + path);
    expect([page.status, page.text]).toEqual([status, expect.stringContaining(words)]);
    expect(shop.failures).toEqual([]);
  });

  it.each([
    ['', 402, 'This is for customers'],
    ['"<b>', 403, 'does not look like a purchase code'],
    [UNKNOWN, 403, 'does not know this code'],
    ['other-item', 403, 'for another item'],
  ])(
    'the code "%s" is refused with %d next to its field, and named by no error number',
    async (given, status, words) => {
      const shop = await open();
      const purchase_code = given === 'other-item' ? shop.code(given) : given;
      await shop.logIn();
      for (const path of ['/items/1042/redeem', ...(given === 'other-item' ? [] : ['/redeem'])]) {
        const page = await shop.browser.submit(shop.origin + path, { purchase_code });
        expect([page.status, notice(page)]).toEqual([status, expect.stringContaining(words)]);
        expect(page.text).toContain('aria-invalid="true"');
        expect(page.text).not.toMatch(/"<b>|Error \d/);
      }
      expect(shop.failures).toEqual([]);
    },
  );

  it('lets nobody download with the code of somebody else', async () => {
    const shop = await open();
    const code = shop.code('supported');
    await shop.logIn();
    await shop.redeem(code);
    for (const path of ['/items/1042/download', '/items/1042/support']) {
      expect(await ask(shop.origin + path, code)).toEqual([401, 'login_required']);
    }
    const other = new Browser();
    await other.logIn(`${shop.origin}/login`, '3002');
    for (const path of ['/items/1042/redeem', '/redeem']) {
      const refused = await other.submit(shop.origin + path, { purchase_code: code });
      expect([refused.status, notice(refused)]).toEqual([
        403,
        expect.stringContaining('used by another account'),
      ]);
    }
    expect((await other.open(`${shop.origin}/items/1042/download`)).status).toBe(402);
    expect((await shop.page('/items/1042/download')).status).toBe(200);
  });

  it('keeps a redeemed purchase until a refund; it opens its download and no other', async () => {
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

    shop.sandbox.data.refundPurchase(code);
    shop.sandbox.clock.advance(2 * 3_600_000);
    expect((await shop.page('/items/1055/download')).status).toBe(403);
    expect((await shop.page('/account')).text).toContain('Nothing here yet.');
  });

  it.each([
    ['supported', 'Get support', 200],
    ['unsupported', '<a href="/items/1042/renew">Renew it</a>', 403],
  ] as const)('who bought an item %s is offered: %s', async (kind, offer, status) => {
    const shop = await open();
    await shop.logIn();
    await shop.redeem(shop.code(kind));
    expect((await shop.page('/items/1042')).text).toContain(offer);
    expect((await shop.page('/items/1042/support')).status).toBe(status);
    expect((await shop.page('/contact')).text).toContain('mailto:hello@northlight.example');
    const renew = await shop.page('/items/1042/renew');
    expect([heading(renew), renew.text]).toEqual([
      'Renew support for Fjord Light',
      expect.stringContaining('href="https://market.example/items/1042"'),
    ]);
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

it('examples/shop/server.ts names the variables that are missing, and repeats no secret', async () => {
  const running = runExample('shop/server.ts', { MARKETPLACE_API_KEY: 'very-secret' });
  expect(await running.ended).toBe(1);
  expect(running.errors()).toContain('Set MARKETPLACE_BASE_URL, MARKETPLACE_AUTH_URL');
  expect(running.errors()).not.toContain('very-secret');
});
