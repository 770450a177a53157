import type { IncomingMessage, ServerResponse } from 'node:http';
import session from 'express-session';
import { requireLogin, returnTo } from 'marketgate';
import type { AuthenticateOptions } from 'passport';
import { describe, expect, it } from 'vitest';
import { Browser } from '../../support/browser.js';
import { throwing } from '../../support/errors.js';
import { allowNoUnhandledRejection } from '../../support/hear.js';
import { fakeTimers, later } from '../../support/later.js';
import { listen } from '../../support/listen.js';
import { passportWith } from '../../support/passport-app.js';
import { failing, longSecret, type OpenLogin, openLogin } from '../../support/strategy-harness.js';

// The strategy with passport, most often on Node alone: no Express, and sessions of several kinds.

type Data = Record<string, unknown>;
type Use = (req: IncomingMessage, res: ServerResponse, next: () => void) => void;

/** A session that is one object, with methods that cannot be replaced. */
function sessionWith(methods: (data: Data, keep: (data: Data) => void) => Data): Use {
  let saved: Data = {};
  const keep = (data: Data) => {
    saved = structuredClone({ ...data });
  };
  return (req, _res, next) => {
    const data: Data = { ...saved };
    for (const [name, value] of Object.entries(methods(data, keep))) {
      Object.defineProperty(data, name, { value });
    }
    Object.assign(req, { session: data });
    next();
  };
}

const ironSession = () =>
  sessionWith((data, keep) => ({ save: async () => keep(data), destroy: () => keep({}) }));
const withPromises = () =>
  sessionWith((data, keep) => ({
    id: 'a',
    save: async () => keep(data),
    regenerate: async () => {},
  }));
const cookieSession = () => sessionWith(() => ({}));
const expressSession = (cookie: session.CookieOptions = {}): Use =>
  session({
    ...{ secret: longSecret(), resave: false, saveUninitialized: false, cookie },
  }) as unknown as Use;

async function open(
  use: Use | undefined,
  authOptions: AuthenticateOptions = {},
  options: OpenLogin = {},
) {
  const { strategy, exchanged } = openLogin(options);
  const passport = passportWith(strategy);
  const authenticate = passport.authenticate('marketplace', authOptions);
  const origin = await listen((req, res) => {
    Object.assign(req, { res });
    const answer = (error?: unknown) => {
      const { user } = req as { user?: unknown };
      const { redeemed } = (req as { session?: Data }).session ?? {};
      const body = { user, to: returnTo(req), redeemed, error: error && String(error) };
      res.end(JSON.stringify(body));
    };
    const others: Record<string, typeof authenticate> = {
      '/account': passport.session(),
      '/guarded': requireLogin({ loginPath: '/login' }),
    };
    const run = others[String(req.url)] ?? authenticate;
    const next = () => {
      if (req.url === '/login?redeemed')
        (req as never as { session: Data }).session.redeemed = true;
      run(req as never, res as never, answer);
    };
    if (use) use(req, res, next);
    else next();
  });
  const browser = new Browser();
  const ask = async (path: string) => {
    const response = await browser.get(`${origin}${path}`);
    const text = await response.text();
    return { response, text, body: text.startsWith('{') ? JSON.parse(text) : undefined };
  };
  return { ask, exchanged };
}

it.each([true, false])(
  'a login in express-session takes along what was there only with keepSessionInfo: %s',
  async (keepSessionInfo) => {
    const { ask } = await open(expressSession(), { keepSessionInfo });
    await ask('/login?redeemed');
    await ask('/callback?auth_key=k1');
    const kept = keepSessionInfo && { redeemed: true };
    expect((await ask('/account')).body).toEqual({ user: { id: '77' }, ...kept });
  },
);

const inCookie: OpenLogin = { where: 'cookie' };

