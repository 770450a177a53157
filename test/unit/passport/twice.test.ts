import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import express5 from 'express';
import session, { MemoryStore, type SessionOptions } from 'express-session';
import {
  errorHandler,
  isFreshLogin,
  MarketgateError,
  MemoryTokenStore,
  returnTo,
} from 'marketgate';
import { type AuthenticateOptions, Passport } from 'passport';
import { describe, expect, it, vi } from 'vitest';
import { RunningLogins } from '../../../src/passport/twice.js';
import { Browser, type Visit } from '../../support/browser.js';
import { deferred } from '../../support/deferred.js';
import { expressVersions } from '../../support/express-versions.js';
import { hear } from '../../support/hear.js';
import { fakeTimers, later } from '../../support/later.js';
import { listen } from '../../support/listen.js';
import { longSecret, type OpenLogin, openLogin, success } from '../../support/strategy-harness.js';

// A browser sends a callback or a "Continue" twice: a service worker's preload, a double click, an antivirus. Over real
// sockets, with passport and express-session.

/** For what comes at once, on a machine however busy. */
const SOON = { timeout: 40_000, interval: 2 };

type Express = (typeof expressVersions)[number][1];

interface Options extends OpenLogin {
  express?: Express;
  store?: MemoryStore;
  session?: Partial<SessionOptions>;
  auth?: AuthenticateOptions;
  /** How often the strategy runs on one callback. */
  times?: number;
  /** The auth_keys that the service has exchanged, with all processes. */
  spent?: Set<string>;
}

/** One process of an app, whose exchanges wait until the test lets them go on. */
async function openApp({
  express = express5,
  store,
  session: more,
  auth,
  times = 1,
  spent = new Set(),
  ...options
}: Options) {
  const gate = deferred();
  const token = { value: 'token-1', issuedAt: 0, expiresAt: 3_600_000 };
  const exchanged: string[] = [];
  const exchange = async (key: string) => {
    exchanged.push(key);
    const isSpent = spent.has(key);
    spent.add(key);
    await gate.promise;
    if (isSpent) throw new MarketgateError('auth_key_rejected', 'used');
    return token;
  };
  const { strategy } = openLogin({ api: { exchange }, ...options });
  const passport = new Passport();
  passport.serializeUser((user, done) => done(null, user));
  passport.deserializeUser((user: Express.User, done) => done(null, user));
  passport.use(strategy);
  const logins: unknown[] = [];
  let arrived = 0;
  const app = express();
  const secret = longSecret();
  app.use((req, _res, next) => {
    if (req.path === '/callback') arrived++;
    next();
  });
  app.use(session({ secret, resave: false, saveUninitialized: false, store, ...more } as never));
  app.use(passport.session());
  app.get('/login', passport.authenticate('marketplace', { returnTo: '/wanted' }));
  const login = passport.authenticate('marketplace', { failWithError: true, ...auth });
  app.get('/password', (req, res, next) => {
    req.logIn({ id: 'ada' }, (error) => (error ? next(error) : res.end()));
  });
  app.get('/callback', ...Array(times).fill(login), (req, res) => {
    if (isFreshLogin(req)) logins.push(req.user);
    res.redirect(returnTo(req) ?? '/home');
  });
  app.use((req, res) => void res.send(`${req.path} ${req.user?.id ?? 'nobody'}`));
  app.use(errorHandler({ log: false }));
  return {
    origin: await listen(app),
    app,
    exchanged,
    logins,
    /** Lets all exchanges go on, once so many callbacks have arrived, and the browser has dropped one. */
    async letGoOn(count: number, drop?: () => Promise<void>): Promise<void> {
      await vi.waitFor(() => expect(arrived).toBe(count), SOON);
      await drop?.();
      // What has arrived has been given to the strategy.
      for (let i = 0; i < 20; i++) await new Promise(setImmediate);
      gate.resolve();
    },
  };
}

/** A browser that has begun a login. */
async function visitor(origin: string): Promise<Browser> {
  const browser = new Browser();
  await browser.get(`${origin}/login`);
  return browser;
}

const locationOf = (response: Response) => response.headers.get('location') ?? '';

