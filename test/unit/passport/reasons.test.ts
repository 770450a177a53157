import session from 'express-session';
import { errorHandler, MarketplaceStrategy, problemOf, requireLogin } from 'marketgate';
import { Passport, type Strategy } from 'passport';
import { describe, expect, it } from 'vitest';
import { Browser } from '../../support/browser.js';
import { expressVersions } from '../../support/express-versions.js';
import { openShop } from '../../support/shop.js';
import {
  failing,
  longSecret,
  type OpenLogin,
  openLogin,
  user,
} from '../../support/strategy-harness.js';

// A callback that finds no attempt says why, as far as the request shows it. Visitors are told of cookies only where none
// has come back.

const TEN_MINUTES = 600_000;
const withCookie = { headers: { cookie: 'connect.sid=s%3Aold.signature' } };

type Login = ReturnType<typeof openLogin> & { now: (at: number) => void };
type Visit = Promise<{ outcome?: unknown[] | undefined }>;

it.each<[string, RegExp, OpenLogin, (login: Login) => Visit]>([
  [
    'the session is not in the store: another process, or a restart',
    /not in the session store: .*another process.*restarted/,
    {},
    async ({ comeBack, visit }) => {
      const gone = { ...withCookie, session: {}, sessionID: 'new' };
      // The first time, another process can have replaced it.
      expect((await comeBack('k1', { ...gone })).outcome?.[0]).toBe('page');
      return visit({ marketgate: 'again' }, { ...gone });
    },
  ],
  [
    'two cookies of the session came',
    /two cookies of one name came \(connect.sid\)/,
    {},
    ({ comeBack }) => {
      const cookie = 'connect.sid=s%3Aold.signature; connect.sid=s%3Aabc.signature';
      return comeBack('k1', { headers: { cookie }, session: {}, sessionID: 'new' });
    },
  ],
  [
    'another request has saved the session over it',
    /resave: true/,
    {},
    ({ comeBack }) => comeBack('k1', { ...withCookie, session: {}, sessionID: 'old' }),
  ],
  [
    'it began on http and came back on https',
    /began on http and came back on https/,
    { where: 'cookie' },
    ({ comeBack }) => comeBack('k1', { secure: true }),
  ],
  [
    'it began on https and came back on http',
    /began on https and came back on http:/,
    { where: 'cookie', secure: true },
    ({ comeBack }) => comeBack('k1', { secure: false }),
  ],
  [
    'it is too old',
    /began more than ten minutes ago/,
    {},
    ({ now, comeBack }) => {
      now(TEN_MINUTES);
      return comeBack('k1', withCookie);
    },
  ],
  [
    'another login of this browser has taken its place',
    /another login of this browser has taken its place/,
    {},
    async ({ comeBack }) => {
      await comeBack('k1', withCookie);
      return comeBack('k2', { headers: { cookie: 'connect.sid=new' } });
    },
  ],
  [
    'it waits for "Continue" in another tab',
    /waits for "Continue"/,
    { confirm: true },
    async ({ comeBack }) => {
      await comeBack('k1', withCookie);
      return comeBack('k2', { headers: { cookie: 'connect.sid=other' } });
    },
  ],
  [
    'somebody has logged out since',
    /logged in, or out, since it began/,
    {},
    async ({ start, comeBack, session: held }) => {
      for (const key of Object.keys(held)) delete held[key];
      await start({}, { user });
      return comeBack('k1', withCookie);
    },
  ],
])('no attempt, because %s', async (_why, reason, options, visit) => {
  let time = 0;
  const login = openLogin({ clock: () => time, ...options });
  await login.start();
  const now = (later: number) => {
    time += later;
  };
  const { outcome } = await visit({ ...login, now });
  expect(outcome).toMatchObject(['fail', { message: expect.stringMatching(reason) }, 403]);
  expect(problemOf(outcome?.[1])?.detail).not.toContain('cookies');
});

it.each<[string, object, object, RegExp]>([
  ['None without Secure', { sameSite: 'none' }, {}, /refuse SameSite=None without Secure/],
  ['Partitioned without Secure', { partitioned: true }, {}, /refuse Partitioned without Secure/],
  ['of another domain', { domain: '.b.example' }, {}, /refuse its Domain=\.b\.example from a\.ex/],
  [
    'of its own domain',
    { domain: 'EXAMPLE', secure: true },
    { secure: true },
    /: the browser blocks/,
  ],
  ['Secure over http', { secure: true }, {}, /refuse Secure over http/],
  ['SameSite=Strict', { sameSite: true }, {}, /use SameSite=Lax/],
  ['with a prefix, over http', {}, {}, /begins with __Host- or __Secure-/],
])('no attempt, because browsers refuse the session’s cookie: %s', async (...row) => {
  const [, cookie, more, reason] = row;
  const request = { session: { cookie }, sessionID: 'new', ...more };
  for (const header of ['', 'other=1']) {
    const headers = { host: 'a.example', cookie: header };
    const { outcome } = await openLogin().comeBack('k1', { ...request, headers });
    expect(outcome).toMatchObject(['fail', { message: expect.stringMatching(reason) }, 403]);
  }
});

