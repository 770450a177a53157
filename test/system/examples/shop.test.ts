import request from 'supertest';
import { describe, expect, it } from 'vitest';
import type { Visit } from '../../support/browser.js';
import { expressVersions } from '../../support/express-versions.js';
import { openShopExample as open, type ShopExample } from './open-shop-example.js';
import { unzip } from './unzip.js';

const UNKNOWN = 'aaaaaaaa-0000-4000-8000-000000000000';
/** What no page may say of a code when nothing is known of it. */
const READS_AS_INVALID = /invalid|not valid|does not know|wrong code|check that you copied/i;

/** A person goes to a page. Browsers say so in a header that Node's fetch sets to something else. */
const goTo = ({ origin, browser }: Pick<ShopExample, 'origin' | 'browser'>, path: string) =>
  request(origin)
    .get(path)
    .set({ accept: 'text/html', 'sec-fetch-mode': 'navigate', cookie: browser.cookies(origin) });

const heading = ({ text }: Visit): string | undefined => /<h1>([^<]*)<\/h1>/.exec(text)?.[1];

/** What the box above the field says; `undefined` when there is none. */
const notice = ({ text }: Visit): string | undefined =>
  /role="alert">([\s\S]*?)<\/div>/
    .exec(text)?.[1]
    ?.replace(/<[^>]*>/g, ' ')
    .replace(/\s+/g, ' ')
    .trim();

/** A program that asks for JSON. */
const ask = (url: string, headers: Record<string, string> = {}, init: RequestInit = {}) =>
  fetch(url, { redirect: 'manual', ...init, headers: { accept: 'application/json', ...headers } });

const codeOfProblem = async (response: Response): Promise<unknown> =>
  ((await response.json()) as { code?: unknown }).code;

/** A form, as a browser would send it from the page of that origin, with the browser's cookies. */
const post = ({ origin, browser }: ShopExample, path: string, headers: Record<string, string>) =>
  fetch(`${origin}${path}`, {
    method: 'POST',
    redirect: 'manual',
    headers: { accept: 'text/html', cookie: browser.cookies(origin), ...headers },
  });

const logIn = ({ browser, origin }: ShopExample): Promise<Visit> =>
  browser.logIn(`${origin}/login`, '3001');

const redeem = ({ browser, origin }: ShopExample, purchase_code: string): Promise<Visit> =>
  browser.submit(`${origin}/redeem`, { purchase_code });