/** A request that the browser drops: the first of two clicks. */
function dropped(browser: Browser, url: string) {
  const controller = new AbortController();
  const cookie = browser.cookies(url);
  const response = fetch(url, {
    headers: { cookie },
    redirect: 'manual',
    signal: controller.signal,
  });
  const drop = async () => {
    controller.abort();
    await response.catch(() => {});
  };
  return { drop };
}

const MODES: [string, Options][] = [
  ['a session', {}],
  ['a session that every request saves and renews', { session: { resave: true, rolling: true } }],
  ['a session for everybody', { session: { saveUninitialized: true } }],
  ['a cookie', { where: 'cookie' }],
];

describe.each(expressVersions)('on %s', (_version, express) => {
  describe.each(MODES)('with attempts in %s', (_where, mode) => {
    const open = (options: Options = {}) => openApp({ express, ...mode, ...options });
    /** A visitor at "Continue as NAME?". Once it is pressed, `verify` waits until the test resolves `verifying`. */
    const askedSlowly = async () => {
      const verifying = deferred();
      const verify = vi.fn(async (_input: unknown) => {
        await verifying.promise;
        return { id: '77' };
      });
      const app = await open({ confirm: true, verify });
      const browser = await visitor(app.origin);
      const visit = browser.open(`${app.origin}/callback?auth_key=k1`);
      await app.letGoOn(1);
      return { ...app, browser, page: await visit, verify, verifying };
    };

    it('a callback that comes twice logs in once, and the second is where the first was', async () => {
      const { origin, exchanged, logins, letGoOn } = await open();
      const browser = await visitor(origin);
      const both = ['?auth_key=k1', '?auth_key=k1'].map((it) =>
        browser.get(`${origin}/callback${it}`),
      );
      await letGoOn(2);
      const [first, second] = (await Promise.all(both)) as [Response, Response];
      expect([first.status, locationOf(first)]).toEqual([302, '/wanted']);
      expect(locationOf(second)).toMatch(/^\?marketgate=[\w-]{22}$/);
      const last = await browser.open(new URL(locationOf(second), `${origin}/callback`).href);
      expect([last.url, last.text]).toEqual([`${origin}/wanted`, '/wanted 77']);
      expect([exchanged, logins]).toEqual([['k1'], [{ id: '77' }]]);
    });

    it.each(['', '; seen=2'])(
      'the first of two clicks, which the browser drops, hands its login to the second, also where a page has set "%s" meanwhile',
      async (meanwhile) => {
        const { origin, exchanged, logins, letGoOn } = await open();
        const browser = await visitor(origin);
        const url = `${origin}/callback?auth_key=k1`;
        const first = dropped(browser, url);
        await vi.waitFor(() => expect(exchanged).toEqual(['k1']), SOON);
        const second = browser.get(url, { cookie: `${browser.cookies(origin)}${meanwhile}` });
        await letGoOn(2, first.drop);
        expect(locationOf(await second)).toBe('/wanted');
        expect((await browser.open(`${origin}/home`)).text).toBe('/home 77');
        expect(exchanged).toEqual(['k1']);
        expect(logins).toHaveLength(2);
      },
    );

    it('"Continue" twice is one login, also where a page has set a cookie meanwhile', async () => {
      const { origin, letGoOn, browser, page, verify, verifying } = await askedSlowly();
      const url = `${page.url}&answer=continue`;
      const first = dropped(browser, url);
      await vi.waitFor(() => expect(verify).toHaveBeenCalled(), SOON);
      const second = browser.get(url, { cookie: `${browser.cookies(origin)}; seen=2` });
      await letGoOn(4, first.drop);
      verifying.resolve();
      expect(locationOf(await second)).toBe('/wanted');
      expect((await browser.open(`${origin}/home`)).text).toBe('/home 77');
    });

    it('two auth_keys of one attempt are one login', async () => {
      const { origin, exchanged, letGoOn } = await open();
      const browser = await visitor(origin);
      const both = ['k1', 'k2'].map((key) => browser.open(`${origin}/callback?auth_key=${key}`));
      await letGoOn(2);
      for (const { text } of await Promise.all(both)) expect(text).toBe('/wanted 77');
      expect(exchanged).toEqual(['k1']);
    });

    it('of two auth_keys of one attempt the second is taken where the browser has dropped the first', async () => {
      const { origin, exchanged, letGoOn } = await open();
      const browser = await visitor(origin);
      const first = dropped(browser, `${origin}/callback?auth_key=k1`);
      const second = browser.open(`${origin}/callback?auth_key=k2`);
      await letGoOn(2, first.drop);
      expect((await second).text).toBe('/wanted 77');
      expect(exchanged).toEqual(['k1', 'k2']);
    });

    it('the attempt of a dropped first is used once more, not twice', async () => {
      const { origin, exchanged, letGoOn } = await open({ confirm: true });
      fakeTimers();
      const browser = await visitor(origin);
      const first = dropped(browser, `${origin}/callback?auth_key=k1`);
      const others = ['k2', 'k3'].map((key) => browser.open(`${origin}/callback?auth_key=${key}`));
      await letGoOn(3, first.drop);
      const statuses = (await later(Promise.all(others))).map(({ status }) => status);
      expect(statuses.sort()).toEqual([200, 403]);
      expect(exchanged).toHaveLength(2);
    });

    it('an attempt that begins while a login runs ends with it', async () => {
      const { origin, letGoOn, exchanged } = await open();
      fakeTimers();
      const browser = await visitor(origin);
      const login = browser.open(`${origin}/callback?auth_key=k1`);
      let other = '';
      await letGoOn(1, async () => {
        await browser.get(`${origin}/login`);
        other = browser.cookies(origin);
      });
      expect((await login).text).toBe('/wanted 77');
      await later(new Browser().get(`${origin}/callback?auth_key=k2`, { cookie: other }));
      expect(exchanged).toEqual(['k1']);
    });

    it('the second auth_key of a login that another site began is asked about too', async () => {
      const { origin, letGoOn, logins } = await open();
      const browser = new Browser();
      await browser.get(`${origin}/login`, { 'sec-fetch-site': 'cross-site' });
      const first = dropped(browser, `${origin}/callback?auth_key=k1`);
      const second = browser.open(`${origin}/callback?auth_key=k2`);
      await letGoOn(2, first.drop);
      expect((await second).text).toContain('Continue as');
      expect(logins).toEqual([]);
    });

    it('the second auth_key must come with the state of the attempt that it takes over', async () => {
      const { origin, letGoOn, exchanged } = await open({ state: true });
      const browser = new Browser();
      const start = await browser.get(`${origin}/login`);
      const state = new URL(locationOf(start)).searchParams.get('state');
      const first = dropped(browser, `${origin}/callback?auth_key=k1&state=${state}`);
      const second = browser.open(`${origin}/callback?auth_key=k2&state=other`);
      await letGoOn(2, first.drop);
      expect((await second).status).toBe(403);
      expect(exchanged).toEqual(['k1']);
    });

    it.each(['answered', 'dropped'])(
      'a callback that comes twice is asked about once, where the first was %s, and "Continue" twice logs in',
      async (how) => {
        const { origin, letGoOn, logins } = await open({ confirm: true });
        const browser = await visitor(origin);
        const url = `${origin}/callback?auth_key=k1`;
        const first = how === 'dropped' ? dropped(browser, url) : undefined;
        const other = first ?? browser.get(url);
        const second = browser.open(url);
        await letGoOn(2, first?.drop);
        await other;
        const page = await second;
        expect(page.text).toContain('Continue as');
        const pressed = await Promise.all([
          browser.pressContinue(page),
          browser.pressContinue(page),
        ]);
        for (const { text } of pressed) expect(text).toBe('/wanted 77');
        expect(logins).toHaveLength(1);
      },
    );

    it('a login that fails says the same to both, on marketgate:login too', async () => {
      const { origin, letGoOn } = await open({ verify: (_input: unknown) => false });
      const heard = hear('login');
      const browser = await visitor(origin);
      const both = [1, 2].map(() => browser.open(`${origin}/callback?auth_key=k1`));
      await letGoOn(2);
      for (const { status, text } of await Promise.all(both)) {
        expect([status, text]).toEqual([
          401,
          expect.stringContaining('does not accept this account'),
        ]);
      }
      expect(heard.filter((it) => Object(it).outcome === 'fail')).toHaveLength(2);
    });

    it.each([
      ['asks', { confirm: true }, 200, 'Continue as'],
      ['fails', { verify: (_input: unknown) => false }, 401, 'does not accept this account'],
    ])(
      'a login that begins in another tab while a callback %s keeps its attempt',
      async (_how, options, status, text) => {
        const { origin, letGoOn } = await open(options);
        const browser = await visitor(origin);
        const first = browser.open(`${origin}/callback?auth_key=k1`);
        await letGoOn(1, async () => void (await browser.get(`${origin}/login`)));
        expect(await first).toMatchObject({ status, text: expect.stringContaining(text) });
        const second = await browser.open(`${origin}/callback?auth_key=k2`);
        expect(second).toMatchObject({ status, text: expect.stringContaining(text) });
      },
    );

    it('of two tabs that come back at once, each with its own login, one that fails leaves the other alone', async () => {
      const { origin, letGoOn, exchanged } = await open({ spent: new Set(['k1']) });
      fakeTimers();
      const browser = await visitor(origin);
      await browser.get(`${origin}/login`);
      const first = browser.open(`${origin}/callback?auth_key=k1`);
      await vi.waitFor(() => expect(exchanged).toEqual(['k1']), SOON);
      const second = browser.open(`${origin}/callback?auth_key=k2`);
      await letGoOn(2);
      expect([(await later(first)).status, (await later(second)).text]).toEqual([
        401,
        '/wanted 77',
      ]);
    });

    it('a "Continue" while a login of another tab fails logs in', async () => {
      const verifying = deferred();
      const verify = vi.fn(async (_input: unknown): Promise<Express.User> => ({ id: '77' }));
      const { origin, letGoOn } = await open({ verify: (input: unknown) => verify(input) });
      const browser = new Browser();
      await browser.get(`${origin}/login`, { 'sec-fetch-site': 'cross-site' });
      const visit = browser.open(`${origin}/callback?auth_key=k1`);
      await letGoOn(1);
      const page = await visit;
      await browser.get(`${origin}/login`);
      verify.mockImplementationOnce(async () => {
        await verifying.promise;
        throw new Error('of the app');
      });
      const other = browser.open(`${origin}/callback?auth_key=k2`);
      await vi.waitFor(() => expect(verify).toHaveBeenCalled(), SOON);
      const pressed = browser.pressContinue(page);
      // After the callback, the page and the other callback.
      await letGoOn(4);
      verifying.resolve();
      expect([(await other).status, (await pressed).text]).toEqual([500, '/wanted 77']);
    });

    it('"Not me" after a "Continue" that the browser has dropped logs nobody in', async () => {
      const { origin, letGoOn, browser, page, verify, verifying } = await askedSlowly();
      const first = dropped(browser, `${page.url}&answer=continue`);
      await vi.waitFor(() => expect(verify).toHaveBeenCalled(), SOON);
      const second = browser.open(`${page.url}&answer=cancel`);
      await letGoOn(4, first.drop);
      verifying.resolve();
      expect((await second).status).toBe(403);
      expect((await browser.open(`${origin}/home`)).text).toBe('/home nobody');
    });

    it('the second auth_key of one attempt that the service refuses says so', async () => {
      const { origin, letGoOn } = await open({ spent: new Set(['k2']) });
      fakeTimers();
      const browser = await visitor(origin);
      const first = dropped(browser, `${origin}/callback?auth_key=k1`);
      const second = browser.open(`${origin}/callback?auth_key=k2`);
      await letGoOn(2, first.drop);
      const { status, text } = await later(second);
      expect([status, text]).toEqual([401, expect.stringContaining('used')]);
    });

    it('two auth_keys of one attempt mark no browser, also where both fail: the next login asks nothing', async () => {
      const verify = vi.fn((_input: unknown): Express.User | false => ({ id: '77' }));
      verify.mockImplementationOnce(() => {
        throw new Error('of the app');
      });
      verify.mockReturnValueOnce(false);
      const { origin, letGoOn } = await open({ verify: (input: unknown) => verify(input) });
      const browser = await visitor(origin);
      const first = dropped(browser, `${origin}/callback?auth_key=k1`);
      const second = browser.open(`${origin}/callback?auth_key=k2`);
      await letGoOn(2, first.drop);
      expect((await second).status).toBe(401);
      await browser.get(`${origin}/login`);
      expect((await browser.open(`${origin}/callback?auth_key=k3`)).text).toBe('/wanted 77');
    });

    it.each(['while it runs', 'after it', 'with one more cookie'])(
      'a stranger with the visitor’s cookies and another auth_key cannot answer for a login that asks: %s',
      async (when) => {
        const { origin, letGoOn, exchanged } = await open({ confirm: true });
        fakeTimers();
        const browser = await visitor(origin);
        const cookie = `${browser.cookies(origin)}${when.includes('cookie') ? '; a=b' : ''}`;
        const stranger = new Browser();
        const junk = () => stranger.get(`${origin}/callback?auth_key=junk`, { cookie });
        const login = browser.open(`${origin}/callback?auth_key=k1`);
        await vi.waitFor(() => expect(exchanged).toEqual(['k1']), SOON);
        const early = when === 'after it' ? undefined : junk();
        await letGoOn(early === undefined ? 1 : 2);
        const page = await login;
        const response = await later(early ?? junk());
        const id = /=([\w-]{22})$/.exec(locationOf(response))?.[1] ?? 'x'.repeat(22);
        const answer = `${origin}/callback?marketgate=${id}&answer=continue`;
        expect((await stranger.get(answer, { cookie })).status).toBe(403);
        expect((await stranger.open(`${origin}/home`, { cookie })).text).toBe('/home nobody');
        expect((await browser.pressContinue(page)).text).toBe('/wanted 77');
      },
    );

    it.each(['a callback again', 'another callback', '"Not me"'])(
      'while "Continue" runs, %s ends where that does',
      async (what) => {
        const { origin, letGoOn, browser, page, verify, verifying } = await askedSlowly();
        const pressed = browser.pressContinue(page);
        await vi.waitFor(() => expect(verify).toHaveBeenCalled(), SOON);
        const key = what === 'another callback' ? 'k2' : 'k1';
        const url =
          what === '"Not me"' ? `${page.url}&answer=cancel` : `${origin}/callback?auth_key=${key}`;
        const second = browser.open(url);
        // After the callback, the page and the answer.
        await letGoOn(4);
        verifying.resolve();
        expect((await pressed).text).toBe('/wanted 77');
        expect(await second).toMatchObject({ status: 200, text: expect.stringContaining('77') });
        expect((await browser.open(`${origin}/home`)).text).toBe('/home 77');
      },
    );

    it.each([
      ['passport.authorize', { assignProperty: 'account' }],
      ['session: false', { session: false }],
    ])(
      'with %s, where nobody is logged in after it, a callback that comes twice ends at the wanted page',
      async (_how, auth) => {
        const { origin, letGoOn, exchanged } = await open({ auth });
        const browser = await visitor(origin);
        const both = [1, 2].map(() => browser.open(`${origin}/callback?auth_key=k1`));
        await letGoOn(2);
        for (const { url } of await Promise.all(both)) expect(url).toBe(`${origin}/wanted`);
        expect(exchanged).toEqual(['k1']);
      },
    );

    it('a login waits for nobody else’s, and another auth_key with the same cookies gets nobody in', async () => {
      const { origin, letGoOn, exchanged } = await open();
      const browser = await visitor(origin);
      // A stranger who has planted the visitor's cookies does not know the auth_key.
      const cookie = browser.cookies(origin);
      const stranger = new Browser();
      const login = browser.open(`${origin}/callback?auth_key=k1`);
      await vi.waitFor(() => expect(exchanged).toEqual(['k1']), SOON);
      const attack = stranger.get(`${origin}/callback?auth_key=junk`, { cookie });
      await letGoOn(2);
      expect((await login).text).toBe('/wanted 77');
      const response = await attack;
      const next = new URL(locationOf(response), `${origin}/callback`).href;
      expect((await stranger.get(next, { cookie })).status).toBe(403);
      expect((await stranger.open(`${origin}/home`, { cookie })).text).toBe('/home nobody');
      expect(exchanged).toEqual(['k1']);
    });
  });
});

