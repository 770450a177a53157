import { MarketgateError, MarketplaceStrategy, MemoryTokenStore } from 'marketgate';
import OAuth2Strategy from 'passport-oauth2';
import { describe, expect, it, vi } from 'vitest';
import { everythingOf, throwing } from '../../support/errors.js';
import { hear } from '../../support/hear.js';
import {
  cookieBrowser,
  fakeLoginApi,
  logIn,
  type OpenLogin,
  openLogin,
  passportWith,
  success,
  user,
} from '../../support/strategy-harness.js';
import { userInfo } from '../../support/wire.js';

const failure = (code: string, status: number, message = '') => [
  'fail',
  expect.objectContaining({ code, message: expect.stringContaining(message) }),
  status,
];
const NOT_STARTED = failure('login_failed', 403, 'not started in this browser');
const ALREADY_USED = failure('auth_key_rejected', 401, 'already used');

it('is an OAuth2Strategy by the name of marketplace, and gives the base class no secret', () => {
  const { strategy } = openLogin();
  expect(strategy).toBeInstanceOf(OAuth2Strategy);
  expect(strategy).toMatchObject({ name: 'marketplace', _oauth2: { _clientSecret: '' } });
});

describe('the start of a login', () => {
  it('redirects to the service, with the app_id alone', async () => {
    // Helpers of an app's tests give no method.
    for (const method of ['POST', undefined]) {
      const { recorded } = await openLogin().start({}, { method });
      expect(recorded).toEqual([['redirect', 'https://market.example/api/oauth?app_id=app-7']]);
    }
  });

  it('is an error without a session, as is a callback', async () => {
    for (const query of [{}, { auth_key: 'k1' }]) {
      const { outcome, res } = await openLogin().visit(query, { session: undefined });
      expect(outcome).toEqual(['error', expect.any(Error)]);
      expect(String(outcome?.[1])).toContain('express-session');
      expect(res.headers['cache-control']).toBe('no-store');
    }
  });

  it('is an error when the session cannot be saved, without what the store says: that can quote the session', async () => {
    const full = Object.assign(new Error('secret'), { code: 'ENOSPC', command: ['secret'] });
    const session = { save: (done: (e: Error) => void) => done(full) };
    const { outcome } = await openLogin().start({}, { session });
    const message = expect.stringMatching(/^session.save failed \(Error, ENOSPC\); look at/);
    expect(outcome).toMatchObject(['error', { code: 'store_unavailable', message }]);
    expect(everythingOf(outcome?.[1])).not.toContain('secret');
  });
});

describe('a callback', () => {
  it('of a login that this browser did not start fails with 403 and spends nothing', async () => {
    const { comeBack, exchanged } = openLogin();
    const { recorded } = await comeBack('k1', {}, { successRedirect: '/home' });
    expect(recorded).toEqual([NOT_STARTED]);
    expect(exchanged).toEqual([]);
  });

  it('with an auth_key, or an attempt, that another one is using fails', async () => {
    const { exchanged, start, comeBack } = openLogin();
    const other = {};
    for (const more of [{}, { session: other }]) await start({}, more);
    const visits = [comeBack('k1'), comeBack('k1', { session: other }), comeBack('k2')];
    const outcomes = (await Promise.all(visits)).map(({ outcome }) => outcome);
    expect(outcomes).toEqual([success, ALREADY_USED, NOT_STARTED]);
    expect(exchanged).toEqual(['k1']);
  });

  it.each(['service_unavailable', 'too_many_attempts'] as const)(
    'that ends in %s uses nothing up: the visitor reloads, and is logged in',
    async (code) => {
      const token = { value: 'token-1', issuedAt: 0, expiresAt: 3_600_000 };
      const exchange = vi.fn(async () => token);
      exchange.mockRejectedValueOnce(new MarketgateError(code, 'because', { retryAfter: 60 }));
      const { start, comeBack } = openLogin({ api: { exchange } });
      await start();
      const { outcome, res } = await comeBack();
      expect(outcome).toMatchObject(['error', { code }]);
      expect(res.headers).toMatchObject({ 'retry-after': '60' });
      expect((await comeBack()).outcome).toEqual(success);
    },
  );

  it.each<[string, object, string]>([
    ['given twice', { auth_key: ['a', 'b'] }, 'given once'],
    ['blank', { auth_key: '  ' }, 'empty'],
    ['a list, as Express 5 leaves it', { 'auth_key[]': 'k1' }, 'given once'],
    ['given twice, once as a list', { auth_key: 'k1', 'auth_key[]': 'k2' }, 'given once'],
    ['in a query of the redirect URL', { x: '1?auth_key=k1' }, 'redirect URL'],
  ])('with an auth_key that is %s fails, and keeps the attempt', async (_name, query, message) => {
    const { start, visit, comeBack, exchanged } = openLogin();
    await start();
    expect((await visit(query)).recorded).toEqual([failure('auth_key_rejected', 401, message)]);
    expect((await comeBack()).outcome).toEqual(success);
    expect(exchanged).toEqual(['k1']);
  });

  it('is none where a start has such a link in a parameter', async () => {
    const { outcome } = await openLogin().visit({ next: 'https://b.example/?auth_key=1' });
    expect(outcome?.[0]).toBe('redirect');
  });

  it('by HEAD or POST spends neither the auth_key nor the attempt', async () => {
    const { start, comeBack, exchanged } = openLogin();
    await start();
    for (const method of ['HEAD', 'POST']) {
      const { outcome } = await comeBack('k1', { method });
      expect(outcome).toMatchObject(['error', { code: 'login_failed' }]);
    }
    expect(exchanged).toEqual([]);
    expect((await comeBack()).outcome).toEqual(success);
  });
});

