import express5, { type RequestHandler } from 'express';
import session, { MemoryStore, type SessionOptions } from 'express-session';
import express4 from 'express4';
import { errorHandler, isFreshLogin, MarketgateError, returnTo } from 'marketgate';
import type { AuthenticateOptions } from 'passport';
import { describe, expect, it, vi } from 'vitest';
import { Browser } from '../../support/browser.js';
import { deferred } from '../../support/deferred.js';
import { hear } from '../../support/hear.js';
import { listen } from '../../support/listen.js';
import { passportWith } from '../../support/passport-app.js';
import { longSecret, type OpenLogin, openLogin } from '../../support/strategy-harness.js';

// A browser sends a callback or a "Continue" twice: a service worker's preload, a double click, a virus scanner. Over real
// sockets, with passport and express-session.

interface Options extends OpenLogin {
  express?: typeof express5;
  store?: MemoryStore;
  sessionOptions?: Partial<SessionOptions>;
  auth?: AuthenticateOptions;
  /** A strategy for each request, as an app with several tenants makes. */
  isMadePerRequest?: boolean;
  /** How often the callback's route has the strategy. */
  runs?: number;
  /** The auth_keys that the service has exchanged, with all processes. */
  spent?: Set<string>;
}

/** One process of an app, whose exchanges wait until the test lets them go on. */
async function openApp({
  express = express5,
  store,
  sessionOptions,
  auth,
  isMadePerRequest = false,
  runs = 1,
  spent = new Set(),
  ...more
}: Options) {
  const gate = deferred();
  const exchanged: string[] = [];
  const exchange = async (key: string) => {
    exchanged.push(key);
    const isSpent = spent.has(key);
    spent.add(key);
    if (isSpent) throw new MarketgateError('auth_key_rejected', 'used');
    await gate.promise;
    return { value: 'token-1', issuedAt: 0, expiresAt: 3_600_000 };
  };
  const { strategy, loginApi } = openLogin({ api: { exchange }, ...more });
  const passport = passportWith(strategy);
  const logins: unknown[] = [];
  const options = { secret: longSecret(), resave: false, saveUninitialized: false, store };
  const app = express();
  app.use(session({ ...options, ...sessionOptions }));
  app.use(passport.session());
  app.get('/login', passport.authenticate('marketplace', { returnTo: '/wanted' }));
  const login: RequestHandler = (req, res, next) => {
    const made = isMadePerRequest ? openLogin({ loginApi, ...more }).strategy : 'marketplace';
    passport.authenticate(made, { failWithError: true, ...auth })(req, res, next);
  };
  app.get('/callback', new Array<RequestHandler>(runs).fill(login));
  app.get('/callback', (req, res) => {
    if (isFreshLogin(req)) logins.push(req.user);
    res.redirect(returnTo(req) ?? '/home');
  });
  app.use((req, res) => void res.send(`${req.path} ${req.user?.id ?? 'nobody'}`));
  app.use(errorHandler({ log: false }));
  return { origin: await listen(app), exchanged, logins, letGoOn: () => gate.resolve() };
}

/** A browser that has begun a login. */
async function visitor(origin: string): Promise<Browser> {
  const browser = new Browser();
  await browser.get(`${origin}/login`);
  return browser;
}

const locationOf = (response: Response) => response.headers.get('location') ?? '';
const FROM_BROWSER = { timeout: 40_000, interval: 2 };

const MODES: [string, Options][] = [
  ['a session', {}],
  ['a session for everybody', { sessionOptions: { saveUninitialized: true, rolling: true } }],
  ['a cookie, on Express 4', { where: 'cookie', express: express4 }],
];