it('a user who connects an account by two clicks stays logged in, also with unset: "destroy" of express-session', async () => {
  const { origin, letGoOn } = await openApp({
    session: { unset: 'destroy' },
    auth: { assignProperty: 'account' },
  });
  const browser = new Browser();
  await browser.get(`${origin}/password`);
  await browser.get(`${origin}/login`);
  const page = browser.open(`${origin}/callback?auth_key=k1`);
  await letGoOn(1);
  await page.then((it) => Promise.all([browser.pressContinue(it), browser.pressContinue(it)]));
  expect((await browser.open(`${origin}/home`)).text).toBe('/home ada');
});

it('a second callback whose session cannot be read is sent to the page that asks all the same', async () => {
  const store = new MemoryStore();
  const { origin, letGoOn } = await openApp({ store, confirm: true });
  const browser = await visitor(origin);
  const url = `${origin}/callback?auth_key=k1`;
  const first = dropped(browser, url);
  const second = browser.get(url);
  await letGoOn(2, async () => {
    await first.drop();
    vi.spyOn(store, 'get').mockImplementationOnce((_sid, done) => done(new Error('down')));
  });
  const response = await second;
  expect(locationOf(response)).toMatch(/^\?marketgate=/);
  expect((await browser.open(new URL(locationOf(response), url).href)).text).toContain('Continue');
});

