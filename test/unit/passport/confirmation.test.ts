import { MarketgateError, MemoryTokenStore } from 'marketgate';
import { describe, expect, it, vi } from 'vitest';
import { logIn, openLogin, type Recorded } from '../../support/strategy-harness.js';
import { userInfo } from '../../support/wire.js';

const user = { id: '77' };
const success = ['success', user, {}];
const refused = ['fail', expect.objectContaining({ code: 'login_failed' }), 403];

/** The id of an attempt that no browser holds. */
const MADE_UP = 'a'.repeat(22);

type Headers = Record<string, string>;

const from = (site: string, dest = 'document', mode = 'navigate'): Headers => ({
  'sec-fetch-site': site,
  'sec-fetch-dest': dest,
  'sec-fetch-mode': mode,
});

const isAsked = (outcome: Recorded | undefined): boolean =>
  outcome?.[0] === 'redirect' && /\/callback\?confirm=/.test(String(outcome[1]));

describe.each(['session', 'cookie'] as const)('with attempts in a %s', (where) => {
  describe("confirm: 'auto'", () => {
    function open(options: Parameters<typeof openLogin>[0] = {}) {
      const login = openLogin({ where, ...options });
      return {
        ...login,
        start: async (headers: Headers) => (await login.start({}, { headers })).outcome,
        comeBack: async (key = 'k1', headers = from('cross-site'), more = {}) =>
          (await login.comeBack(key, { headers, ...more })).outcome,
      };
    }

    it.each<[string, Headers]>([
      ['a link on a page of this site', from('same-origin')],
      ['a form on a page of this site', { ...from('same-origin'), origin: 'https://app.example' }],
      ['the address bar or a bookmark', from('none')],
      ['a browser that does not say', {}],
      ['a browser that says nothing useful', { 'sec-fetch-site': '', 'sec-fetch-dest': '' }],
    ])('a login begun by %s is not asked about', async (_name, headers) => {
      const { start, comeBack } = open();
      await start(headers);
      expect(await comeBack()).toEqual(success);
    });

    it.each<[string, Headers]>([
      ['a page of another site', from('cross-site')],
      ['a page of another origin on the same site', from('same-site')],
      ['a value that does not exist yet', from('somewhere')],
      ['capitals', from('Cross-Site')],
      ['an image', from('same-origin', 'image', 'no-cors')],
      ['a frame of this site', from('same-origin', 'iframe')],
      ['a fetch', from('same-origin', 'empty', 'cors')],
      ['a service worker that passes the navigation on', from('same-origin', 'empty')],
      ['a script that was typed', from('none', 'script', 'no-cors')],
      ['another site, where the browser sends nothing else', { 'sec-fetch-site': 'cross-site' }],
      ['an image, where the browser sends nothing else', { 'sec-fetch-dest': 'image' }],
    ])('a login begun by %s is asked about', async (_name, headers) => {
      const { start, comeBack } = open();
      await start(headers);
      expect(await comeBack()).toSatisfy(isAsked);
    });

    it.each([
      ['first', [from('cross-site'), from('same-origin')]],
      ['last', [from('same-origin'), from('cross-site')]],
      ['in between', [from('none'), from('cross-site'), from('none')]],
    ])('one foreign login among several, begun %s, makes the next ask', async (_name, starts) => {
      const { start, comeBack } = open();
      for (const headers of starts) await start(headers);
      expect(await comeBack()).toSatisfy(isAsked);
    });

    it.each(['iframe', 'frame'])('a callback in an %s is asked about', async (dest) => {
      const { start, comeBack } = open();
      await start(from('same-origin'));
      expect(await comeBack('k1', from('same-site', dest))).toSatisfy(isAsked);
    });

    it.each<[string, Headers]>([
      ['an image', from('same-site', 'image', 'no-cors')],
      ['a script', from('same-origin', 'script', 'no-cors')],
      ['a fetch', from('same-origin', 'empty', 'cors')],
      ['a fetch that sends no mode', { 'sec-fetch-dest': 'empty' }],
      ['an <object>', from('same-site', 'object')],
      ['an <embed>', from('same-site', 'embed')],
      ['a style sheet', from('cross-site', 'style', 'no-cors')],
    ])('a callback as %s spends nothing, whatever confirm says', async (_name, headers) => {
      for (const confirm of ['auto', true, false] as const) {
        const { start, comeBack, exchanged } = open({ confirm });
        await start(from('same-origin'));
        for (const more of [{}, { user }]) {
          const error = expect.objectContaining({ code: 'login_failed', status: 401 });
          expect(await comeBack('strangers', headers, more)).toEqual(['error', error]);
        }
        // The visitor's own login goes on.
        await comeBack('own');
        expect(exchanged).toEqual(['own']);
      }
    });

    it('a callback that a service worker passes on is a navigation', async () => {
      const { start, comeBack } = open();
      await start(from('same-origin'));
      expect(await comeBack('k1', from('cross-site', 'empty'))).toEqual(success);
    });

    it.each([
      ['false asks nobody', false, [false, false]],
      ['true asks everybody', true, [true, true]],
      ['the same in an object', { ask: true }, [true, true]],
      ['an own page is only asked for where it must be', { render: () => {} }, [false, true]],
    ] as const)('%s', async (_name, confirm, expected) => {
      for (const [i, site] of ['same-origin', 'cross-site'].entries()) {
        const { start, comeBack } = open({ confirm });
        await start(from(site));
        expect(isAsked(await comeBack())).toBe(expected[i]);
      }
    });
  });

  describe('confirm: true', () => {
    function open(options: Parameters<typeof openLogin>[0] = {}) {
      const tokenStore = new MemoryTokenStore({ clock: () => 0 });
      const login = openLogin({ where, confirm: true, tokenStore, ...options });
      const answer = (confirm: string, given = 'continue', more?: object) =>
        login.visit({ confirm, answer: given }, more);
      return { ...login, answer, tokenStore };
    }

    it('shows whose account it is, before anybody is logged in', async () => {
      const { visit, upToThePage, tokenStore } = open();
      const { recorded, res, isFresh } = await visit({ confirm: await upToThePage() });
      expect(recorded.map(([name]) => name)).toEqual(['page']);
      for (const text of [
        'Continue as <bdi>Mira Okafor</bdi>?',
        '<bdi>mira</bdi>',
        '<title>Continue as Mira Okafor?</title>',
      ]) {
        expect(res.body).toContain(text);
      }
      expect(res.body).toMatch(/<style>[^<]*color-scheme[^<]*<\/style>/);
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
      expect(await tokenStore.get('77')).toBeUndefined();
    });

    it.each(['GET', 'POST'])(
      'the page can be reloaded, and "Continue" by %s logs in, once',
      async (method) => {
        const { visit, answer, upToThePage, tokenStore, exchanged, session, browser } = open();
        const confirm = await upToThePage({ returnTo: '/account' });
        for (let i = 0; i < 2; i++) await visit({ confirm });
        const copies = [{ ...session }, { ...browser.cookies }];
        expect(await answer(confirm, 'continue', { method })).toMatchObject({
          recorded: [success],
          to: '/account',
          isFresh: true,
        });
        expect((await tokenStore.get('77'))?.value).toBe('token-1');
        expect(exchanged).toEqual(['k1']);
        // The second press of a browser that is logged in is passed on.
        for (const query of [{ confirm }, { confirm, answer: 'continue' }]) {
          const passed = await visit(query, { user });
          expect(passed).toMatchObject({ recorded: [['pass']], isFresh: false });
        }
        Object.assign(session, copies[0]);
        Object.assign(browser.cookies, copies[1]);
        expect((await answer(confirm)).outcome).toEqual(refused);
      },
    );

    it.each(['cross-site', 'same-site', 'somewhere'])(
      'an answer that a page %s has sent does not count, and the visitor’s own does',
      async (site) => {
        const { answer, upToThePage } = open();
        const confirm = await upToThePage();
        for (const given of ['continue', 'cancel']) {
          expect((await answer(confirm, given, { headers: from(site) })).outcome).toEqual(refused);
        }
        const own = { headers: from('same-origin') };
        expect((await answer(confirm, 'continue', own)).outcome).toEqual(success);
      },
    );

    it('"Not me" logs nobody in, and ends the login, also for a browser that still has it', async () => {
      const { answer, upToThePage, tokenStore, browser, session } = open();
      const confirm = await upToThePage();
      const held = [{ ...session }, { ...browser.cookies }];
      const { outcome } = await answer(confirm, 'cancel');
      const why = { code: 'login_failed', message: expect.stringContaining('nobody') };
      expect(outcome).toEqual(['fail', expect.objectContaining(why), 401]);
      for (const [inSession, cookies] of [[], held]) {
        Object.assign(session, inSession);
        Object.assign(browser.cookies, cookies);
        expect((await answer(confirm)).outcome).toEqual(refused);
      }
      expect(await tokenStore.get('77')).toBeUndefined();
    });

    it('"Continue" counts also after one that failed with the service or the store', async () => {
      const tokenStore = new MemoryTokenStore({ clock: () => 0 });
      const getUser = vi.fn(async () => userInfo);
      const { answer, upToThePage } = open({ tokenStore, api: { getUser } });
      const confirm = await upToThePage();
      getUser.mockRejectedValueOnce(new MarketgateError('service_unavailable', 'down'));
      vi.spyOn(tokenStore, 'claim').mockRejectedValueOnce(new Error('down'));
      for (let i = 0; i < 2; i++) {
        expect((await answer(confirm)).outcome).toMatchObject(['error', { status: 503 }]);
      }
      expect((await answer(confirm)).outcome).toEqual(success);
    });

    it('an answer from another browser, or to a made-up login, is refused', async () => {
      const tokenStore = new MemoryTokenStore({ clock: () => 0 });
      const confirm = await open({ tokenStore }).upToThePage();
      const stranger = open({ tokenStore });
      await stranger.upToThePage({}, 'k2');
      await stranger.start();
      for (const query of [
        { confirm, answer: 'continue' },
        { confirm },
        { confirm: MADE_UP },
        { confirm: MADE_UP, answer: 'cancel' },
      ]) {
        const { outcome, res } = await stranger.visit(query);
        expect([outcome, res.attributes]).toEqual([refused, {}]);
      }
    });

    it('nothing that waits is in the token store, where somebody else could write', async () => {
      const set = vi.fn();
      const tokenStore = Object.assign(new MemoryTokenStore(), { set });
      await open({ tokenStore }).upToThePage();
      expect(set).not.toHaveBeenCalled();
    });

    it('an answer that is neither yes nor no, or to another id, leaves the one that waits', async () => {
      const { answer, upToThePage } = open();
      const confirm = await upToThePage();
      expect((await answer(confirm, 'perhaps')).outcome?.[0]).toBe('page');
      expect((await answer(MADE_UP)).outcome).toEqual(refused);
      expect((await answer(confirm)).outcome).toEqual(success);
    });

    it('a login that waits is no attempt, and one that comes after it takes its place', async () => {
      const { start, comeBack, upToThePage, answer, exchanged } = open();
      await start();
      const first = await upToThePage();
      const { outcome } = await comeBack('k2');
      expect(outcome).toSatisfy(isAsked);
      expect((await comeBack('k3')).outcome).toEqual(refused);
      expect(exchanged).toEqual(['k1', 'k2']);
      expect((await answer(first)).outcome).toEqual(refused);
      expect((await answer(String(outcome?.[1]).split('=')[1] ?? '')).outcome).toEqual(success);
    });

    it.each([
      ['after ten minutes', 600_000, 3_600_000],
      ['when the token has ended', 100_000, 100_000],
    ])('an answer logs nobody in %s', async (_name, at, expiresAt) => {
      let now = 0;
      const exchange = async () => ({ value: 't', issuedAt: 0, expiresAt });
      const { answer, upToThePage } = open({ clock: () => now, api: { exchange } });
      const confirm = await upToThePage();
      now = at;
      expect((await answer(confirm)).outcome).toEqual(refused);
    });

    it('an answer fails with what the service says, when the account is gone', async () => {
      let isGone = false;
      const getUser = async () => {
        if (isGone) throw new MarketgateError('login_failed', 'the account was deleted');
        return userInfo;
      };
      const { answer, upToThePage } = open({ api: { getUser } });
      const confirm = await upToThePage();
      isGone = true;
      expect((await answer(confirm)).recorded).toEqual([
        ['fail', { code: 'login_failed', message: 'the account was deleted' }, 401],
      ]);
    });

    it('logs in the account that was shown, and no other that the token has become', async () => {
      let user_id = 'mira';
      const getUser = async () => ({ ...userInfo, user_id });
      const { answer, upToThePage } = open({ api: { getUser } });
      const confirm = await upToThePage();
      user_id = 'tomas';
      const { outcome } = await answer(confirm);
      expect(outcome).toEqual(refused);
      expect(outcome?.[1]).toMatchObject({ message: expect.stringContaining('another one') });
    });
  });
});

