import type { IncomingMessage, ServerResponse } from 'node:http';
import session from 'express-session';
import { MarketplaceStrategy, type MarketplaceStrategyOptions, returnTo } from 'marketgate';
import { type AuthenticateOptions, Passport } from 'passport';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { Browser } from '../../support/browser.js';
import { listen } from '../../support/listen.js';
import {
  cookieBrowser,
  fakeLoginApi,
  longSecret,
  openLogin,
} from '../../support/strategy-harness.js';

// The strategy with passport on Node alone: no Express, and sessions of several kinds.

type Data = Record<string, unknown>;
type Use = (req: IncomingMessage, res: ServerResponse, next: () => void) => void;

/** A session that is one object, with methods as iron-session has them: they cannot be replaced. */
function sessionWith(methods: (data: Data, saved: Data) => Record<string, unknown>): Use {
  const saved: Data = {};
  return (req, _res, next) => {
    const data: Data = { ...saved };
    for (const [name, value] of Object.entries(methods(data, saved))) {
      Object.defineProperty(data, name, { value });
    }
    Object.assign(req, { session: data });
    next();
  };
}

function keep(saved: Data, data: Data): void {
  for (const key of Object.keys(saved)) delete saved[key];
  Object.assign(saved, structuredClone({ ...data }));
}

const ironSession = (): Use =>
  sessionWith((data, saved) => ({
    save: async () => keep(saved, data),
    destroy: () => keep(saved, {}),
  }));

const withPromises = (): Use =>
  sessionWith((data, saved) => ({
    id: 'a',
    save: async () => keep(saved, data),
    regenerate: async () => keep(data, {}),
  }));

/** Promises of a library. */
const withThenables = (): Use => {
  const thenable = (run: () => void) =>
    Object.fromEntries([['then', (done: () => void) => [run(), done()]]]);
  return sessionWith((data, saved) => ({
    id: 'a',
    save: () => thenable(() => keep(saved, data)),
    regenerate: () => thenable(() => keep(data, {})),
  }));
};

/** cookie-session with the methods that passport misses, as apps put them on. */
const polyfilled = (): Use =>
  sessionWith((data, saved) => {
    Object.assign(data, {
      save: (done: () => void) => {
        const { save: _save, regenerate: _regenerate, ...rest } = data;
        keep(saved, rest);
        done();
      },
      regenerate: (done: () => void) => done(),
    });
    return {};
  });

const expressSession = (): Use =>
  session({ secret: longSecret(), resave: false, saveUninitialized: false }) as unknown as Use;