it('a strategy that runs twice on one callback waits not for itself', async () => {
  const { origin, letGoOn } = await openApp({ times: 2 });
  const browser = await visitor(origin);
  const login = browser.open(`${origin}/callback?auth_key=k1`);
  await letGoOn(1);
  expect((await login).text).toBe('/wanted 77');
  expect((await browser.open(`${origin}/callback?auth_key=k1`)).text).toBe('/home 77');
});

it('a login that the session store does not keep says so to both', async () => {
  const store = new MemoryStore();
  store.destroy = (_id, done) => done?.(new Error('store down'));
  const { origin, letGoOn } = await openApp({ store });
  const browser = await visitor(origin);
  const both = [1, 2].map(() => browser.open(`${origin}/callback?auth_key=k1`));
  await letGoOn(2);
  for (const { text } of await Promise.all(both)) expect(text).toContain('store down');
});

it('a login that never ends holds up its browser for a minute at most', async () => {
  fakeTimers();
  let calls = 0;
  const never = new Promise<never>(() => {});
  const verify = (_input: unknown) => (calls++ === 0 ? never : { id: '77' });
  const { start, comeBack } = openLogin({ verify });
  const browser = { headers: { cookie: 'sid=1' } };
  await start({}, browser);
  void comeBack('k1', browser);
  await start({}, browser);
  const later = ['k1', 'k2'].map((key) => comeBack(key, browser));
  await vi.advanceTimersByTimeAsync(60_000);
  const [same, other] = await Promise.all(later);
  const stuck = { message: expect.stringContaining('verify has not called done') };
  expect(same?.outcome).toEqual(['error', expect.objectContaining(stuck)]);
  expect(other?.outcome).toEqual(success);
});