it.each([
  ['passed on for a logged-in user', { user }, ['pass']],
  ['refused for a visitor', {}, ALREADY_USED],
])('a used auth_key is %s, and leaves the login of another tab alone', async (...row) => {
  const [, more, expected] = row;
  const { start, comeBack, exchanged } = openLogin();
  await start();
  await comeBack('k1');
  // The browser has begun no login.
  expect((await comeBack('k1')).recorded).toEqual([NOT_STARTED]);
  await start({ returnTo: '/second' }, more);
  for (let i = 0; i < 2; i++) expect((await comeBack('k1', more)).recorded).toEqual([expected]);
  expect(await comeBack('k2', more)).toMatchObject({ outcome: success, to: '/second' });
  expect(exchanged).toEqual(['k1', 'k2']);
});

it.each([
  ['to the handler', {}, ['pass']],
  ['to successRedirect', { successRedirect: '/中' }, ['redirect', '/%E4%B8%AD']],
  ['to successReturnToOrRedirect', { successReturnToOrRedirect: '/h' }, ['redirect', '/h']],
])(
  'a callback without an attempt in a logged-in browser is passed on %s, as no fresh login',
  async (...row) => {
    const [, authOptions, expected] = row;
    const { comeBack, exchanged } = openLogin();
    const visit = await comeBack('k1', { user }, { ...authOptions, returnTo: '/mine' });
    expect(visit).toMatchObject({ recorded: [expected], isFresh: false, to: '/mine' });
    expect(exchanged).toEqual([]);
  },
);

it('a login without a returnTo goes to that of the callback, and is a fresh login', async () => {
  const visit = await logIn({}, 'k1', {}, { returnTo: '/mine' });
  expect(visit).toMatchObject({ outcome: success, to: '/mine', isFresh: true });
});

it.each<[unknown, OpenLogin]>([
  ['192.0.2.1', {}],
  ['anna', { client: () => 'anna' }],
  [false, { client: false }],
])('a refused auth_key counts for the client: %j', async (client, options) => {
  const exchange = vi.fn(() => Promise.reject(new MarketgateError('auth_key_rejected', 'no')));
  const { loginApi } = fakeLoginApi();
  await logIn({ ...options, loginApi: { ...loginApi, exchange } as never }, 'k1', {
    ip: '192.0.2.1',
  });
  expect(exchange).toHaveBeenCalledWith('k1', { client });
});

it.each([
  ['exchange', 'auth_key_rejected', 'fail'],
  ['exchange', 'app_credentials_rejected', 'error'],
  ['exchange', 'service_unavailable', 'error'],
  ['getUser', 'access_token_expired', 'fail'],
  ['getUser', 'service_unavailable', 'error'],
] as const)('%s: %s is %s, on marketgate:login too', async (method, code, expected) => {
  const messages = hear('login');
  const fails = () => Promise.reject(new MarketgateError(code, 'because'));
  const { recorded } = await logIn({ api: { [method]: fails } });
  expect(recorded.map(([outcome]) => outcome)).toEqual([expected]);
  expect(recorded[0]?.[1]).toMatchObject({ code });
  const reason = expect.stringMatching(/^because/);
  expect(messages).toStrictEqual([{ outcome: 'redirect' }, { outcome: expected, code, reason }]);
});

it('the token store holds the token under the user_id before verify runs', async () => {
  const tokenStore = new MemoryTokenStore({ clock: () => 0 });
  const verify = async ({ profile }: { profile: { id: string } }) => tokenStore.get(profile.id);
  const { outcome } = await logIn({ tokenStore, verify });
  expect(outcome?.[1]).toEqual({ value: 'token-1', issuedAt: 0, expiresAt: 3_600_000 });
});

it('a token store that fails is an error, and shows neither the token nor its own message', async () => {
  const set = async () => Promise.reject(new Error('cannot write token-1'));
  const { outcome } = await logIn({ tokenStore: Object.assign(new MemoryTokenStore(), { set }) });
  expect(outcome).toMatchObject(['error', { code: 'store_unavailable', status: 503 }]);
  expect(everythingOf(outcome)).not.toContain('token-1');
});