async function open(
  use: Use | undefined,
  authOptions: AuthenticateOptions = {},
  options: Partial<MarketplaceStrategyOptions> = {},
) {
  const { loginApi, exchanged } = fakeLoginApi();
  const passport = new Passport();
  passport.serializeUser((user, done) => done(null, user));
  passport.deserializeUser((user: Express.User, done) => done(null, user));
  passport.use(
    new MarketplaceStrategy({ loginApi, ...options }, ({ profile }) => ({ id: profile.id })),
  );
  const authenticate = passport.authenticate('marketplace', authOptions);
  const origin = await listen((req, res) => {
    const answer = (error?: unknown) => {
      const { user } = req as { user?: unknown };
      res.end(JSON.stringify({ user, to: returnTo(req), error: error && String(error) }));
    };
    const run = req.url === '/account' ? passport.session() : authenticate;
    const next = () => run(req as never, res as never, answer);
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

describe.each<[string, () => Use]>([
  ['express-session', expressSession],
  ['one like iron-session: a promise, no regenerate, methods that cannot be replaced', ironSession],
  ['one whose methods return promises', withPromises],
  ['one whose methods return the promises of a library', withThenables],
  ['cookie-session with methods of the app’s own', polyfilled],
])('with %s', (_name, makeSession) => {
  it.each([false, true])('a login is kept by passport; keepSessionInfo: %s', async (keeps) => {
    const { ask, exchanged } = await open(makeSession(), { keepSessionInfo: keeps });
    const { response } = await ask('/login');
    expect(response.headers.get('location')).toContain('/api/oauth?app_id=');
    expect((await ask('/callback?auth_key=k1')).body).toEqual({ user: { id: '77' } });
    expect((await ask('/account')).body).toEqual({ user: { id: '77' } });
    expect(exchanged).toEqual(['k1']);
  });
});

const inCookie = { loginAttempts: { cookieSecret: longSecret() } };

describe('with a session that cannot regenerate, as cookie-session', () => {
  const cookieSession = (): Use => sessionWith(() => ({}));

  it('a login is refused before it starts', async () => {
    const { ask } = await open(cookieSession());
    const { body } = await ask('/login');
    expect(body.error).toMatch(/^Error: MarketplaceStrategy: .*regenerate.*session: false/);
  });

  it('and with session: false, where passport keeps no login, it works', async () => {
    const { ask } = await open(cookieSession(), { session: false });
    expect((await ask('/login')).response.status).toBe(302);
  });

  it('and for passport.authorize, which logs nobody in, it works', async () => {
    const { ask, exchanged } = await open(cookieSession(), { assignProperty: 'account' }, inCookie);
    expect((await ask('/login')).response.status).toBe(302);
    expect((await ask('/callback?auth_key=k1')).body).toEqual({});
    expect(exchanged).toEqual(['k1']);
  });
});

describe('a session that does not answer', () => {
  const never = () => undefined;
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
  async function timeOut<T>(promise: Promise<T>): Promise<T> {
    for (let i = 0; i < 20; i++) await new Promise(setImmediate);
    await vi.advanceTimersByTimeAsync(5000);
    return promise;
  }
  const error = (method: string) =>
    expect.objectContaining({
      code: 'store_unavailable',
      message: expect.stringContaining(`session.${method} did not answer within 5000 ms`),
    });

  it('when it is saved is an error', async () => {
    const { recorded } = await timeOut(openLogin().start({}, { session: { save: never } }));
    expect(recorded).toEqual([['error', error('save')]]);
  });

  it.each(['regenerate', 'save'])('when passport calls %s is an error', async (method) => {
    const { strategy } = openLogin();
    const passport = new Passport();
    passport.serializeUser((user, done) => done(null, user));
    const answers = (done: () => void) => done();
    const held: Data = { regenerate: answers, save: answers };
    const visit = (query: object) =>
      new Promise((resolve) => {
        const { req, res } = cookieBrowser().request(query, { session: held });
        Object.assign(res, { end: resolve });
        passport.authenticate(strategy)(req as never, res as never, resolve);
      });
    await visit({});
    // Taking the attempt saves, too: only what passport calls hangs.
    held.regenerate =
      method === 'regenerate'
        ? never
        : (done: () => void) => {
            held.save = never;
            done();
          };
    expect(await timeOut(visit({ auth_key: 'k1' }))).toEqual(error(method));
  });
});

describe('a login that passport would keep in a session that cannot regenerate is refused', () => {
  const byPassport = { _sessionManager: {}, session: { id: 'a' } };
  const message = /^Error: MarketplaceStrategy: .*regenerate/;

  it('at the callback, which spends nothing', async () => {
    const { start, comeBack, exchanged } = openLogin({ where: 'cookie' });
    await start();
    const { outcome } = await comeBack('k1', byPassport);
    expect([outcome?.[0], String(outcome?.[1])]).toEqual(['error', expect.stringMatching(message)]);
    expect(exchanged).toEqual([]);
    expect((await comeBack('k1', byPassport, { session: false })).outcome?.[0]).toBe('success');
  });

  it('at "Continue", which can be tried again', async () => {
    const { upToThePage, visit } = openLogin({ where: 'cookie', confirm: true });
    const answer = { confirm: await upToThePage(), answer: 'continue' };
    const { outcome } = await visit(answer, byPassport);
    expect([outcome?.[0], String(outcome?.[1])]).toEqual(['error', expect.stringMatching(message)]);
    expect((await visit(answer)).outcome?.[0]).toBe('success');
  });
});

describe('on Node alone, without a session', () => {
  it('a login can start where the app itself keeps who is logged in', async () => {
    const { ask } = await open(undefined, {}, inCookie);
    expect((await ask('/login')).response.status).toBe(302);
  });

  it('a login works with its attempts in a cookie', async () => {
    const { ask } = await open(undefined, { session: false }, inCookie);
    const { response } = await ask('/login');
    expect(response.headers.get('set-cookie')).toContain('HttpOnly');
    expect(response.headers.get('cache-control')).toBe('no-store');
    expect((await ask('/callback?auth_key=k1')).body).toEqual({ user: { id: '77' } });
  });

  it('the page asks at the callback, and "Continue" logs in', async () => {
    const { ask } = await open(undefined, { session: false }, { ...inCookie, confirm: true });
    await ask('/login');
    const { response } = await ask('/callback?auth_key=k1');
    const page = response.headers.get('location') ?? '';
    expect(page).toMatch(/^\/callback\?confirm=/);
    expect((await ask(page)).text).toContain('Continue as');
    expect((await ask(`${page}&answer=continue`)).body).toEqual({ user: { id: '77' } });
  });
});