it('a login that has ended is remembered without its request', async () => {
  const running = new RunningLogins();
  const login = running.begin(['browser'], 'auth_key k1', new IncomingMessage(new Socket()));
  login.end({ outcome: ['redirect', '/'], isDelivered: true, state: { attempts: [] } });
  await login.ended;
  expect(running.of(['browser'])).toBe(login);
  expect(login.req).toBeUndefined();
});

/** Two processes of one app, at one address: callbacks go to them in turn. */
async function openTwo(options: Options) {
  const shared = { store: new MemoryStore(), tokenStore: new MemoryTokenStore(), ...options };
  const apps = [await openApp(shared), await openApp(shared)] as const;
  let callbacks = 0;
  const origin = await listen((req, res) => {
    const next = req.url?.startsWith('/callback') ? callbacks++ : 0;
    apps[next % 2 === 0 ? 0 : 1].app(req, res);
  });
  fakeTimers();
  const browser = await visitor(origin);
  const exchanged = () => apps.flatMap((app) => app.exchanged);
  return {
    ...{ origin, browser, exchanged },
    logins: () => apps.flatMap((app) => app.logins),
    callback: (key = 'k1') => browser.get(`${origin}/callback?auth_key=${key}`),
    /** Lets the exchange go on, once it has begun in one process, and the other has got its callback, if there is one. */
    async letGoOn(callbacks = 2, first?: () => void): Promise<void> {
      await Promise.all(
        apps.slice(0, callbacks).map((app) => app.letGoOn(1, async () => first?.())),
      );
    },
    later,
    /** Goes where a response leads. */
    async follow(response: Response, by = browser) {
      const { status, headers, url } = response;
      if (!headers.has('location')) return { url, status, headers, text: await response.text() };
      return by.open(new URL(locationOf(response), `${origin}/callback`).href);
    },
  };
}

