import type { Request } from 'express';
import session from 'express-session';
import type { AuthenticateOptions } from 'passport';
import { describe, expect, it } from 'vitest';
import { Browser } from '../../support/browser.js';
import { throwing } from '../../support/errors.js';
import { allowNoUnhandledRejection } from '../../support/hear.js';
import { fakeTimers, later } from '../../support/later.js';
import { listen } from '../../support/listen.js';
import {
  failing,
  longSecret,
  type OpenLogin,
  openLogin,
  passportWith,
  success,
} from '../../support/strategy-harness.js';
import { hearWarnings } from '../../support/warnings.js';

// Sessions in which passport cannot keep a login, and apps without Express or without a session.

const inCookie: OpenLogin = { where: 'cookie' };

describe('with a session that cannot keep a login', () => {
  /** A request behind `passport.session()`. */
  const behind = (session?: object) => ({ _sessionManager: {}, session });
  const regenerate = () => {};

  it.each<[string, object, RegExp]>([
    ['cookie-session', {}, /regenerate.*cookieSecret/],
    ['iron-session', { save: async () => {}, regenerate }, /promises only.*save.*cookieSecret/],
    ['a Secure cookie on http', { regenerate, cookie: { secure: true } }, /Secure.*trust proxy/],
  ])('a login is refused before it starts, and says what to use: %s', async (_name, given, why) => {
    fakeTimers();
    const { outcome } = await later(openLogin().start({}, behind(given)));
    expect(outcome).toMatchObject(['error', { message: expect.stringMatching(why) }]);
  });

  it('cookie-session holds no attempt with session: false either, because it is not encrypted', async () => {
    const { outcome } = await openLogin().start({ session: false }, behind({ isPopulated: false }));
    const message = expect.stringMatching(/not encrypted.*cookieSecret/);
    expect(outcome).toMatchObject(['error', { message }]);
  });

  it.each<[string, AuthenticateOptions, object?]>([
    ['session: false, where passport keeps no login,', { session: false }, {}],
    ['passport.authorize, which logs nobody in,', { assignProperty: 'account' }, {}],
    ['no session at all, where the app keeps the login,', {}],
  ])('%s works', async (_name, authOptions, session) => {
    const { start, comeBack } = openLogin(inCookie);
    expect((await start(authOptions, behind(session))).outcome?.[0]).toBe('redirect');
    expect((await comeBack('k1', behind(session), authOptions)).outcome).toEqual(success);
  });

  const byProxy = { headers: { 'x-forwarded-proto': 'https' } };
  const trusting = { app: { get: () => 1 } };
  it.each<[string, object, string[]]>([
    ['Express says https', { secure: true }, []],
    ['a proxy says https, which is declared', { ...byProxy, ...trusting }, []],
    ['a proxy says https, and it is not declared', byProxy, ['X_FORWARDED_FOR']],
  ])('a Secure cookie is enough where %s', async (_who, more, warned) => {
    const warnings = hearWarnings();
    const req = behind({ regenerate, cookie: { secure: true } });
    expect((await openLogin().start({}, { ...req, ...more })).outcome?.[0]).toBe('redirect');
    expect(warnings).toEqual(warned.map((end) => `MARKETGATE_UNEXPECTED_${end}`));
  });

  it('neither a callback nor "Continue" spends anything', async () => {
    const byPassport = behind({});
    const refused = ['error', expect.objectContaining({ message: expect.stringMatching(/regen/) })];
    const login = openLogin({ ...inCookie, confirm: true });
    await login.start();
    expect((await login.comeBack('k1', byPassport)).outcome).toEqual(refused);
    expect(login.exchanged).toEqual([]);
    const answer = { marketgate: await login.upToThePage(), answer: 'continue' };
    expect((await login.visit(answer, byPassport)).outcome).toEqual(refused);
    expect((await login.visit(answer)).outcome).toEqual(success);
  });
});

it('a session that does not answer when the attempt is saved is an error after five seconds', async () => {
  fakeTimers();
  const { recorded } = await later(openLogin().start({}, { session: { save: () => undefined } }));
  const message = expect.stringMatching(/session.*save.* did not answer within 5000 ms/);
  const error = expect.objectContaining({ code: 'store_unavailable', message });
  expect(recorded).toEqual([['error', error]]);
});

it('on Node alone, without a session, a login and "Continue" work with their state in a cookie', async () => {
  const passport = passportWith(openLogin({ ...inCookie, confirm: true }).strategy);
  const authenticate = passport.authenticate('marketplace', { session: false });
  const origin = await listen((req, res) => {
    const request = Object.assign(req, { res }) as never as Request;
    authenticate(request, res as never, () => res.end(JSON.stringify(request.user)));
  });
  const browser = new Browser();
  const { headers } = await browser.get(origin);
  expect(headers.get('set-cookie')).toContain('HttpOnly');
  const page = await browser.open(`${origin}/?auth_key=k1`);
  expect(page.text).toContain('Continue as');
  expect((await browser.pressContinue(page)).text).toBe('{"id":"77"}');
});

describe('what the app throws ends no process: Node alone responds with 500, and prints it once', () => {
  allowNoUnhandledRejection();

  it.each<[string, OpenLogin, boolean]>([
    ['in a callback, after a failed login', failing('auth_key_rejected'), true],
    ['in the handler behind a login', {}, false],
  ])('%s', async (_name, options, hasCallback) => {
    const passport = passportWith(openLogin(options).strategy);
    const fail = throwing(new TypeError('of the app'));
    const authenticate = hasCallback
      ? passport.authenticate('marketplace', fail)
      : passport.authenticate('marketplace');
    const use = session({ secret: longSecret(), resave: false, saveUninitialized: false });
    const origin = await listen((req, res) => {
      Object.assign(req, { res });
      use(req as never, res as never, () => authenticate(req as never, res as never, fail));
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
