import { MarketgateError, MemoryTokenStore, type Site } from 'marketgate';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import {
  confirmationOf,
  fakeLoginApi,
  isAsked,
  type OpenLogin,
  openLogin,
  success,
  user,
} from '../../support/strategy-harness.js';
import { userInfo } from '../../support/wire.js';

const refused = ['fail', expect.objectContaining({ code: 'login_failed' }), 403];

/** The id of a login that no browser holds. */
const MADE_UP = 'a'.repeat(22);

type Headers = Record<string, string>;

const from = (site: string, dest = 'document', mode = 'navigate'): Headers => ({
  'sec-fetch-site': site,
  'sec-fetch-dest': dest,
  'sec-fetch-mode': mode,
});

describe.each(['session', 'cookie'] as const)('with attempts in a %s', (where) => {
  /** Starts logins with these headers, and comes back. */
  async function comeBack(starts: Headers[], headers: Headers = {}, options: OpenLogin = {}) {
    const login = openLogin({ where, ...options });
    for (const each of starts) await login.start({}, { headers: each });
    const { outcome } = await login.comeBack('k1', { headers });
    return { outcome, ...login };
  }

  const HERE = [from('same-origin')];
  it.each<[string, Headers[], asks: boolean, Headers?]>([
    ['begun by a link on a page of this site', HERE, false],
    ['begun by the address bar or a bookmark', [from('none')], false],
    ['begun by a browser that does not say', [{}], false],
    ['begun by a page of another site', [from('cross-site')], true],
    ['begun by a page of another origin on the same site', [from('same-site')], true],
    ['begun by a service worker that passes it on', [from('same-origin', 'empty')], false],
    ['that another site sends through one', [from('cross-site', 'empty')], true],
    ['begun by another site and then here', [from('cross-site'), ...HERE], true],
    ['begun by the visitor and then elsewhere', [from('none'), from('cross-site')], true],
    ['that comes back through a service worker', HERE, false, from('cross-site', 'empty')],
  ])("a login %s is asked about with 'auto': %j, %s", async (_name, starts, asks, back) => {
    const { outcome } = await comeBack(starts, back ?? from('cross-site'));
    if (asks) expect(outcome).toSatisfy(isAsked);
    else expect(outcome).toEqual(success);
  });

  it.each<[string, Headers]>([
    ['a fetch', from('same-origin', 'empty', 'cors')],
    ['a fetch that sends no mode', { 'sec-fetch-dest': 'empty' }],
    ['XMLHttpRequest', { 'x-requested-with': 'XMLHttpRequest' }],
    ['an image', from('same-origin', 'image', 'no-cors')],
    ['a frame', from('same-origin', 'iframe')],
    ['an <object>', from('same-site', 'object')],
    ['what is sent without CORS', { 'sec-fetch-mode': 'no-cors' }],
    ['a prefetch', { 'sec-purpose': 'prefetch;prerender' }],
    ['a prefetch of Next.js', { ...from('same-origin', 'empty'), 'next-router-prefetch': '1' }],
  ])('%s begins no login and spends nothing, and says so', async (_name, headers) => {
    const refusal = ['error', { code: 'login_failed', status: 401 }];
    const login = openLogin({ where, confirm: false });
    const { outcome } = await login.start({}, { headers });
    expect(outcome).toMatchObject(refusal);
    expect(String(outcome?.[1])).toMatch(/the start of a login .* only the browser's window/);
    expect([login.session, login.browser.cookies]).toEqual([{}, {}]);
    await login.start();
    for (const more of [{}, { user }]) {
      expect((await login.comeBack('strangers', { headers, ...more })).outcome).toMatchObject(
        refusal,
      );
    }
    expect((await login.comeBack('own')).outcome).toEqual(success);
    expect(login.exchanged).toEqual(['own']);
  });

  it.each([
    ['false', false, [false, false]],
    ['true', true, [true, true]],
    ['a page of the app', { render: () => {} }, [false, true]],
  ] as const)('confirm %s asks about logins of this and of another site: %j', async (...row) => {
    const [, confirm, asks] = row;
    for (const [i, site] of ['same-origin', 'cross-site'].entries()) {
      expect(isAsked((await comeBack([from(site)], {}, { confirm })).outcome)).toBe(asks[i]);
    }
  });

  describe('the page', () => {
    function open(options: OpenLogin = {}) {
      const tokenStore = new MemoryTokenStore({ clock: () => 0 });
      const login = openLogin({ where, confirm: true, tokenStore, ...options });
      const answer = async (id: string, given = 'continue', more?: object) =>
        (await login.visit({ marketgate: id, answer: given }, more)).outcome;
      return { ...login, answer, tokenStore };
    }

    it('shows whose account it is, before anybody is logged in', async () => {
      const { visit, upToThePage, tokenStore } = open();
      const set = vi.spyOn(tokenStore, 'set');
      const { recorded, res, isFresh } = await visit({ marketgate: await upToThePage() });
      expect(recorded.map(([name]) => name)).toEqual(['page']);
      expect(res.body).toContain('Continue as <bdi>Mira Okafor</bdi>?');
      expect(res.body).toContain('<bdi>mira</bdi>');
      expect([res.statusCode, isFresh]).toEqual([200, false]);
      expect(res.headers).toMatchObject({
        'cache-control': 'no-store',
        'content-security-policy': expect.stringContaining("frame-ancestors 'none'"),
        'content-type': 'text/html; charset=utf-8',
        'referrer-policy': 'no-referrer',
        'x-content-type-options': 'nosniff',
        'x-frame-options': 'DENY',
      });
      expect(res.body).not.toContain('token-1');
      // Nothing waits where somebody else could write.
      expect(set).not.toHaveBeenCalled();
    });

    it('can be reloaded, and "Continue" logs in, once', async () => {
      const { visit, answer, upToThePage, tokenStore, exchanged, keepCopy } = open();
      const id = await upToThePage({ returnTo: '/account' });
      for (let i = 0; i < 2; i++) await visit({ marketgate: id });
      const putCopyBack = keepCopy();
      expect(await visit({ marketgate: id, answer: 'continue' })).toMatchObject({
        recorded: [success],
        to: '/account',
        isFresh: true,
      });
      expect((await tokenStore.get('77'))?.value).toBe('token-1');
      expect(exchanged).toEqual(['k1']);
      // The second press of a browser that is logged in is passed on.
      const again = await visit({ marketgate: id, answer: 'continue' }, { user });
      expect(again).toMatchObject({ recorded: [['pass']], to: '/account', isFresh: false });
      const options = { successReturnToOrRedirect: '/home' };
      const { outcome } = await visit({ marketgate: id, answer: 'continue' }, { user }, options);
      expect(outcome).toEqual(['redirect', '/account']);
      putCopyBack();
      expect(await answer(id, 'continue', { headers: { cookie: 'seen=1' } })).toEqual(refused);
    });

    it('comes again where its auth_key comes again, for nobody else, and is answered, in any process', async () => {
      const here = open();
      const { browser, session } = here;
      const there = open({ browser, session });
      const id = await here.upToThePage();
      for (const [i, { comeBack }] of [here, there].entries()) {
        expect(confirmationOf((await comeBack('k1')).outcome)).toBe(id);
        expect((await comeBack(`others ${i}`)).outcome).toEqual(refused);
      }
      expect((await open().comeBack('k1')).outcome).toEqual(refused);
      expect(await there.answer(id)).toEqual(success);
      expect(here.exchanged).toEqual(['k1']);
    });

    it.each(['cross-site', 'same-site'])(
      'takes no answer that a page %s has sent, and then the visitor’s own',
      async (site) => {
        const { answer, upToThePage } = open();
        const id = await upToThePage();
        for (const given of ['continue', 'cancel']) {
          expect(await answer(id, given, { headers: from(site) })).toEqual(refused);
        }
        const own = { headers: from('same-origin') };
        expect(await answer(id, 'continue', own)).toEqual(success);
      },
    );

    it('logs nobody in after "Not me", also in a browser that still has the login', async () => {
      const { answer, upToThePage, tokenStore, keepCopy } = open();
      const id = await upToThePage();
      const putCopyBack = keepCopy();
      const why = { code: 'login_failed', message: expect.stringContaining('nobody') };
      expect(await answer(id, 'cancel')).toEqual(['fail', expect.objectContaining(why), 401]);
      expect(await answer(id)).toEqual(refused);
      putCopyBack();
      expect(await answer(id)).toEqual(refused);
      expect(await tokenStore.get('77')).toBeUndefined();
    });

    it('takes "Continue" also after one that failed with the service or the store', async () => {
      const getUser = vi.fn(async () => userInfo);
      const { answer, upToThePage, tokenStore } = open({ api: { getUser } });
      const id = await upToThePage();
      getUser.mockRejectedValueOnce(new MarketgateError('service_unavailable', 'down'));
      vi.spyOn(tokenStore, 'set').mockRejectedValueOnce(new Error('down'));
      for (let i = 0; i < 2; i++) {
        expect(await answer(id)).toMatchObject(['error', { status: 503 }]);
      }
      expect(await answer(id)).toEqual(success);
    });

    it('takes no answer from another browser, or to a made-up login', async () => {
      const id = await open().upToThePage();
      const stranger = open();
      const own = await stranger.upToThePage({}, 'k2');
      for (const other of [id, MADE_UP]) {
        expect((await stranger.visit({ marketgate: other })).outcome).toEqual(refused);
        const ofUser = await stranger.visit({ marketgate: other }, { user });
        expect(ofUser).toMatchObject({ outcome: ['pass'], to: undefined });
        for (const given of ['continue', 'cancel']) {
          expect(await stranger.answer(other, given)).toEqual(refused);
        }
      }
      expect((await stranger.answer(own, 'perhaps'))?.[0]).toBe('page');
      expect(await stranger.answer(own)).toEqual(success);
    });

    it('is there for each login that waits, one that waits is no attempt, and the first answer ends all', async () => {
      const { start, comeBack, upToThePage, answer, exchanged } = open();
      await start();
      const first = await upToThePage();
      const second = confirmationOf((await comeBack('k2')).outcome);
      expect((await comeBack('k3')).outcome).toEqual(refused);
      expect(exchanged).toEqual(['k1', 'k2']);
      expect((await answer(first, 'perhaps'))?.[0]).toBe('page');
      expect(await answer(second)).toEqual(success);
      expect(await answer(first)).toEqual(refused);
    });

    it.each([
      ['after ten minutes', 600_000, 3_600_000],
      ['when the token has ended', 100_000, 100_000],
    ])('logs nobody in %s', async (_name, at, expiresAt) => {
      let now = 0;
      const exchange = async () => ({ value: 't', issuedAt: 0, expiresAt });
      const { answer, upToThePage } = open({ clock: () => now, api: { exchange } });
      const id = await upToThePage();
      now = at;
      expect(await answer(id)).toEqual(refused);
    });
  });
});

const nameless = { user_firstname: undefined, user_lastname: undefined };
it.each<[string, object, string, string]>([
  ['without a name', nameless, 'mira', 'mira'],
  ['without any name', { ...nameless, user_name: undefined }, '77', '77'],
  ['with markup', { ...nameless, user_firstname: '<script>' }, '&lt;script&gt;', 'mira'],
  [
    'with a long name, of which no letter is cut in two,',
    { ...nameless, user_name: `x${'\u{1f980}'.repeat(120)}` },
    `x${'\u{1f980}'.repeat(49)}`,
    `x${'\u{1f980}'.repeat(49)}`,
  ],
])('the page of a user %s shows what there is', async (_name, given, name, username) => {
  const getUser = async () => ({ ...userInfo, ...given });
  const { visit, upToThePage } = openLogin({ confirm: true, api: { getUser } });
  const { body } = (await visit({ marketgate: await upToThePage() })).res;
  expect(body).toContain(`Continue as <bdi>${name}</bdi>?`);
  expect(body).toContain(`User name <strong><bdi>${username}</bdi>`);
});

it('a page of the app gets whose login it is and where to answer, and its rejection is an error', async () => {
  const render = vi.fn().mockRejectedValue(new Error('no template'));
  const { visit, upToThePage } = openLogin({ confirm: { ask: true, render } });
  const id = await upToThePage();
  const { outcome, req, res } = await visit({ marketgate: id });
  expect(outcome).toEqual(['error', new Error('no template')]);
  const form = { action: `?marketgate=${id}`, fields: { marketgate: id } };
  const asked = { name: 'Mira Okafor', username: 'mira', change: 'login', ...form };
  expect(render).toHaveBeenCalledExactlyOnceWith(asked, req, res);
});

it.each([
  ...['', '1', [MADE_UP]].map((marketgate) => ({ marketgate, answer: 'continue' })),
  { confirm: MADE_UP, answer: 'continue' },
  { filter: { price: '1' } },
])('what the app has in the query, %j, starts a login', async (query) => {
  const { outcome } = await openLogin().visit(query);
  expect(outcome?.[0]).toBe('redirect');
});

const SITE = {
  ...{ name: 'Ada’s shop', logo: 'https://cdn.example/logo.svg' },
  words: { continue: { title: 'Weiter als {name}?', button: 'Weiter' } },
};

const pageOf = async (options: OpenLogin) => {
  const { visit, upToThePage } = openLogin({ confirm: true, ...options });
  return (await visit({ marketgate: await upToThePage() })).res;
};

it('the page belongs to the site of the strategy, and loads its logo alone', async () => {
  const { body, headers } = await pageOf({ site: SITE });
  const title = 'Weiter als <bdi>Mira Okafor</bdi>?';
  for (const part of ['Ada’s shop', `<img src="${SITE.logo}"`, title, '>Weiter<', 'Not me']) {
    expect(body).toContain(part);
  }
  const policy = headers['content-security-policy'];
  expect(policy).toMatch(
    /default-src 'none'.*img-src https:\/\/cdn\.example\/logo\.svg; script-src 'sha256/,
  );
  expect(() => openLogin({ site: { logo: 'javascript:x' } })).toThrow(
    /^MarketplaceStrategy: .*site\.logo/,
  );
});

it('the page of a strategy without a site belongs to that of the error handlers, if all have the same', async () => {
  // Their site belongs to the process, which test files share.
  vi.resetModules();
  onTestFinished(() => void vi.resetModules());
  const fresh = await import('marketgate');
  const page = async (site?: Site) => {
    const options = { loginApi: fakeLoginApi().loginApi, confirm: true, site };
    const strategy = new fresh.MarketplaceStrategy(options, async () => user);
    return (await pageOf({ strategy })).body;
  };
  expect(await page()).toContain('Continue as');
  fresh.errorHandler({ site: SITE });
  expect(await page()).toContain('Weiter als');
  expect(await page({})).toContain('Continue as');
  fresh.errorHandler({ site: { name: 'Another' } });
  expect(await page()).toContain('Continue as');
});