const AGAIN = /^\?marketgate=[\w-]{22}$/;

describe.each(expressVersions)('in two processes on %s', (_version, express) => {
  describe.each(MODES)('with attempts in %s', (_where, mode) => {
    const open = (options: Options = {}) => openTwo({ express, ...mode, ...options });

    it('a callback that comes to both is one login, and the second is where the first was', async () => {
      const { callback, letGoOn, later, follow, origin, exchanged, logins } = await open();
      const both = [callback(), callback()];
      await letGoOn();
      const responses = await later(Promise.all(both));
      const [first, second] = responses.sort((one) => (locationOf(one) === '/wanted' ? -1 : 1));
      expect(locationOf(first as Response)).toBe('/wanted');
      expect(locationOf(second as Response)).toMatch(AGAIN);
      const last = await follow(second as Response);
      expect([last.url, last.text]).toEqual([`${origin}/wanted`, '/wanted 77']);
      expect([exchanged(), logins()]).toEqual([['k1'], [{ id: '77' }]]);
    });

    it('a callback that comes to both is asked about once, and "Continue" in both logs in once', async () => {
      const { callback, letGoOn, later, follow, browser, logins } = await open({ confirm: true });
      const both = [callback(), callback()];
      await letGoOn();
      const pages: Visit[] = [];
      for (const response of await later(Promise.all(both))) pages.push(await follow(response));
      for (const { text } of pages) expect(text).toContain('Continue as');
      const pressed = pages.map((page) => browser.pressContinue(page));
      for (const { text } of await later(Promise.all(pressed))) expect(text).toBe('/wanted 77');
      expect(logins()).toHaveLength(1);
    });

    it('a callback and a "Continue" that come to the other once the first has ended lead to where that was', async () => {
      const { origin, callback, letGoOn, later, follow, browser, logins } = await open({
        confirm: true,
      });
      const beforeCallback = browser.cookies(origin);
      const both = [callback(), callback()];
      await letGoOn();
      const [response] = await later(Promise.all(both));
      const page = await follow(response as Response);
      const beforeAnswer = browser.cookies(origin);
      await browser.pressContinue(page);
      const answer = browser.history.findLast((url) => url.includes('continue')) ?? '';
      // What was under way for longer comes with the cookies of before.
      for (const [url, cookie] of [
        [`${origin}/callback?auth_key=k1`, beforeCallback],
        [`${origin}/callback?auth_key=k1`, beforeAnswer],
        [answer, beforeAnswer],
        [answer, beforeAnswer],
      ] as const) {
        const late = await later(browser.get(url, { cookie }));
        expect((await follow(late)).text).toBe('/wanted 77');
      }
      expect(logins()).toHaveLength(1);
    });

    it('a callback that comes to the other after the login leads to where that was', async () => {
      const { origin, callback, letGoOn, later, follow, browser, exchanged } = await open();
      const cookie = browser.cookies(origin);
      const login = callback();
      await letGoOn(1);
      expect((await follow(await later(login))).text).toBe('/wanted 77');
      const late = await later(browser.get(`${origin}/callback?auth_key=k1`, { cookie }));
      expect((await follow(late)).text).toBe('/wanted 77');
      expect(exchanged()).toEqual(['k1']);
    });

    it('two auth_keys of one attempt are one login', async () => {
      const { callback, letGoOn, later, follow, exchanged } = await open();
      const both = [callback('k1'), callback('k2')];
      await letGoOn();
      for (const response of await later(Promise.all(both))) {
        expect((await follow(response)).text).toBe('/wanted 77');
      }
      expect(exchanged()).toHaveLength(1);
    });

    it.each([
      ['one auth_key', 'k1'],
      ['two auth_keys of one attempt', 'k2'],
    ])(
      'a login with %s that fails in one fails in the other, without a redirect more than once',
      async (_keys, second) => {
        const verify = (_input: unknown) => false;
        const { callback, letGoOn, later, follow, browser } = await open({ verify });
        const both = [callback(), callback(second)];
        await letGoOn();
        const responses = await later(Promise.all(both));
        browser.history.length = 0;
        for (const response of responses) {
          const isAgain = AGAIN.test(locationOf(response));
          const { status } = isAgain ? await follow(response) : response;
          expect([401, 403]).toContain(status);
        }
        expect(browser.history.length).toBeLessThanOrEqual(1);
      },
    );

    it('another browser that comes with the auth_key is not logged in, with an attempt of its own or without', async () => {
      const { callback, letGoOn, later, follow, origin, exchanged } = await open();
      const login = callback();
      const [without, withAttempt] = [new Browser(), await visitor(origin)];
      const attack = withAttempt.get(`${origin}/callback?auth_key=k1`);
      await letGoOn();
      expect((await follow(await later(login))).text).toBe('/wanted 77');
      const response = await later(attack);
      if (response.status === 302) {
        expect(locationOf(response)).toMatch(AGAIN);
        expect((await follow(response, withAttempt)).status).toBe(403);
      } else expect(response.status).toBe(401);
      expect((await without.open(`${origin}/callback?auth_key=k1`)).status).toBe(403);
      for (const it of [without, withAttempt]) {
        expect((await it.open(`${origin}/home`)).text).toBe('/home nobody');
      }
      expect(exchanged()).toEqual(['k1']);
    });
  });

  it.each([
    ['a session', {}],
    ['a session whose cookie expires', { session: { cookie: { maxAge: 60_000 } } }],
    ['a session that every request saves and renews', { session: { resave: true, rolling: true } }],
  ])(
    'with attempts in %s, a callback that comes to both is one login without a token store that claims, too',
    async (_where, mode) => {
      const spent = new Set<string>();
      const options = { express, ...mode, tokenStore: undefined, spent };
      const { callback, letGoOn, later, follow, exchanged } = await openTwo(options);
      const both = [callback(), callback()];
      await letGoOn();
      for (const response of await later(Promise.all(both))) {
        expect((await follow(response)).text).toBe('/wanted 77');
      }
      expect(exchanged()).toEqual(['k1', 'k1']);
    },
  );
});