describe('with a session that cannot keep a login', () => {
  const secure: Use = (req, res, next) => expressSession({ secure: true })(req, res, () => next());
  it.each<[string, Use, RegExp]>([
    ['cookie-session', cookieSession(), /regenerate/],
    ['iron-session', ironSession(), /regenerate/],
    ['one whose methods return promises', withPromises(), /promises only.*save/],
    ['one whose cookie the browser never gets', secure, /Secure.*trust proxy/],
  ])('a login is refused before it starts, and says what to use: %s', async (_name, use, why) => {
    const { ask } = await open(use);
    const { body, response } = await ask('/login');
    expect(body.error).toMatch(/^Error: MarketplaceStrategy: .*(cookieSecret|secure: 'auto')/);
    expect(body.error).toMatch(why);
    expect(response.headers.get('location')).toBeNull();
  });

  it.each<[string, AuthenticateOptions, object]>([
    ['session: false, where passport keeps no login,', { session: false }, { user: { id: '77' } }],
    ['passport.authorize, which logs nobody in,', { assignProperty: 'account' }, {}],
  ])('%s works', async (_name, authOptions, expected) => {
    const { ask, exchanged } = await open(cookieSession(), authOptions, inCookie);
    expect((await ask('/login')).response.status).toBe(302);
    expect((await ask('/callback?auth_key=k1')).body).toEqual(expected);
    expect(exchanged).toEqual(['k1']);
  });

  it('iron-session keeps the page of requireLogin all the same, and a login with session: false leads back to it', async () => {
    fakeTimers();
    const { ask } = await open(ironSession(), { session: false }, inCookie);
    const { text, response } = await later(ask('/guarded'));
    expect([text, response.headers.get('location')]).toEqual(['', '/login']);
    await ask('/login');
    expect((await ask('/callback?auth_key=k1')).body.to).toBe('/guarded');
  });

  it('which a proxy says the browser does get: the session can know of https what Express does not', async () => {
    const { start } = openLogin();
    const session = { regenerate: () => {}, cookie: { secure: true } };
    const req = { _sessionManager: {}, session };
    const headers = { 'x-forwarded-proto': 'https' };
    expect((await start({}, req)).outcome?.[0]).toBe('error');
    expect((await start({}, { ...req, headers })).outcome?.[0]).toBe('redirect');
    expect((await start({}, { ...req, secure: true })).outcome?.[0]).toBe('redirect');
  });

  it('neither a callback nor "Continue" spends anything', async () => {
    const byPassport = { _sessionManager: {}, session: { id: 'a' } };
    const refused = ['error', expect.objectContaining({ message: expect.stringMatching(/regen/) })];
    const login = openLogin({ where: 'cookie', confirm: true });
    await login.start();
    expect((await login.comeBack('k1', byPassport)).outcome).toEqual(refused);
    expect(login.exchanged).toEqual([]);
    const answer = { marketgate: await login.upToThePage(), answer: 'continue' };
    expect((await login.visit(answer, byPassport)).outcome).toEqual(refused);
    expect((await login.visit(answer)).outcome?.[0]).toBe('success');
  });
});

it('a session that does not answer when the attempt is saved is an error', async () => {
  fakeTimers();
  const { recorded } = await later(openLogin().start({}, { session: { save: () => undefined } }));
  const message = expect.stringMatching(/session.*save.* did not answer within 5000 ms/);
  const error = expect.objectContaining({ code: 'store_unavailable', message });
  expect(recorded).toEqual([['error', error]]);
});

it('on Node alone, without a session, a login and "Continue" work with their state in a cookie', async () => {
  const { ask } = await open(undefined, { session: false }, { ...inCookie, confirm: true });
  const { headers } = (await ask('/login')).response;
  expect([headers.get('set-cookie'), headers.get('cache-control')]).toEqual([
    expect.stringContaining('HttpOnly'),
    'no-store',
  ]);
  const { response } = await ask('/callback?auth_key=k1');
  const page = `/callback${response.headers.get('location')}`;
  expect((await ask(page)).text).toContain('Continue as');
  expect((await ask(`${page}&answer=continue`)).body).toEqual({ user: { id: '77' } });
});

it('an app without a session whose own callback keeps the login need not say session: false', async () => {
  const { strategy, browser } = openLogin(inCookie);
  const passport = passportWith(strategy);
  const visit = (query: object) =>
    new Promise((resolve) => {
      const { req, res } = browser.request(query);
      Object.assign(res, { end: () => resolve(res.headers.location) });
      const own = (error: unknown, user: unknown) => resolve(error ?? user);
      passport.authenticate('marketplace', own)(req as never, res as never, resolve);
    });
  expect(await visit({})).toContain('/api/oauth?app_id=');
  expect(await visit({ auth_key: 'k1' })).toEqual({ id: '77' });
});

describe('what the app throws ends no process: Node alone responds with 500, and prints it once', () => {
  allowNoUnhandledRejection();

  it.each<[string, OpenLogin, boolean]>([
    ['in a callback, after a failed login', failing('auth_key_rejected'), true],
    ['in a callback, after an outage', failing('service_unavailable'), true],
    ['in the handler behind a login', {}, false],
  ])('%s', async (_name, options, hasCallback) => {
    const passport = passportWith(openLogin(options).strategy);
    const fail = throwing(new TypeError('of the app'));
    const authenticate = hasCallback
      ? passport.authenticate('marketplace', fail)
      : passport.authenticate('marketplace');
    const use = expressSession();
    const origin = await listen((req, res) => {
      Object.assign(req, { res });
      use(req, res, () => authenticate(req as never, res as never, fail));
    });
    const browser = new Browser();
    await browser.get(origin);
    fakeTimers();
    const response = await later(browser.get(`${origin}/?auth_key=k1`));
    expect([response.status, await response.text()]).toEqual([500, 'Internal Server Error']);
    expect(console.error).toHaveBeenCalledExactlyOnceWith(new TypeError('of the app'));
  });
});

it('without req.res, which Express sets, a login is an error that has the line to add', async () => {
  const { strategy } = openLogin();
  const error = await new Promise((resolve) => {
    const derived = Object.assign(Object.create(strategy), { error: resolve });
    derived.authenticate({ method: 'GET', url: '/login', headers: {}, session: {} });
  });
  expect(String(error)).toMatch(/no response \(req\.res\).*req\.res = res; next\(\)/);
});