describe.each(MODES)('with attempts in %s', (_where, mode) => {
  const open = (options: Options = {}) => openApp({ ...mode, ...options });

  it.each(['while the first runs', 'after it'])(
    'a callback that comes twice ends twice in the login, and is exchanged once: %s',
    async (when) => {
      const { origin, exchanged, logins, letGoOn } = await open();
      const browser = await visitor(origin);
      // As of a request whose response the browser drops.
      const cookie = browser.cookies(origin);
      const callback = () => browser.get(`${origin}/callback?auth_key=k1`, { cookie });
      const first = callback();
      await vi.waitFor(() => expect(exchanged).toEqual(['k1']), FROM_BROWSER);
      if (when === 'after it') {
        letGoOn();
        await first;
      }
      const second = callback();
      letGoOn();
      for (const response of await Promise.all([first, second])) {
        expect([response.status, locationOf(response)]).toEqual([302, '/wanted']);
      }
      expect([exchanged, logins]).toEqual([['k1'], [{ id: '77' }, { id: '77' }]]);
      expect((await browser.open(`${origin}/who`)).text).toBe('/who 77');
    },
  );

  it('a callback that comes twice is asked about once, and so is its "Continue"', async () => {
    const { origin, exchanged, letGoOn } = await open({ confirm: true });
    letGoOn();
    const browser = await visitor(origin);
    let cookie = browser.cookies(origin);
    const get = (path: string) => browser.get(`${origin}/callback${path}`, { cookie });
    const pages = await Promise.all([get('?auth_key=k1'), get('?auth_key=k1')]);
    const [page = '', other] = pages.map(locationOf);
    expect([page, exchanged]).toEqual([other, ['k1']]);
    cookie = browser.cookies(origin);
    for (const response of [
      await get(`${page}&answer=continue`),
      await get(`${page}&answer=continue`),
    ]) {
      expect(locationOf(response)).toBe('/wanted');
    }
    expect((await browser.open(`${origin}/who`)).text).toBe('/who 77');
  });

  it('a login is not remembered for ever, and not for a stranger who has planted the cookies', async () => {
    const { origin, letGoOn, exchanged } = await open();
    const browser = await visitor(origin);
    const cookie = browser.cookies(origin);
    const callback = (key: string) =>
      new Browser().get(`${origin}/callback?auth_key=${key}`, { cookie });
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    letGoOn();
    expect((await callback('k1')).status).toBe(302);
    expect((await callback('k2')).status).not.toBe(302);
    await vi.advanceTimersByTimeAsync(10_000);
    expect((await callback('k1')).status).not.toBe(302);
    expect(exchanged).toEqual(['k1']);
  });

  it.each([
    ['passport.authorize', { auth: { assignProperty: 'account' } }],
    ['session: false', { auth: { session: false } }],
    ['a strategy that is made for each request', { isMadePerRequest: true }],
  ])('so it is with %s', async (_what, options) => {
    const { origin, letGoOn } = await open(options);
    letGoOn();
    const browser = await visitor(origin);
    const cookie = browser.cookies(origin);
    for (let i = 0; i < 2; i++) {
      const response = await browser.get(`${origin}/callback?auth_key=k1`, { cookie });
      expect(locationOf(response)).toBe('/wanted');
    }
  });

  it('a strategy that runs twice in a request, as in guards of a controller and of a route, ends twice in the login', async () => {
    const { origin, exchanged, logins, letGoOn } = await open({ runs: 2 });
    letGoOn();
    const browser = await visitor(origin);
    const outcomes = hear('login');
    expect(locationOf(await browser.get(`${origin}/callback?auth_key=k1`))).toBe('/wanted');
    expect([exchanged, logins]).toEqual([['k1'], [{ id: '77' }]]);
    expect(outcomes).toEqual([{ outcome: 'success' }, { outcome: 'success' }]);
    expect((await browser.open(`${origin}/who`)).text).toBe('/who 77');
  });
});

it.each([{}, { saveUninitialized: true, unset: 'destroy' as const }])(
  'a callback whose session another process has replaced gets a page without a cookie, which finds the login: %j',
  async (sessionOptions) => {
    const options = {
      store: new MemoryStore(),
      spent: new Set<string>(),
      sessionOptions,
    };
    const here = await openApp(options);
    const there = await openApp(options);
    const browser = await visitor(here.origin);
    const old = browser.cookies(here.origin);
    here.letGoOn();
    expect(locationOf(await browser.get(`${here.origin}/callback?auth_key=k1`))).toBe('/wanted');
    const page = await browser.get(`${there.origin}/callback?auth_key=k1`, { cookie: old });
    expect(page.status).toBe(200);
    expect(page.headers.getSetCookie()).toEqual([]);
    const [, url = ''] = /^2; url=(.*)$/.exec(page.headers.get('refresh') ?? '') ?? [];
    expect(await page.text()).not.toContain('k1');
    // The browser has the other response by then.
    const cookie = browser.cookies(here.origin);
    const again = await browser.get(`${there.origin}/callback${url}`, { cookie });
    expect(locationOf(again)).toBe('/wanted');
    // So it is with a "Continue" that comes twice.
    const continued = `/callback?marketgate=${'a'.repeat(22)}&answer=continue`;
    const other = await browser.get(there.origin + continued, { cookie: old });
    expect([other.status, other.headers.getSetCookie()]).toEqual([200, []]);
    // Without it, the login is refused.
    expect(
      (await new Browser().get(`${there.origin}/callback${url}`, { cookie: old })).status,
    ).toBe(403);
    expect(there.exchanged).toEqual([]);
  },
);

it('a callback that another process is exchanging is refused at once, and leaves the visitor logged in', async () => {
  const options = { store: new MemoryStore(), spent: new Set<string>() };
  const here = await openApp(options);
  const there = await openApp(options);
  const browser = await visitor(here.origin);
  const cookie = browser.cookies(here.origin);
  const first = browser.get(`${here.origin}/callback?auth_key=k1`);
  await vi.waitFor(() => expect(here.exchanged).toEqual(['k1']), FROM_BROWSER);
  const second = await browser.get(`${there.origin}/callback?auth_key=k1`, { cookie });
  expect([second.status, second.headers.getSetCookie()]).toEqual([401, []]);
  here.letGoOn();
  expect(locationOf(await first)).toBe('/wanted');
  expect((await browser.open(`${here.origin}/who`)).text).toBe('/who 77');
});

it.each(['session', 'cookie'] as const)(
  'a callback that comes twice fails twice, and is forgotten, with attempts in a %s',
  async (where) => {
    const verify = vi.fn((_input: unknown): object | false => false);
    const { start, comeBack } = openLogin({ where, verify });
    const headers = { headers: { cookie: 'sid=1' } };
    await start({}, where === 'session' ? headers : {});
    const request = where === 'session' ? headers : {};
    const both = await Promise.all([comeBack('k1', request), comeBack('k1', request)]);
    expect(both.map(({ outcome }) => outcome?.[2])).toEqual([401, 401]);
    expect(verify).toHaveBeenCalledTimes(1);
    expect((await comeBack('k1', request)).outcome?.[2]).toBe(403);
  },
);