describe('the shop', () => {
  it.each(expressVersions)('sells on %s', async (_name, express) => {
    const shop = await open({ express });
    const { browser, origin } = shop;
    expect((await browser.open(`${origin}/`)).text).toContain('Fjord Light');
    expect((await logIn(shop)).url).toBe(`${origin}/account`);
    expect((await redeem(shop, UNKNOWN)).status).toBe(403);
    expect((await redeem(shop, shop.code('supported'))).text).toContain('is now yours here');
    const file = await browser.open(`${origin}/items/1042/download`);
    expect(file.headers.get('content-disposition')).toContain('fjord-light');
    await shop.sandbox.close();
    expect((await redeem(shop, shop.code('extended'))).status).toBe(503);
    expect((await browser.submit(`${origin}/logout`, {})).url).toBe(`${origin}/`);
    expect(shop.failures).toMatchObject([{ code: 'service_unavailable' }]);
  });

  describe('catalogue', () => {
    it('shows every item, with picture, category, price and a link', async () => {
      const { browser, origin, sandbox } = await open();
      const page = await browser.open(`${origin}/`);
      expect(page.status).toBe(200);
      const sold = sandbox.data.items.filter(
        (item) => item.workspace === 'northlight' && !item.deleted,
      );
      expect(sold.length).toBeGreaterThan(10);
      for (const { id } of sold) {
        expect(page.text).toContain(`href="/items/${id}"`);
        expect(page.text).toContain(`/media/items/${id}/thumbnail.svg"`);
      }
      expect(page.text).toContain('Stock Footage');
      expect(page.text).toContain('$39.50');
    });

    it('is filtered by category with plain links', async () => {
      const { browser, origin } = await open();
      const page = await browser.open(`${origin}/?category=Music`);
      expect([...page.text.matchAll(/href="\/items\/(\d+)"/g)].map(([, id]) => id).sort()).toEqual([
        '1054',
        '1055',
        '1058',
      ]);
      expect(page.text).toContain('href="/?category=Motion+Graphics"');
      const none = await browser.open(`${origin}/?category=%3Cb%3E`);
      expect(none.text).toContain('There is nothing in this category.');
      expect(none.text).not.toContain('<b>');
    });

    it('shows the preview that an item has: a picture, a film or a sound', async () => {
      const { browser, origin } = await open();
      const previews: [number, RegExp][] = [
        [1042, /<img class="preview"[^>]*preview\.svg"[^>]*alt="Preview of Fjord Light"/],
        [1049, /<video class="preview"[^>]*preview\.webm"/],
        [1055, /<audio class="player"[^>]*preview\.wav"/],
      ];
      for (const [id, preview] of previews) {
        expect((await browser.open(`${origin}/items/${id}`)).text).toMatch(preview);
      }
    });

    it('escapes what the marketplace sends, and links to web addresses only', async () => {
      const { browser, origin } = await open({
        sandbox: {
          seed: {
            items: [
              {
                id: 7,
                workspace: 'northlight',
                kind: 'image',
                name: '<script>alert(1)</script>',
                description: '"><img src=x onerror=alert(1)>',
                category: `"'&`,
                sub_category: '',
                options: [],
                version: '1.0.0',
                demo_link: 'javascript:alert(1)',
                tags: ['<i>'],
                screenshots: 0,
                price: { regular: 5, extended: 50 },
                currency: 'USD',
                published_at: '2024-01-01T00:00:00Z',
              },
            ],
          },
        },
      });
      for (const path of ['/', '/items/7']) {
        const { text, status } = await browser.open(`${origin}${path}`);
        expect(status).toBe(200);
        expect(text).toContain('&lt;script&gt;');
        expect(text).not.toMatch(/<script|<img src=x|<i>|javascript:/);
      }
    });

    it('says that an unknown item is unknown, and that "abc" is no number', async () => {
      const { browser, origin } = await open();
      const unknown = await browser.open(`${origin}/items/9999`);
      expect([unknown.status, heading(unknown)]).toEqual([404, 'We do not have this item']);
      const abc = await browser.open(`${origin}/items/abc`);
      expect([abc.status, heading(abc)]).toEqual([400, 'This is not an item number']);
      const nowhere = await browser.open(`${origin}/nowhere`);
      expect([nowhere.status, heading(nowhere)]).toEqual([404, 'There is no such page']);
    });
  });

  describe('download', () => {
    it('sends a ZIP with the licence to who has the code, from a header or a form', async () => {
      const { browser, origin, code } = await open();
      const url = `${origin}/items/1042/download`;
      const byHeader = await ask(url, { 'x-purchase-code': code('extended') });
      expect(byHeader.status).toBe(200);
      expect(byHeader.headers.get('content-type')).toMatch(/^application\/zip/);
      expect(byHeader.headers.get('content-disposition')).toMatch(
        /^attachment; filename="?fjord-light-2\.3\.1\.zip"?$/,
      );
      const files = unzip(Buffer.from(await byHeader.arrayBuffer()));
      expect([...files.keys()]).toEqual([
        'fjord-light-2.3.1/LICENCE.txt',
        'fjord-light-2.3.1/READ ME.txt',
      ]);
      const licence = files.get('fjord-light-2.3.1/LICENCE.txt');
      expect(licence).toContain('Fjord Light (number 1042)');
      expect(licence).toMatch(/Kind of licence: +Extended/);
      expect(licence).not.toContain(code('extended'));

      // Pasted the way people paste.
      const byForm = await browser.submit(url, { purchase_code: ` ${code('supported')}\u200b ` });
      expect(byForm.status).toBe(200);
      expect(byForm.headers.get('content-disposition')).toContain('fjord-light');
    });

    it('asks for a code: 402, with the form', async () => {
      const { browser, origin, sandbox } = await open();
      const page = await browser.open(`${origin}/items/1042/download`);
      expect(page.status).toBe(402);
      expect(heading(page)).toBe('Fjord Light');
      expect(notice(page)).toContain('This is for customers');
      expect(page.text).toContain('name="purchase_code"');
      const json = await ask(`${origin}/items/1042/download`);
      expect([json.status, await codeOfProblem(json)]).toEqual([402, 'purchase_required']);
      expect(sandbox.requests.map(({ path }) => path)).not.toContain('/api/purchases/validation');
    });

    it('refuses a code: 403, in words, next to the field', async () => {
      const shop = await open();
      const url = `${shop.origin}/items/1042/download`;
      const codes = [
        [UNKNOWN, 'purchase_code_invalid', 'The marketplace does not know this code'],
        ['<b>"x"</b>', 'purchase_code_invalid', 'does not know this code'],
        [shop.code('refunded'), 'purchase_code_invalid', 'refunded'],
        [shop.code('other-item'), 'purchase_item_mismatch', 'This code is for another item'],
      ] as const;
      for (const [code, problem, words] of codes) {
        const page = await shop.browser.submit(url, { purchase_code: code });
        expect([page.status, heading(page)]).toEqual([403, 'Fjord Light']);
        expect(notice(page)).toContain(words);
        expect(page.text).toContain('aria-invalid="true"');
        expect(page.text).not.toContain('<b>"x"');
        const json = await ask(url, { 'x-purchase-code': code });
        expect([json.status, await codeOfProblem(json)]).toEqual([403, problem]);
      }
      expect(shop.failures).toEqual([]);
    });
  });

  describe('login', () => {
    it('leads back to where the visitor was', async () => {
      const { browser, origin } = await open();
      const visit = await browser.logIn(`${origin}/login?to=%2Fitems%2F1042%3Fa%3Db`, '3002');
      expect(visit.url).toBe(`${origin}/items/1042?a=b`);
      expect(visit.text).toContain('Tomás Aguilar Ibáñez');
    });

    it('never leads to another site', async () => {
      const { browser, origin } = await open();
      const visit = await browser.logIn(`${origin}/login?to=%2F%2Fevil.example`);
      expect(visit.url).toBe(`${origin}/account`);
    });

    it('asks whose account it is, where that is configured, and "Not me" logs nobody in', async () => {
      const { browser, origin } = await open({ config: { confirmLogin: true } });
      const page = await browser.logIn(`${origin}/login`, '3001');
      expect(page.text).toContain('Continue as');
      expect(page.text).toContain('mira.solheim');
      const refused = await browser.open(`${page.url}&answer=cancel`);
      expect(refused.status).toBe(401);
      expect((await goTo({ browser, origin }, '/account')).status).toBe(302);
      const again = await browser.logIn(`${origin}/login`, '3001');
      const inside = await browser.open(`${again.url}&answer=continue`);
      expect(inside.url).toBe(`${origin}/account`);
    });

    it('details can be refreshed from the marketplace, and purchases stay', async () => {
      const { browser, origin, sandbox } = await open();
      await browser.logIn(`${origin}/login`, '3001');
      const before = sandbox.requests.filter(({ path }) => path === '/api/get_user_info').length;
      const page = await browser.open(`${origin}/account/refresh`);
      expect(page.url).toBe(`${origin}/account`);
      expect(page.text).toContain('Mira Solheim');
      const after = sandbox.requests.filter(({ path }) => path === '/api/get_user_info').length;
      expect(after).toBe(before + 1);
    });

    it('stands before the account, which then shows the profile', async () => {
      const shop = await open();
      const stopped = await goTo(shop, '/account');
      expect([stopped.status, stopped.headers.location]).toEqual([302, '/login']);
      const { browser, origin } = shop;
      const page = await browser.logIn(`${origin}/login`, '3001');
      expect(page.url).toBe(`${origin}/account`);
      for (const fact of ['Mira Solheim', 'mira.solheim', 'mira@solheim.example', '2 April 2019']) {
        expect(page.text).toContain(fact);
      }
      expect(page.text).toContain('>Verified</span>');
      expect(page.text).toMatch(/<img class="avatar large" src="[^"]*\/media\/users\/3001\//);
    });

    it('that this browser did not start is refused in words and spends nothing', async () => {
      const shop = await open();
      const callback = await shop.browser.logInUpToCallback(`${shop.origin}/login`);
      shop.browser.clearCookies();
      const page = await shop.browser.open(callback);
      expect([page.status, heading(page)]).toEqual([403, 'The login did not work out']);
      expect(page.text).toContain('href="/login"');
      expect(shop.sandbox.requests.map(({ path }) => path)).not.toContain('/api/authorize');
    });

    it('reads as an outage when the marketplace stops half way', async () => {
      const shop = await open();
      const callback = await shop.browser.logInUpToCallback(`${shop.origin}/login`);
      await shop.sandbox.close();
      const page = await shop.browser.open(callback);
      expect([page.status, heading(page)]).toEqual([
        503,
        'We cannot ask the marketplace right now',
      ]);
      expect(shop.failures).toMatchObject([{ code: 'service_unavailable' }]);
    });

    it('starts on the host that the marketplace sends visitors back to', async () => {
      const { browser, origin } = await open({ config: { publicUrl: 'http://shop.test:81' } });
      const response = await browser.get(`${origin}/login?to=%2Faccount`);
      expect(response.headers.get('location')).toBe('http://shop.test:81/login?to=%2Faccount');
    });
  });

  describe('redeeming a code', () => {
    it('keeps the purchase, which then opens its download', async () => {
      const shop = await open();
      await logIn(shop);
      const account = await redeem(shop, shop.code('audio-item'));
      expect(account.url).toBe(`${shop.origin}/account`);
      expect(account.text).toContain('Ember is now yours here.');
      expect(account.text).toContain('Extended');
      expect(account.text).toMatch(/Until <time datetime="\d{4}-/);
      expect(account.text).not.toContain(shop.code('audio-item'));
      const later = await shop.browser.open(`${shop.origin}/account`);
      expect(later.text).not.toContain('is now yours here');
      expect(later.text).toContain('href="/items/1055/download"');
      const item = await shop.browser.open(`${shop.origin}/items/1055`);
      expect(item.text).toContain('Yours to download');
      const file = await shop.browser.open(`${shop.origin}/items/1055/download`);
      expect(file.headers.get('content-disposition')).toContain('ember-1.0.1.zip');
      // And no other.
      const other = await shop.browser.open(`${shop.origin}/items/1042/download`);
      expect(other.status).toBe(402);
    });

    it('with no code or an unknown one says so on the form', async () => {
      const shop = await open();
      await logIn(shop);
      const codes = [
        ['  ', 402, 'This is for customers'],
        [UNKNOWN, 403, 'The marketplace does not know this code'],
      ] as const;
      for (const [code, status, words] of codes) {
        const page = await redeem(shop, code);
        expect([page.status, heading(page)]).toEqual([status, 'Redeem a purchase code']);
        expect(notice(page)).toContain(words);
        expect(page.text).toContain(`value="${code.trim()}"`);
      }
    });

    it('is not for guessing: after ten wrong codes there is a pause, told in words', async () => {
      const shop = await open();
      await logIn(shop);
      const guesses = Array.from({ length: 10 }, (_, index) => `guess-number-${index}`);
      for (const guess of guesses) expect((await redeem(shop, guess)).status).toBe(403);
      const page = await redeem(shop, shop.code('supported'));
      expect([page.status, heading(page)]).toEqual([429, 'Redeem a purchase code']);
      expect(notice(page)).toContain('Too many tries');
      expect(page.text).not.toContain('aria-invalid');
      expect(Number(page.headers.get('retry-after'))).toBeGreaterThan(0);
    });

    it('needs a login: a page leads there, a form is told so', async () => {
      const shop = await open();
      const page = await redeem(shop, shop.code('supported'));
      expect([page.status, heading(page)]).toEqual([401, 'Please log in']);
      const form = await goTo(shop, '/redeem');
      expect([form.status, form.headers.location]).toEqual([302, '/login']);
    });

    it('ends with a refund: a real no takes the purchase away', async () => {
      const shop = await open();
      await logIn(shop);
      await redeem(shop, shop.code('supported'));
      shop.sandbox.data.refundPurchase(shop.code('supported'));
      // Long enough for an answer that was kept to count as old.
      shop.sandbox.clock.advance(2 * 3_600_000);
      const page = await shop.browser.open(`${shop.origin}/items/1042/download`);
      expect(page.status).toBe(403);
      const account = await shop.browser.open(`${shop.origin}/account`);
      expect(account.text).toContain('Nothing here yet.');
    });
  });

  describe('support', () => {
    it('is there while it runs, and says when it is over', async () => {
      const { origin, code } = await open();
      const url = `${origin}/items/1042/support`;
      const get = (kind: string) =>
        fetch(url, { headers: { accept: 'text/html', 'x-purchase-code': code(kind) } });
      const runs = await get('supported');
      expect(runs.status).toBe(200);
      expect(await runs.text()).toContain('mailto:hello@northlight.example');
      const other = await get('other-item');
      expect(other.status).toBe(403);
      expect(await other.text()).toContain('<h1>This code is for another item</h1>');
      for (const kind of ['support-over', 'unsupported']) {
        const over = await get(kind);
        expect(over.status).toBe(403);
        expect(await over.text()).toContain('<h1>Support for this purchase is over</h1>');
      }
    });
  });

  describe('when the marketplace cannot be asked', () => {
    const outages: [string, number, string, (shop: ShopExample) => unknown][] = [
      ['is stopped', 503, 'service_unavailable', ({ sandbox }) => sandbox.close()],
      [
        'answers with a page',
        502,
        'unexpected_response',
        ({ sandbox }) => {
          sandbox.faults.html = true;
        },
      ],
      [
        'has a new api_key',
        500,
        'api_key_rejected',
        ({ sandbox }) => sandbox.data.rotateApiKey('northlight'),
      ],
    ];

    it.each(outages)(
      'because it %s, a code is not called wrong (%d)',
      async (_what, status, code, breakIt) => {
        const shop = await open();
        await logIn(shop);
        await breakIt(shop);
        const page = await redeem(shop, shop.code('supported'));
        expect([page.status, heading(page)]).toEqual([status, 'Redeem a purchase code']);
        expect(notice(page)).toContain('We cannot ask the marketplace right now');
        expect(notice(page)).toContain('may well be fine');
        expect(page.text).not.toMatch(READS_AS_INVALID);
        expect(page.text).not.toContain('aria-invalid');
        // What was pasted is still there for the next try.
        expect(page.text).toContain(`value="${shop.code('supported')}"`);
        expect(shop.failures).toMatchObject([{ code }]);

        const file = await shop.browser.submit(`${shop.origin}/items/1042/download`, {
          purchase_code: shop.code('extended'),
        });
        expect(file.status).toBe(status);
        expect(file.text).toContain('We cannot ask the marketplace right now');
        expect(file.text).not.toMatch(READS_AS_INVALID);
        const json = await ask(`${shop.origin}/items/1042/download`, {
          'x-purchase-code': UNKNOWN,
        });
        expect([json.status, await codeOfProblem(json)]).toEqual([status, code]);
      },
    );

    it('the catalogue says so, and what was redeemed stays', async () => {
      const shop = await open();
      await logIn(shop);
      await redeem(shop, shop.code('supported'));
      await shop.sandbox.close();
      const front = await shop.browser.open(`${shop.origin}/`);
      expect([front.status, heading(front)]).toEqual([
        503,
        'We cannot ask the marketplace right now',
      ]);
      const account = await shop.browser.open(`${shop.origin}/account`);
      expect(account.status).toBe(200);
      expect(account.text).toContain('Fjord Light');
    });
  });

  describe('forms', () => {
    it('from elsewhere are refused', async () => {
      const shop = await open();
      await logIn(shop);
      const elsewhere: Record<string, string>[] = [
        { 'sec-fetch-site': 'cross-site' },
        { 'sec-fetch-site': 'same-site' },
        { origin: 'https://evil.example' },
        { origin: 'null' },
      ];
      for (const headers of elsewhere) {
        const response = await post(shop, '/logout', headers);
        expect(response.status).toBe(403);
        expect(await response.text()).toContain('This form was sent from another site');
      }
      const account = await shop.browser.open(`${shop.origin}/account`);
      expect(account.url).toBe(`${shop.origin}/account`);
    });

    it('from here log out, which a link cannot', async () => {
      const shop = await open();
      await logIn(shop);
      expect((await shop.browser.open(`${shop.origin}/logout`)).status).toBe(404);
      const stays = await shop.browser.get(`${shop.origin}/account`);
      expect(stays.status).toBe(200);
      const response = await post(shop, '/logout', {
        'sec-fetch-site': 'same-origin',
        origin: shop.origin,
      });
      expect([response.status, response.headers.get('location')]).toEqual([303, '/']);
      // That session is over, also for who kept its cookie.
      const account = await goTo(shop, '/account');
      expect([account.status, account.headers.location]).toEqual([302, '/login']);
    });

    it('log out for good: the marketplace, which still knows the visitor, is not asked unseen', async () => {
      const shop = await open();
      await logIn(shop);
      const front = await shop.browser.submit(`${shop.origin}/logout`, {});
      expect(front.text).toContain('href="/login?to=%2F"');
      const account = await goTo(shop, '/account');
      expect([account.status, account.headers.location]).toEqual([401, undefined]);
      expect(account.text).toContain('<h1>Please log in</h1>');
      const again = await logIn(shop);
      expect(again.url).toBe(`${shop.origin}/account`);
    });

    it('that are too long or broken are refused in words', async () => {
      const shop = await open();
      const long = await shop.browser.submit(`${shop.origin}/items/1042/download`, {
        purchase_code: 'a'.repeat(20_000),
      });
      expect([long.status, heading(long)]).toEqual([413, 'We could not read that']);
      expect(shop.failures).toEqual([]);
    });
  });

  describe('headers', () => {
    it('allow pictures of the marketplace, no script, and no copy in any cache', async () => {
      const { browser, origin, sandbox } = await open({
        config: { mediaOrigins: ['https://cdn.example'] },
      });
      const { headers, text } = await browser.open(`${origin}/`);
      const picture = new URL(/src="(http[^"]*thumbnail[^"]*)"/.exec(text)?.[1] ?? '').origin;
      const policy = headers.get('content-security-policy');
      expect(policy).toContain("default-src 'none'");
      expect(policy).toContain(`img-src 'self' ${picture} https://cdn.example`);
      expect(policy).not.toMatch(/script-src|unsafe|\*/);
      expect(headers.get('cache-control')).toBe('no-store');
      expect(headers.get('x-content-type-options')).toBe('nosniff');
      expect(headers.get('x-powered-by')).toBeNull();
      expect(headers.get('set-cookie')).toBeNull();
      expect(sandbox.requests.length).toBeGreaterThan(0);
    });

    it('keep the session cookie out of scripts and of other sites', async () => {
      const { browser, origin } = await open();
      const response = await browser.get(`${origin}/login`);
      const cookie = response.headers.getSetCookie().join();
      expect(cookie).toMatch(/^shop=/);
      expect(cookie).toContain('HttpOnly');
      expect(cookie).toContain('SameSite=Lax');
    });

    it('keep it on https in production, behind a proxy', async () => {
      const { browser, origin } = await open({ config: { production: true } });
      const behindProxy = await browser.get(`${origin}/login`, { 'x-forwarded-proto': 'https' });
      expect(behindProxy.headers.getSetCookie().join()).toMatch(/^__Host-shop=.*; Secure/);
      expect(behindProxy.headers.get('strict-transport-security')).toContain('max-age');
      const plain = await browser.get(`${origin}/login`);
      expect(plain.headers.getSetCookie()).toEqual([]);
    });
  });
});
