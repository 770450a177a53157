import express5 from 'express';
import session, { MemoryStore, type SessionOptions } from 'express-session';
import express4 from 'express4';
import { errorHandler, isFreshLogin, returnTo } from 'marketgate';
import { describe, expect, it, vi } from 'vitest';
import { Browser } from '../../support/browser.js';
import { hear } from '../../support/hear.js';
import { listen } from '../../support/listen.js';
import {
  longSecret,
  type OpenLogin,
  openLogin,
  passportWith,
  user,
} from '../../support/strategy-harness.js';
import { userInfo } from '../../support/wire.js';

// A browser sends a callback or a "Continue" twice: a service worker's preload, a double click, a virus scanner. Over real
// sockets, with passport and express-session.

interface Options extends OpenLogin {
  express?: typeof express5;
  sessionOptions?: Partial<SessionOptions>;
  isMadePerRequest?: boolean;
  /** More options of the callback's `passport.authenticate`. */
  auth?: object;
  /** How often the callback's route has the strategy. */
  runs?: number;
}

/** One process of an app, and a browser that has begun a login there. */
async function openApp(given: Options) {
  const { express = express5, sessionOptions, isMadePerRequest, auth, runs = 1, ...more } = given;
  const { strategy, loginApi, exchanged } = openLogin(more);
  const passport = passportWith(strategy);
  const callbacks: string[] = [];
  const logins: unknown[] = [];
  const app = express();
  const options = { secret: longSecret(), resave: false, saveUninitialized: false };
  app.use(session({ ...options, ...sessionOptions }), passport.session());
  app.get('/login', passport.authenticate('marketplace', { returnTo: '/wanted' }));
  app.get('/callback', (req, _res, next) => {
    callbacks.push(req.url);
    next();
  });
  for (let i = 0; i < runs; i++) {
    app.get('/callback', (req, res, next) => {
      const made = isMadePerRequest ? openLogin({ loginApi, ...more }).strategy : 'marketplace';
      passport.authenticate(made, { failWithError: true, ...auth })(req, res, next);
    });
  }
  app.get('/callback', (req, res) => {
    if (isFreshLogin(req)) logins.push(req.user);
    res.redirect(returnTo(req) ?? '/home');
  });
  app.use((req, res) => void res.send(`${req.path} ${req.user?.id ?? 'nobody'}`));
  app.use(errorHandler({ log: false }));
  const origin = await listen(app);
  const browser = new Browser();
  await browser.get(`${origin}/login`);
  return { origin, browser, cookie: browser.cookies(origin), exchanged, callbacks, logins };
}

const locationOf = (response: Response) => response.headers.get('location') ?? '';

const MODES: [string, Options][] = [
  ['a session', {}],
  // As an app with several tenants makes it.
  [
    'a cookie, on Express 4, by a strategy made for each request',
    { where: 'cookie', express: express4, isMadePerRequest: true },
  ],
];

describe.each(MODES)('with attempts in %s', (_where, mode) => {
  it('a callback that comes twice, while the first runs or after it, ends each time in the login, and is exchanged once', async () => {
    const getUser = async () => {
      await vi.waitFor(() => expect(app.callbacks).toHaveLength(2), { timeout: 40_000 });
      return userInfo;
    };
    const app = await openApp({ ...mode, api: { getUser } });
    const { browser, origin, cookie, exchanged, logins } = app;
    // As of requests whose responses the browser drops.
    const callback = () => browser.get(`${origin}/callback?auth_key=k1`, { cookie });
    const responses = [...(await Promise.all([callback(), callback()])), await callback()];
    expect(responses.map(locationOf)).toEqual(['/wanted', '/wanted', '/wanted']);
    expect([exchanged, logins]).toEqual([['k1'], [user, user, user]]);
    expect((await browser.open(`${origin}/who`)).text).toBe('/who 77');
  });

  it('a callback that comes twice is asked about once, and so is its "Continue"', async () => {
    const { origin, browser, cookie, exchanged } = await openApp({ ...mode, confirm: true });
    const callback = () => browser.get(`${origin}/callback?auth_key=k1`, { cookie });
    const [page = '', other] = (await Promise.all([callback(), callback()])).map(locationOf);
    expect([page, exchanged]).toEqual([other, ['k1']]);
    const asking = { cookie: browser.cookies(origin) };
    for (let i = 0; i < 2; i++) {
      const response = await browser.get(`${origin}/callback${page}&answer=continue`, asking);
      expect(locationOf(response)).toBe('/wanted');
    }
    expect((await browser.open(`${origin}/who`)).text).toBe('/who 77');
  });
});