it('a userProfile of the app can add to the profile, and where it fails, the login is an error', async () => {
  type Done = (error?: unknown, profile?: object) => void;
  type UserProfile = (this: MarketplaceStrategy, token: string, done: Done) => unknown;
  const base = MarketplaceStrategy.prototype.userProfile;
  async function endWith(userProfile: UserProfile) {
    const { loginApi } = fakeLoginApi();
    const strategy = new MarketplaceStrategy({ loginApi }, ({ profile }) => ({ ...profile }));
    return (await logIn({ strategy: Object.assign(strategy, { userProfile }) })).outcome;
  }
  const added = await endWith(function (token, done) {
    base.call(this, token, (error, profile) => done(error, { ...profile, role: token }));
  });
  expect(added).toMatchObject(['success', { id: '77', role: 'token-1' }, {}]);
  const error = new Error('of the app');
  const inCallback: UserProfile = function (token) {
    base.call(this, token, throwing(error));
  };
  for (const fails of [inCallback, async () => Promise.reject(error)]) {
    expect(await endWith(fails)).toEqual(['error', error]);
  }
  for (const profile of [{}, undefined]) {
    const outcome = await endWith((_token, done) => done(null, profile));
    expect(String(outcome)).toContain('no profile with an id');
  }
});

it('each of two visits at once ends as its own, also where passport puts its functions on the strategy itself', async () => {
  const exchange = async (value: string) => ({ value, issuedAt: 0, expiresAt: 3_600_000 });
  const getUser = async (user_id: string) => ({ ...userInfo, user_id });
  const { strategy } = openLogin({ api: { exchange, getUser } });
  // As it does for passport.authenticate(strategy), with the object in place of its name.
  const run = (query: object, session: object) =>
    new Promise((resolve) => {
      Object.assign(strategy, { success: resolve, redirect: resolve, error: resolve });
      strategy.authenticate({ ...cookieBrowser().request(query).req, session } as never);
    });
  const [ofAnna, ofBert] = [{}, {}];
  for (const session of [ofAnna, ofBert]) await run({}, session);
  const ends = [run({ auth_key: 'anna' }, ofAnna), run({ auth_key: 'bert' }, ofBert)];
  expect(await Promise.all(ends)).toEqual([{ id: 'anna' }, { id: 'bert' }]);
});

it('a callback that fails goes on to the next strategy that passport.authenticate is given', async () => {
  const { strategy, exchanged } = openLogin();
  const authenticate = function (this: { success: (user: object) => void }) {
    this.success({ id: 'other' });
  };
  const passport = passportWith(strategy).use('other', { authenticate } as never);
  const run = passport.authenticate(['marketplace', 'other'], { session: false });
  const { req } = cookieBrowser().request({ auth_key: 'k1' }, { session: {} });
  expect(await new Promise((resolve) => run(req, req.res, resolve))).toBeUndefined();
  expect(req).toMatchObject({ user: { id: 'other' } });
  expect(exchanged).toEqual([]);
});

describe('marketgate:login reports', () => {
  const verifying = (verify: () => unknown): OpenLogin => ({
    verify: (_input: unknown) => verify(),
  });
  const logInThat = (error?: Error) => ({
    logIn: (_user: object, done: (error?: Error) => void) => queueMicrotask(() => done(error)),
  });
  const noUser = { code: 'login_failed', reason: expect.stringContaining('verify gave no') };
  const undefinedIs = expect.stringMatching(/^MarketplaceStrategy: verify gave undefined/);
  const ofApp = Object.assign(new Error('x'), { code: 'login_failed' });

  it.each<[string, OpenLogin, object, object?]>([
    ['a success', {}, { outcome: 'success' }, logInThat()],
    ['a success that passport does not keep, or not yet', {}, { outcome: 'success' }],
    [
      'what verify must not give',
      verifying(() => undefined),
      { outcome: 'error', reason: undefinedIs },
    ],
    ['a login that the session refuses', {}, { outcome: 'error' }, logInThat(new Error('full'))],
    ['a verify that refuses', verifying(() => false), { outcome: 'fail', ...noUser }],
    ['no words of the app', verifying(() => Promise.reject(ofApp)), { outcome: 'error' }],
  ])('the start, and %s', async (_name, options, message, more) => {
    const messages = hear('login');
    await logIn(options, 'k1', more);
    expect(messages).toStrictEqual([{ outcome: 'redirect' }, message]);
  });

  it('a callback that passes, and a page that asks', async () => {
    const messages = hear<{ outcome: string }>('login');
    const { comeBack, upToThePage, visit } = openLogin({ confirm: true });
    await comeBack('k0', { user });
    await visit({ marketgate: await upToThePage() });
    expect(messages.map(({ outcome }) => outcome)).toEqual(['pass', 'redirect', 'redirect', 'ask']);
  });
});