it('an outage of the service is told at once: no process looks for the login in another', async () => {
  const exchange = () => Promise.reject(new MarketgateError('service_unavailable', 'down'));
  const { callback } = await openTwo({ tokenStore: undefined, api: { exchange } });
  expect((await callback()).status).toBe(503);
});

it('of two tabs that come back at once, one that fails leaves what waits for "Continue" in the other', async () => {
  const verify = vi.fn((_input: unknown): Express.User | false => ({ id: '77' }));
  const { origin, letGoOn, exchanged } = await openApp({
    verify: (input: unknown) => verify(input),
  });
  const browser = await visitor(origin);
  await browser.get(`${origin}/login`);
  const asks = { 'sec-fetch-dest': 'iframe' };
  const first = browser.open(`${origin}/callback?auth_key=k1`, asks);
  await vi.waitFor(() => expect(exchanged).toEqual(['k1']), SOON);
  verify.mockReturnValueOnce(false);
  const second = browser.open(`${origin}/callback?auth_key=k2`);
  await letGoOn(2);
  expect((await second).status).toBe(401);
  expect((await browser.pressContinue(await first)).text).toBe('/wanted 77');
});

it('an auth_key that the service refuses says so, with a session that other processes share, also if it cannot be read once', async () => {
  const [spent, store] = [new Set(['k1']), new MemoryStore()];
  const { callback, letGoOn, later } = await openTwo({ tokenStore: undefined, spent, store });
  const login = callback();
  await letGoOn(1, () => {
    vi.spyOn(store, 'get').mockImplementationOnce((_sid, done) => done(new Error('down')));
  });
  const response = await later(login);
  expect([response.status, await response.text()]).toEqual([401, expect.stringContaining('used')]);
});

it('a session store that hangs is waited for twice at most, when the service refuses the auth_key', async () => {
  const [spent, store] = [new Set(['k1']), new MemoryStore()];
  const { callback, letGoOn, later } = await openTwo({ tokenStore: undefined, spent, store });
  const login = callback();
  const hanging = vi.fn();
  await letGoOn(1, () => void vi.spyOn(store, 'get').mockImplementation(hanging));
  expect(locationOf(await later(login))).toMatch(AGAIN);
  expect(hanging).toHaveBeenCalledTimes(2);
});