describe('the page', () => {
  const pageOf = async (given: object) => {
    const getUser = async () => ({ ...userInfo, ...given });
    const { visit, upToThePage } = openLogin({ confirm: true, clock: () => 0, api: { getUser } });
    return (await visit({ confirm: await upToThePage() })).res.body ?? '';
  };
  const nameless = { user_firstname: undefined, user_lastname: undefined };

  it.each<[string, object, string, string]>([
    ['without a name', nameless, 'mira', 'mira'],
    ['with nothing but an id', { ...nameless, user_name: undefined }, '77', '77'],
    [
      'with a name that is markup',
      { user_firstname: '<script>', user_lastname: undefined },
      '&lt;script&gt;',
      'mira',
    ],
    [
      'with a long name, of which no letter is cut in two',
      { ...nameless, user_name: `x${'\u{1f980}'.repeat(120)}` },
      `x${'\u{1f980}'.repeat(15)}`,
      `x${'\u{1f980}'.repeat(15)}`,
    ],
  ])('of a user %s shows what there is', async (_name, given, name, username) => {
    const body = await pageOf(given);
    expect(body).toContain(`Continue as <bdi>${name}</bdi>?`);
    expect(body).toContain(`User name <strong><bdi>${username}</bdi>`);
    expect(body).not.toContain('<bdi><script>');
  });

  it.each([
    ['an app that is mounted somewhere', { originalUrl: '/shop/callback?x' }, '/shop/callback'],
    ['plain Node', { originalUrl: undefined, url: '/callback?x' }, '/callback'],
    ['an address that leads elsewhere', { originalUrl: '//evil.example/x?y' }, '/evil.example/x'],
    ['sent through a proxy, whole', { originalUrl: 'http://a.test/x?y' }, 'http://a.test/x'],
  ])('is where the callback is: %s', async (_name, more, path) => {
    const { outcome } = await logIn({ confirm: true }, 'k1', more);
    expect(String(outcome?.[1])).toMatch(new RegExp(`^${path}\\?confirm=[\\w-]+$`));
  });

  it('cannot be sent without a response, and the error says so', async () => {
    const { visit, upToThePage } = openLogin({ confirm: true, clock: () => 0 });
    const confirm = await upToThePage();
    const { outcome } = await visit({ confirm }, { res: undefined });
    expect(String(outcome?.[1])).toContain('no response');
  });

  it.each([
    ['throws', () => raise()],
    ['rejects', async () => raise()],
  ])('that the app renders and that %s is an error', async (_name, render) => {
    const { visit, upToThePage } = openLogin({ confirm: { ask: true, render }, clock: () => 0 });
    const { outcome } = await visit({ confirm: await upToThePage() });
    expect(outcome).toEqual(['error', new Error('no template')]);
  });

  const raise = (): never => {
    throw new Error('no template');
  };
});

describe('"confirm" in the query', () => {
  it.each(['', '1', `${MADE_UP}a`, [MADE_UP]])(
    'that is %j is the app’s own: the login starts',
    async (confirm) => {
      const { outcome } = await openLogin().visit({ confirm, answer: 'continue' });
      expect(outcome?.[0]).toBe('redirect');
    },
  );

  it('with the state of a login that is not that far leaves that login alone', async () => {
    const { start, visit, comeBack, exchanged } = openLogin({ confirm: true, state: true });
    const { outcome } = await start();
    const state = new URL(String(outcome?.[1])).searchParams.get('state');
    for (const query of [{ confirm: state }, { confirm: state, answer: 'continue' }]) {
      expect((await visit(query)).outcome).toEqual(refused);
    }
    await comeBack('k1');
    expect((await visit({ auth_key: 'k1', state })).outcome).toSatisfy(isAsked);
    expect(exchanged).toEqual(['k1']);
  });
});
