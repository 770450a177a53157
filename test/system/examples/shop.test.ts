import { describe, expect, it } from 'vitest';
import { Browser, type Visit } from '../../support/browser.js';
import { openShopExample as open, type ShopExample } from './open-shop-example.js';
import { runExample } from './run-example.js';

const UNKNOWN = 'aaaaaaaa-0000-4000-8000-000000000000';
const HOUR = 3_600_000;

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
  it('allows media of the marketplace, no script, and no copy in a cache', async () => {
    const { page, baseUrl } = await open();
    const { headers } = await page('/');
    const policy = headers.get('content-security-policy');
    expect(policy).toContain(`default-src 'none'; style-src 'self'; img-src 'self' ${baseUrl};`);
    expect(policy).not.toMatch(/script-src|unsafe|\*/);
    expect(headers.get('cache-control')).toBe('no-store');
    expect(headers.get('set-cookie')).toBeNull();
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

  it('refuses in words, and programs by a code', async () => {
    const { origin, page, failures } = await open();
    for (const [path, status, code, words] of [
      ['/nowhere', 404, undefined, 'There is no such page'],
      ['/items/9999', 404, 'item_not_found', 'We do not have this item'],
      ['/items/abc', 400, 'item_id_invalid', 'This is not an item number'],
      ['/items/1042/download', 401, 'login_required', 'Please log in'],
    ] as const) {
      expect(await ask(origin + path)).toEqual([status, code]);
      if (status !== 401) expect((await page(path)).text).toContain(words);
    }
    expect(failures).toEqual([]);
  });

  it('says next to the field what is wrong with a code, and takes a copied one with blanks', async () => {
    const { browser, origin, code, page, logIn, redeem, failures } = await open();
    expect((await page('/items/1042')).text).toContain('href="/login?to=%2Fitems%2F1042"');
    await logIn();
    const redeemHere = (purchase_code: string) =>
      browser.submit(`${origin}/items/1042/redeem`, { purchase_code });
    for (const [given, status, words] of [
      ['', 402, 'This is for customers'],
      ['"<b>', 403, 'does not look like a purchase code'],
      [UNKNOWN, 403, 'does not know this code'],
      [code('other-item'), 403, 'for another item'],
    ] as const) {
      const page = await redeemHere(given);
      expect([page.status, notice(page)]).toEqual([status, expect.stringContaining(words)]);
      expect(page.text).toContain('aria-invalid="true"');
      expect(page.text).not.toMatch(/"<b>|Error \d/);
    }
    expect(notice(await redeem(UNKNOWN))).toContain('does not know this code');
    const redeemed = await redeemHere(` ${code('extended')}\u200b `);
    expect([redeemed.url, redeemed.status]).toEqual([`${origin}/items/1042`, 200]);
    expect(redeemed.text).toContain('was added to your account');
    expect([notice(redeemed), failures]).toEqual(['', []]);
    const licence = await page('/items/1042/download');
    expect(licence.text).toMatch(/^Item: Fjord Light \(1042\)\nLicence: Extended\n/);
    expect(licence.headers.get('content-disposition')).toContain('licence-1042.txt');
  });

  it('lets nobody download with the code of somebody else', async () => {
    const { origin, code, logIn, redeem, page } = await open();
    const mine = code('supported');
    await logIn();
    await redeem(mine);
    for (const path of ['/items/1042/download', '/items/1042/support']) {
      expect(await ask(origin + path, mine)).toEqual([401, 'login_required']);
    }
    const other = new Browser();
    await other.logIn(`${origin}/login`, '3002');
    for (const path of ['/items/1042/redeem', '/redeem']) {
      const refused = await other.submit(origin + path, { purchase_code: mine });
      expect([refused.status, notice(refused)]).toEqual([
        403,
        expect.stringContaining('used by another account'),
      ]);
    }
    expect((await other.open(`${origin}/items/1042/download`)).status).toBe(402);
    expect((await page('/items/1042/download')).status).toBe(200);
  });

  it('keeps a redeemed purchase until a refund; it opens its download and no other', async () => {
    const { origin, code, page, logIn, redeem, sandbox } = await open();
    const ember = code('audio-item');
    await logIn();
    const account = await redeem(ember);
    expect(account.url).toBe(`${origin}/account`);
    expect(account.text).toContain('Ember was added to your account.');
    expect(account.text).not.toContain(ember);
    expect((await page('/items/1055')).text).toContain('Yours to download');
    expect((await page('/items/1055/download')).text).toContain('Licence: Extended');
    expect((await page('/items/1042/download')).status).toBe(402);

    sandbox.data.refundPurchase(ember);
    sandbox.clock.advance(2 * HOUR);
    expect((await page('/items/1055/download')).status).toBe(403);
    expect((await page('/account')).text).toContain('Nothing here yet.');
  });

  it('gives support while it is paid for, and then offers to renew it', async () => {
    const { page, code, logIn, redeem, sandbox } = await open();
    await logIn();
    await redeem(code('supported'));
    expect((await page('/items/1042')).text).toContain('Get support');
    expect((await page('/items/1042/support')).status).toBe(200);
    sandbox.clock.advance(2 * 365 * 24 * HOUR);
    await logIn();
    await redeem(code('supported'));
    expect((await page('/items/1042')).text).toContain('<a href="/items/1042/renew">Renew it</a>');
    expect((await page('/items/1042/support')).status).toBe(403);
    const renewal = (await page('/items/1042/renew')).text;
    expect(renewal).toContain('href="https://market.example/items/1042"');
  });

  it.each<[string, number, string, (shop: ShopExample) => unknown]>([
    ['is stopped', 503, 'service_unavailable', ({ sandbox }) => sandbox.close()],
    [
      'has a new api_key',
      ...([500, 'api_key_rejected'] as const),
      ({ sandbox }) => sandbox.data.rotateApiKey('northlight'),
    ],
  ])('calls no code wrong when the marketplace %s', async (_what, status, error, breakIt) => {
    const shop = await open();
    await shop.logIn();
    await shop.redeem(shop.code('supported'));
    await breakIt(shop);
    const page = await shop.redeem(shop.code('extended'));
    expect([page.status, notice(page)]).toEqual([
      status,
      expect.stringContaining('may well be fine'),
    ]);
    expect(page.text).not.toMatch(/invalid|does not know|check that you copied/i);
    // The code is still in the field.
    expect(page.text).toContain(`value="${shop.code('extended')}"`);
    expect(shop.failures).toMatchObject([{ code: error }]);
    expect((await shop.page('/items/1042/download')).status).toBe(200);
  });

  it('takes forms of its own pages only', async () => {
    const { origin } = await open();
    const logout = async (headers: Record<string, string>) =>
      (await fetch(`${origin}/logout`, { method: 'POST', redirect: 'manual', headers })).status;
    expect(await logout({ 'sec-fetch-site': 'same-origin' })).toBe(303);
    for (const site of ['cross-site', 'same-site']) {
      expect(await logout({ 'sec-fetch-site': site })).toBe(403);
    }
    for (const other of ['https://evil.example', 'null']) {
      expect(await logout({ origin: other })).toBe(403);
    }
  });

  it.each([
    [false, 'http', /^shop=.*HttpOnly; SameSite=Lax/],
    [true, 'https', /^__Host-shop=.*; Secure/],
    [true, 'http', /^$/],
  ])('in production %s, visited by %s, has the cookie %s', async (production, proto, cookie) => {
    const { browser, origin } = await open({ production });
    const { headers } = await browser.get(`${origin}/login`, { 'x-forwarded-proto': proto });
    expect(headers.getSetCookie().join()).toMatch(cookie);
  });
});

it('examples/shop/server.ts names the variables that are missing, and repeats no secret', async () => {
  const running = runExample('shop/server.ts', { MARKETPLACE_API_KEY: 'very-secret' });
  expect(await running.ended).toBe(1);
  expect(running.errors()).toContain('Set MARKETPLACE_BASE_URL, MARKETPLACE_AUTH_URL');
  expect(running.errors()).not.toContain('very-secret');
});