it('no attempt, because no cookie came back: only then the visitor is told to allow cookies', async () => {
  const { outcome } = await openLogin().comeBack('k1');
  expect(outcome).toMatchObject(['fail', { message: expect.stringContaining('no cookie') }, 403]);
  expect(problemOf(outcome?.[1])?.detail).toContain('allow cookies');
});

describe('with passport, in an array of strategies', () => {
  const named = (
    name: string,
    authenticate: (this: Record<string, (it: object) => void>) => void,
  ) => ({ name, authenticate }) as Strategy;
  const anonymous = named('anonymous', function () {
    this.success?.({ id: 'anonymous' });
  });
  const refusing = named('refusing', function () {
    this.fail?.({ message: 'of another strategy' });
  });

  /** How passport ends a callback that fails: with an error for `next`, a user, or a response. */
  async function end(names: string[], authOptions: object) {
    const { strategy, browser } = openLogin({ where: 'cookie', ...failing('auth_key_rejected') });
    const passport = new Passport();
    for (const it of [strategy, anonymous, refusing]) passport.use(it);
    const visit = (query: object) =>
      new Promise<unknown[]>((resolve) => {
        const { req, res } = browser.request(query);
        const options = { session: false, ...authOptions };
        const next = (error?: unknown) => resolve([error, (req as { user?: object }).user]);
        Object.assign(res, { end: (body?: string) => resolve(['response', body]) });
        passport.authenticate(names, options)(req as never, res as never, next);
      });
    await visit({});
    return visit({ auth_key: 'k1' });
  }

  it('the next one is tried', async () => {
    expect(await end(['marketplace', 'anonymous'], {})).toEqual([undefined, { id: 'anonymous' }]);
  });

  it.each([[['marketplace']], [['marketplace', 'refusing']]])(
    'the error of failWithError says why where all of %j have failed',
    async (names) => {
      const [error] = await end(names, { failWithError: true });
      expect(error).toMatchObject({ code: 'auth_key_rejected', message: 'because', status: 401 });
      expect(await end(names, {})).toEqual(['response', 'Unauthorized']);
    },
  );
});

it.each(expressVersions)(
  'successReturnToOrRedirect on %s leads to the page that requireLogin has saved, and else where it says',
  async (_version, express) => {
    const { loginApi, serve } = await openShop();
    const passport = new Passport();
    passport.serializeUser((it, done) => done(null, it));
    passport.deserializeUser((it: Express.User, done) => done(null, it));
    passport.use(new MarketplaceStrategy({ loginApi }, ({ profile }) => ({ id: profile.id })));
    const app = express();
    app.use(session({ secret: longSecret(), resave: false, saveUninitialized: false }));
    app.use(passport.session());
    const login = passport.authenticate('marketplace', { successReturnToOrRedirect: '/home' });
    app.get(['/login', '/callback'], login);
    app.get('/account', requireLogin(), (req, res) => void res.send(req.originalUrl));
    app.get('/home', (_req, res) => void res.send('home'));
    app.use(errorHandler({ loginPath: '/login', log: false }));
    const origin = await serve(app);
    expect((await new Browser().logIn(`${origin}/account?tab=2`)).text).toBe('/account?tab=2');
    const browser = new Browser();
    expect((await browser.logIn(`${origin}/login`)).text).toBe('home');
    const callback = browser.history.find((url) => url.includes('auth_key=')) ?? '';
    expect((await browser.open(callback)).text).toBe('home');
  },
);

it.each(expressVersions)(
  'successReturnToOrRedirect on %s without a session leads where it says, because passport reads the page there',
  async (_version, express) => {
    const { loginApi, serve } = await openShop();
    const passport = new Passport();
    const loginAttempts = { cookieSecret: longSecret() };
    const verify = ({ profile }: { profile: { id: string } }) => ({ id: profile.id });
    passport.use(new MarketplaceStrategy({ loginApi, loginAttempts }, verify));
    const app = express();
    const options = { session: false, successReturnToOrRedirect: '/home' };
    app.get(['/login', '/callback'], passport.authenticate('marketplace', options));
    app.get('/account', requireLogin());
    app.get('/home', (_req, res) => void res.send('home'));
    app.use(errorHandler({ loginPath: '/login', log: false }));
    const origin = await serve(app);
    expect((await new Browser().logIn(`${origin}/account?tab=2`)).text).toBe('home');
  },
);