it('a login is not remembered for ever, and not for a stranger who has planted the cookies', async () => {
  const { origin, cookie, exchanged } = await openApp({});
  const callback = async (key: string) =>
    (await new Browser().get(`${origin}/callback?auth_key=${key}`, { cookie })).status;
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  expect([await callback('k1'), await callback('k1')]).toEqual([302, 302]);
  expect(await callback('k2')).not.toBe(302);
  await vi.advanceTimersByTimeAsync(10_000);
  expect(await callback('k1')).not.toBe(302);
  expect(exchanged).toEqual(['k1']);
});

it.each([
  ['passport.authorize', { assignProperty: 'account' }],
  ['session: false', { session: false }],
])('so it is with %s', async (_what, auth) => {
  const { origin, browser, cookie, exchanged } = await openApp({ auth });
  for (let i = 0; i < 2; i++) {
    const response = await browser.get(`${origin}/callback?auth_key=k1`, { cookie });
    expect(locationOf(response)).toBe('/wanted');
  }
  expect(exchanged).toEqual(['k1']);
});

it('a strategy that runs twice in a request, as in guards of a controller and of a route, ends twice in the login', async () => {
  const { origin, browser, exchanged, logins } = await openApp({ runs: 2 });
  const outcomes = hear('login');
  expect(locationOf(await browser.get(`${origin}/callback?auth_key=k1`))).toBe('/wanted');
  expect([exchanged, logins]).toEqual([['k1'], [user]]);
  expect(outcomes).toEqual([{ outcome: 'success' }, { outcome: 'success' }]);
  expect((await browser.open(`${origin}/who`)).text).toBe('/who 77');
});

it('a callback whose session another process has replaced gets a page without a cookie, which finds the login', async () => {
  const store = new MemoryStore();
  const options = { sessionOptions: { store, saveUninitialized: true, unset: 'destroy' as const } };
  const { browser, origin, cookie: old } = await openApp(options);
  const there = await openApp(options);
  const open = (query: string, cookie: string) =>
    new Browser().get(`${there.origin}/callback${query}`, { cookie });
  expect(locationOf(await browser.get(`${origin}/callback?auth_key=k1`))).toBe('/wanted');
  // So it is with a "Continue" that comes twice.
  for (const query of ['?auth_key=k1', `?marketgate=${'a'.repeat(22)}&answer=continue`]) {
    const page = await open(query, old);
    expect([page.status, page.headers.getSetCookie()]).toEqual([200, []]);
    expect(page.headers.get('refresh')).toBe('2; url=?marketgate=again');
    expect(await page.text()).not.toContain('k1');
  }
  // The browser has the other response by then; without it, the login is refused.
  expect(locationOf(await open('?marketgate=again', browser.cookies(origin)))).toBe('/wanted');
  const refused = await open('?marketgate=again', old);
  expect([refused.status, await refused.text()]).toEqual([403, expect.stringContaining('again')]);
  expect(there.exchanged).toEqual([]);
});

it('a callback that comes twice fails twice, and is forgotten', async () => {
  const verify = vi.fn((_input: unknown) => false);
  const { start, comeBack } = openLogin({ verify });
  const request = { headers: { cookie: 'sid=1' } };
  await start({}, request);
  const both = await Promise.all([comeBack('k1', request), comeBack('k1', request)]);
  expect(both.map(({ outcome }) => outcome?.[2])).toEqual([401, 401]);
  expect(verify).toHaveBeenCalledTimes(1);
  expect((await comeBack('k1', request)).outcome?.[2]).toBe(403);
});
