import { inspect } from 'node:util';
import { MarketgateError, MarketplaceStrategy, MemoryTokenStore, problemOf } from 'marketgate';
import { Passport } from 'passport';
import OAuth2Strategy from 'passport-oauth2';
import { describe, expect, it, vi } from 'vitest';
import {
  cookieBrowser,
  drive,
  fakeLoginApi,
  logIn,
  longSecret,
  openLogin,
  requestOf,
  STATE_KEY,
} from '../../support/strategy-harness.js';
import { userInfo } from '../../support/wire.js';

const user = { id: '77' };
const failure = (code: string, status: number, message = '') => [
  'fail',
  expect.objectContaining({ code, message: expect.stringContaining(message) }),
  status,
];
const NOT_STARTED = failure('login_failed', 403, 'not started in this browser');
const ALREADY_USED = failure('auth_key_rejected', 401, 'already used');
const success = ['success', user, {}];

it('is an OAuth2Strategy by the name of marketplace', () => {
  const { strategy } = openLogin();
  expect(strategy).toBeInstanceOf(OAuth2Strategy);
  expect(strategy.name).toBe('marketplace');
});

describe('the start', () => {
  it('redirects to the service, with the app_id and no other parameter', async () => {
    const { recorded } = await openLogin().start();
    expect(recorded).toEqual([['redirect', 'https://market.example/api/oauth?app_id=app-7']]);
  });

  it.each([
    ['without a session', { session: undefined }],
    ['with text for a session', { session: 'text' }],
    ['without session and headers', { session: undefined, headers: undefined }],
  ])('%s is an error that names express-session', async (_name, more) => {
    const { outcome } = await openLogin().start({}, more);
    expect(outcome).toEqual(['error', expect.any(Error)]);
    expect(String(outcome?.[1])).toContain('express-session');
  });

  it('of a request without headers, as test helpers make it, redirects', async () => {
    const visit = (query: object) => drive(openLogin().strategy, { query, session: {} });
    expect((await visit({}))[0]?.[0]).toBe('redirect');
    expect(await visit({ auth_key: 'k1' })).toEqual([NOT_STARTED]);
  });

  it.each([
    ['POST, as of a form', 'POST', 'redirect', [STATE_KEY]],
    ['OPTIONS', 'OPTIONS', 'error', []],
  ])('by %s ends in the right way', async (_name, method, expected, held) => {
    const { start, session } = openLogin();
    expect((await start({}, { method })).outcome?.[0]).toBe(expected);
    expect(Object.keys(session)).toEqual(held);
  });

  it('is an error when the session cannot be saved', async () => {
    const session = { save: (done: (e: Error) => void) => done(new Error('disk full')) };
    const { recorded } = await openLogin().start({}, { session });
    expect(recorded).toEqual([['error', new Error('disk full')]]);
  });
});

describe('the callback', () => {
  it('of a login that this browser did not start fails with 403 and spends nothing', async () => {
    const { comeBack, exchanged } = openLogin();
    expect((await comeBack()).recorded).toEqual([NOT_STARTED]);
    expect(exchanged).toEqual([]);
  });

  it('two at once with one auth_key exchange it once', async () => {
    const { strategy, exchanged, start, session } = openLogin();
    await start();
    const other: object = {};
    await drive(strategy, requestOf({}, { session: other }));
    const outcomes = await Promise.all(
      [session, other].map((held) =>
        drive(strategy, requestOf({ auth_key: 'k1' }, { session: held })),
      ),
    );
    expect(outcomes).toContainEqual([success]);
    expect(outcomes).toContainEqual([ALREADY_USED]);
    expect(exchanged).toEqual(['k1']);
  });

  it.each([
    ['one process', {}],
    ['two processes', { tokenStore: new MemoryTokenStore({ clock: () => 0 }) }],
  ])(
    'two at once with one attempt and two auth_keys exchange one, in %s',
    async (_name, options) => {
      const one = openLogin(options);
      const logins = [one, 'tokenStore' in options ? openLogin(options) : one];
      const { session } = one;
      await one.start();
      const outcomes = await Promise.all(
        logins.map((login, i) => login.comeBack(`k${i}`, { session: { ...session } })),
      );
      expect(outcomes.map(({ outcome }) => outcome)).toEqual([success, NOT_STARTED]);
      expect(new Set(logins.flatMap(({ exchanged }) => exchanged))).toEqual(new Set(['k0']));
    },
  );

  it.each<[string, object, string]>([
    ['given twice', { auth_key: ['a', 'b'] }, 'given once'],
    ['empty', { auth_key: '' }, 'empty'],
    ['blank', { auth_key: '  ' }, 'empty'],
    ['an object', { auth_key: { a: 'b' } }, 'given once'],
    ['a list, as Express 5 leaves it', { 'auth_key[]': 'k1' }, 'given once'],
    ['an object, as Express 5 leaves it', { 'auth_key[a]': 'k1' }, 'given once'],
    ['in a query of the redirect URL', { x: '1?auth_key=k1' }, 'redirect URL'],
    ['in one that is given twice', { x: ['1', '2?auth_key=k1'] }, 'redirect URL'],
    ['in one that is a path', { x: '/1?auth_key=k1' }, 'redirect URL'],
  ])('with an auth_key that is %s fails, and keeps the attempt', async (_name, query, message) => {
    const { start, visit, comeBack, exchanged } = openLogin();
    await start();
    expect((await visit(query)).recorded).toEqual([failure('auth_key_rejected', 401, message)]);
    expect((await comeBack()).outcome).toEqual(success);
    expect(exchanged).toEqual(['k1']);
  });

  it.each(['k1', 'k/1'])(
    'with the auth_key %s in a query of the redirect URL fails also where no login has begun',
    async (key) => {
      const { recorded } = await openLogin().visit({ x: `1?auth_key=${key}` });
      expect(recorded).toEqual([failure('auth_key_rejected', 401, 'redirect URL')]);
    },
  );

  it.each<[string, object | undefined]>([
    ['nothing', undefined],
    ['a number', { x: 7 }],
    ['an object', { x: { toString: () => '?auth_key=k1' } }],
    ['a link of the app', { next: '/a?auth_key=1' }],
    ['a link of the app with its host', { next: 'https://app.example/?auth_key=1' }],
  ])('%s in the query is no auth_key: the login starts', async (_name, query) => {
    expect((await openLogin().visit({}, { query })).outcome?.[0]).toBe('redirect');
  });

  it.each<[string, object]>([
    ['HEAD', { method: 'HEAD' }],
    ['OPTIONS, as a route for all methods gets it', { method: 'OPTIONS' }],
    ['POST', { method: 'POST' }],
    ['sec-purpose', { headers: { 'sec-purpose': 'prefetch;prerender' } }],
    ['purpose', { headers: { purpose: 'prefetch' } }],
    ['x-moz', { headers: { 'x-moz': 'prefetch' } }],
    ['x-purpose, as old Safari sends it', { headers: { 'x-purpose': 'preview' } }],
  ])(
    'fetched ahead or not by GET (%s) spends neither the auth_key nor the attempt',
    async (_name, more) => {
      const { start, comeBack, exchanged } = openLogin();
      await start();
      const { outcome } = await comeBack('k1', more);
      expect(outcome?.[0]).toBe('error');
      expect(outcome?.[1]).toMatchObject({
        code: 'login_failed',
        message: expect.stringMatching(/(prefetch|no navigation).* refused/),
      });
      expect(exchanged).toEqual([]);
      expect((await comeBack()).outcome).toEqual(success);
    },
  );

  it.each([
    ['the start', {}],
    ['a callback without an attempt', { auth_key: 'k1' }],
    ['a broken callback', { auth_key: '' }],
  ])('is not for caches, nor is the start: %s', async (_name, query) => {
    const { res } = await openLogin().visit(query);
    expect(res.headers['cache-control']).toBe('no-store');
  });
});

describe('a used auth_key', () => {
  /** A browser that has logged in with k1: in the process that the tests visit, or in another. */
  async function used(isElsewhere = false) {
    const options = { tokenStore: new MemoryTokenStore({ clock: () => 0 }) };
    const login = openLogin(options);
    const first = isElsewhere ? openLogin(options) : login;
    await first.start({ returnTo: '/first' }, { session: login.session });
    await first.comeBack('k1', { session: login.session });
    return { ...login, exchangedLater: () => login.exchanged.slice(isElsewhere ? 0 : 1) };
  }

  it.each<[string, boolean, string | undefined]>([
    ['where it led', false, '/first'],
    ['on, when it was used in another process', true, undefined],
  ])('leads a logged-in user %s, and takes no other tab’s attempt', async (...row) => {
    const [, isElsewhere, to] = row;
    const { start, comeBack, exchangedLater } = await used(isElsewhere);
    await start({ returnTo: '/second' });
    for (let i = 0; i < 2; i++) {
      expect(await comeBack('k1', { user })).toMatchObject({ recorded: [['pass']], to });
    }
    expect(await comeBack('k2', { user })).toMatchObject({ outcome: success, to: '/second' });
    expect(exchangedLater()).toEqual(['k2']);
  });

  it.each([
    ['here', false],
    ['in another process', true],
  ])(
    'is refused in a browser that has begun another login, and leaves that login alone: %s',
    async (...row) => {
      const { start, comeBack, exchangedLater } = await used(row[1]);
      await start();
      expect((await comeBack('k1')).recorded).toEqual([ALREADY_USED]);
      expect((await comeBack('k2')).outcome).toEqual(success);
      expect(exchangedLater()).toEqual(['k2']);
    },
  );

  it.each<[string, object[]]>([
    ['none', []],
    ['one that is too old', [{ id: 'a', startedAt: -600_000 }]],
    ['one that waits for a "Continue"', [{ id: 'a', startedAt: 0, isConfirmation: true }]],
  ])('is not called used in a browser whose attempts are: %s', async (_name, attempts) => {
    const { comeBack, session } = await used();
    session[STATE_KEY] = attempts;
    expect((await comeBack('k1')).recorded).toEqual([NOT_STARTED]);
  });
});

describe('a callback that is passed on', () => {
  it.each([
    ['without an attempt', 'k1', {}, ['pass']],
    ['to successRedirect', 'k1', { successRedirect: '/home' }, ['redirect', '/home']],
    ['to successReturnToOrRedirect', 'k1', { successReturnToOrRedirect: '/h' }, ['redirect', '/h']],
  ])('in a logged-in browser, %s, spends nothing and is no fresh login', async (...row) => {
    const [, key, authOptions, expected] = row;
    const { comeBack, exchanged } = openLogin();
    const { recorded, isFresh } = await comeBack(key, { user }, authOptions);
    expect([recorded, isFresh, exchanged]).toEqual([[expected], false, []]);
  });

  it.each([
    ['of a login', {}, success],
    ['that is passed on', { user }, ['pass']],
  ])('%s goes to its own returnTo where the start had none', async (_name, more, outcome) => {
    const { start, comeBack } = openLogin();
    await start();
    const authOptions = { returnTo: '/mine' };
    if ('user' in more) await comeBack('k1', {}, authOptions);
    expect(await comeBack('k1', more, authOptions)).toMatchObject({ outcome, to: '/mine' });
  });

  it('of nobody is not passed on', async () => {
    const { recorded } = await openLogin().comeBack('k1', {}, { successRedirect: '/home' });
    expect(recorded).toEqual([NOT_STARTED]);
  });
});

it('isFreshLogin is true for the callback that logs in, and for no other request', async () => {
  const { start, comeBack } = openLogin();
  expect((await start()).isFresh).toBe(false);
  const { isFresh, req } = await comeBack('k1');
  expect(isFresh).toBe(true);
  expect(Object.keys(req)).not.toContain('freshLogin');
  for (const key of ['k1', 'made-up']) expect((await comeBack(key, { user })).isFresh).toBe(false);
  expect((await openLogin().comeBack('k0')).isFresh).toBe(false);
});

describe('failed logins count for the guess limit of their client', () => {
  const rejects = (code: 'auth_key_rejected' | 'service_unavailable') =>
    vi.fn(async (key: string) => {
      if (key === 'good') return { value: 'token-1', issuedAt: 0, expiresAt: 3_600_000 };
      throw new MarketgateError(code, 'because');
    });
  const tooMany = [
    'error',
    expect.objectContaining({ code: 'too_many_attempts', status: 429, retryAfter: 60 }),
  ];
  /** Logs in once as the client of this address. */
  async function visit(login: ReturnType<typeof openLogin>, key: string, ip = '192.0.2.1') {
    await login.start({}, { ip });
    const { outcome, res } = await login.comeBack(key, { ip });
    return { outcome, res };
  }

  it.each(['session', 'cookie'] as const)(
    'over it there is no call and nothing is used up, with attempts in a %s',
    async (where) => {
      const exchange = rejects('auth_key_rejected');
      const tokenStore = new MemoryTokenStore({ clock: () => 0 });
      const login = openLogin({ where, tokenStore, clock: () => 0, api: { exchange } });
      for (let i = 0; i < 10; i++) expect((await visit(login, `k${i}`)).outcome?.[0]).toBe('fail');
      const claim = vi.spyOn(tokenStore, 'claim');
      const { outcome, res } = await visit(login, 'good');
      expect(outcome).toEqual(tooMany);
      expect(res.headers).toMatchObject({ 'retry-after': '60' });
      expect([exchange.mock.calls.length, claim.mock.calls]).toEqual([10, []]);
      // The same login goes on at another address.
      expect((await login.comeBack('good', { ip: '192.0.2.2' })).outcome).toEqual(success);
    },
  );

  it('two strategies of one LoginApi count together, and of two separately', async () => {
    const exchange = rejects('auth_key_rejected');
    const { loginApi } = fakeLoginApi({ exchange });
    const one = openLogin({ loginApi, name: 'one' });
    for (let i = 0; i < 10; i++) await visit(one, `k${i}`);
    expect((await visit(openLogin({ loginApi, name: 'two' }), 'good')).outcome).toEqual(tooMany);
    expect((await visit(openLogin({ api: { exchange } }), 'good')).outcome).toEqual(success);
  });

  it.each([
    ['an outage', rejects('service_unavailable'), {}],
    ['guessLimit: false', rejects('auth_key_rejected'), { guessLimit: false as const }],
    ['a key that was used', undefined, {}],
  ])('%s does not count', async (_name, exchange, options) => {
    const login = openLogin({ ...options, api: exchange && { exchange } });
    for (let i = 0; i < 15; i++) await visit(login, exchange ? `k${i}` : 'k');
    expect((await visit(login, 'good')).outcome).toEqual(success);
  });

  it('the client and the limit are the app’s to choose', async () => {
    const keyGenerator = (req: { headers: Record<string, unknown> }) => String(req.headers.host);
    const guessLimit = { limit: 1, keyGenerator: keyGenerator as never };
    const exchange = rejects('auth_key_rejected');
    const login = openLogin({ guessLimit, api: { exchange } });
    const at = async (host: string, key: string) => {
      await login.start();
      return (await login.comeBack(key, { headers: { host } })).outcome;
    };
    expect((await at('a', 'k1'))?.[0]).toBe('fail');
    expect(await at('a', 'good')).toEqual(tooMany);
    expect(await at('b', 'good')).toEqual(success);
  });
});

describe('what the service says decides between fail and error', () => {
  it.each([
    ['exchange', 'auth_key_rejected', 'fail'],
    ['exchange', 'app_credentials_rejected', 'error'],
    ['exchange', 'service_unavailable', 'error'],
    ['exchange', 'unexpected_response', 'error'],
    ['getUser', 'login_failed', 'fail'],
    ['getUser', 'access_token_expired', 'fail'],
    ['getUser', 'service_unavailable', 'error'],
  ] as const)('%s: %s is %s', async (method, code, expected) => {
    const failing = () => Promise.reject(new MarketgateError(code, 'because'));
    const { recorded } = await logIn({ api: { [method]: failing } });
    expect(recorded.map(([name]) => name)).toEqual([expected]);
    expect(recorded[0]?.[1]).toMatchObject({ code });
  });

  it("verify's own error is an error, also when it is one of this package", async () => {
    const own = new MarketgateError('access_token_expired', 'of another call');
    const { recorded } = await logIn({ verify: (_input: unknown) => Promise.reject(own) });
    expect(recorded).toEqual([['error', own]]);
  });
});

it.each(['redirect', 'fail'] as const)('what throws in %s is an error', async (outcome) => {
  const thrown = new Error('of the app');
  const query = outcome === 'fail' ? { auth_key: 'k1' } : {};
  const error = await new Promise((resolve) => {
    const derived = Object.assign(Object.create(openLogin().strategy) as MarketplaceStrategy, {
      [outcome]: () => {
        throw thrown;
      },
      error: resolve,
    });
    derived.authenticate(requestOf(query) as never);
  });
  expect(error).toBe(thrown);
});

/** Words that visitors of a shop do not know. */
const FOR_DEVELOPERS =
  /auth_key|cookie came|SameSite|proxy|developer|verify|host|redirect|URL|regist|session|npx|_/i;

describe('a visitor whose login fails reads one plain sentence about it, and what to do', () => {
  type Login = ReturnType<typeof openLogin>;
  const refuse = (info?: object) => (_a: 1, _r: 1, _p: 1, done: (...args: unknown[]) => void) =>
    done(null, false, info);
  const asOperator = { failWithError: true };
  const back = async (login: Login, query: object, more: object = {}) => {
    await login.start({}, { headers: { host: 'localhost' } });
    return login.visit(query, more, asOperator);
  };

  it.each<[string, string, (login: Login) => ReturnType<Login['visit']>, object?]>([
    [
      'no cookie',
      'not started in this browser',
      ({ visit }) => visit({ auth_key: 'k1' }, {}, asOperator),
    ],
    [
      'another host',
      'not started in this browser',
      (login) => back(login, { auth_key: 'k1' }, { session: {}, headers: { host: '127.0.0.1' } }),
    ],
    ['an auth_key given twice', 'not complete', (login) => back(login, { auth_key: ['a', 'b'] })],
    ['an empty auth_key', 'not complete', (login) => back(login, { auth_key: '' })],
    ['a broken redirect URL', 'tell the site', (login) => back(login, { x: '1?auth_key=k1' })],
    [
      'no user',
      'does not accept',
      (login) => back(login, { auth_key: 'k1' }),
      { verify: refuse() },
    ],
    [
      'an auth_key of long ago',
      'too old',
      (login) => back(login, { auth_key: 'k1' }),
      {
        api: {
          exchange: () => Promise.reject(new MarketgateError('auth_key_rejected', 'auth_key')),
        },
      },
    ],
    [
      'an auth_key that was used',
      'already used',
      async (login) => {
        await login.start();
        await login.comeBack('k1');
        return back(login, { auth_key: 'k1' });
      },
    ],
  ])('%s: %s', async (_why, detail, come, options = {}) => {
    const { outcome } = await come(openLogin(options));
    const problem = problemOf(outcome?.[1]);
    expect(problem?.detail).toContain(detail);
    expect(problem?.detail.replace(/\. Please .*\.$/, '')).not.toContain('.');
    expect(problem?.detail).not.toMatch(FOR_DEVELOPERS);
  });
});

describe('a failed login says why', () => {
  const at = (host?: string) => ({ headers: { host, cookie: 'other=1' } });

  const TWICE = 'if this happens again';
  it.each<[string | undefined, string | undefined, string]>([
    ['localhost:3000', '127.0.0.1:3000', 'came back to 127.0.0.1 but'],
    ['localhost:3000', 'localhost:4000', TWICE],
    ['app.example', '<b>x</b>', TWICE],
    ['app.example', 'a.example, <b>', 'came back to a.example but'],
    ['app.example', 'A.Example:80', 'came back to a.example but'],
    ['app.example', '[::1]:3000', 'came back to [::1] but'],
    ['app.example', undefined, TWICE],
    [undefined, 'app.example', TWICE],
  ])('begun on %s, back on %s: %s', async (from, to, expected) => {
    const { start, comeBack } = openLogin();
    await start({}, at(from));
    const { outcome } = await comeBack('k1', { ...at(to), session: {} });
    expect(outcome).toEqual(failure('login_failed', 403, expected));
    expect(JSON.stringify(outcome)).not.toContain('<b>');
  });

  it('when it began on another host, although other logins began on this one', async () => {
    const { start, comeBack } = openLogin();
    for (const host of ['localhost:3000', '127.0.0.1:3000']) await start({}, at(host));
    const { outcome } = await comeBack('k1', { ...at('127.0.0.1:3000'), session: {} });
    expect(outcome).toEqual(failure('login_failed', 403, 'came back to 127.0.0.1 but'));
  });

  it('when no cookie came back', async () => {
    const { outcome } = await openLogin().comeBack();
    expect(outcome).toEqual(failure('login_failed', 403, 'no cookie came back'));
    const { outcome: other } = await openLogin().comeBack('k1', at('app.example'));
    expect(other).toEqual(failure('login_failed', 403, TWICE));
  });

  it('when there is no session', async () => {
    const { outcome } = await openLogin().comeBack('k1', { session: undefined });
    expect(String(outcome?.[1])).toContain('express-session');
  });

  it('when verify gives nothing', async () => {
    const { outcome } = await logIn({ verify: (_input: unknown) => null });
    expect(outcome).toEqual(failure('login_failed', 401, 'verify gave no user'));
  });
});

const noReason = expect.stringContaining('verify gave no user');
const NOT_ACCEPTED = 'This site does not accept this account. Please log in with another one.';
it.each([
  ['banned', 'banned', 'banned'],
  [{ message: 'banned', type: 'warn' }, { message: 'banned', type: 'warn' }, 'banned'],
  [{ type: 'warn' }, expect.objectContaining({ type: 'warn', message: noReason }), NOT_ACCEPTED],
  [null, { code: 'login_failed', message: noReason }, NOT_ACCEPTED],
])('a refusal of verify with the info %j says why, also with failWithError', async (...row) => {
  const [info, challenge, detail] = row;
  const verify = (_a: 1, _r: 1, _p: 1, done: (...args: unknown[]) => void) =>
    done(null, false, info);
  const { start, comeBack } = openLogin({ verify });
  await start();
  expect((await comeBack('k1')).recorded).toEqual([['fail', challenge, 401]]);
  await start();
  const { recorded } = await comeBack('k2', {}, { failWithError: true });
  expect(recorded).toEqual([
    ['error', expect.objectContaining({ name: 'MarketgateError', status: 401, detail })],
  ]);
  expect(problemOf(recorded[0]?.[1])).toMatchObject({ status: 401, detail });
  // Passport's failureRedirect comes before its failWithError.
  await start();
  const redirect = { failWithError: true, failureRedirect: '/' };
  expect((await comeBack('k3', {}, redirect)).outcome?.[0]).toBe('fail');
});

it.each([
  ['development', 1],
  [undefined, 1],
  ['production', 0],
  ['test', 0],
])('a login that fails with NODE_ENV %s is printed %d times', async (environment, times) => {
  vi.stubEnv('NODE_ENV', environment);
  const print = vi.spyOn(console, 'warn').mockImplementation(() => {});
  await openLogin().comeBack();
  expect(print).toHaveBeenCalledTimes(times);
  if (times > 0) {
    expect(print).toHaveBeenCalledWith(
      expect.stringMatching(/a login failed: .*no cookie.*explain login_failed/),
    );
  }
});

describe('the token store', () => {
  it('holds the token under the user_id before verify runs', async () => {
    const tokenStore = new MemoryTokenStore({ clock: () => 0 });
    let stored: unknown;
    const verify = async ({ profile }: { profile: { id: string } }) => {
      stored = await tokenStore.get(profile.id);
      return user;
    };
    await logIn({ tokenStore, verify });
    expect(stored).toEqual({ value: 'token-1', issuedAt: 0, expiresAt: 3_600_000 });
  });

  it('that fails is an error, and shows neither the token nor its own message', async () => {
    const set = async () => Promise.reject(new Error('cannot write token-1'));
    const { outcome } = await logIn({ tokenStore: Object.assign(new MemoryTokenStore(), { set }) });
    expect(outcome?.[0]).toBe('error');
    expect(outcome?.[1]).toMatchObject({ code: 'store_unavailable', status: 503 });
    expect(inspect(outcome, { depth: 9, showHidden: true })).not.toContain('token-1');
  });

  it('that fails to claim the key spends nothing: the visitor reloads, and is logged in', async () => {
    const claim = vi.fn(async () => true).mockRejectedValueOnce(new Error('down'));
    const { start, comeBack } = openLogin({
      tokenStore: Object.assign(new MemoryTokenStore(), { claim }),
    });
    await start();
    expect((await comeBack('k1')).outcome).toMatchObject(['error', { code: 'store_unavailable' }]);
    expect((await comeBack('k1')).outcome).toEqual(success);
  });

  it('that says that the key was claimed elsewhere in the fleet ends the login', async () => {
    const claimed: string[] = [];
    const claim = async (name: string) => claimed.push(name) < 0;
    const { start, comeBack, exchanged } = openLogin({
      tokenStore: Object.assign(new MemoryTokenStore(), { claim }),
    });
    await start();
    expect((await comeBack('spent-key-1')).outcome?.[0]).toBe('fail');
    expect(exchanged).toEqual([]);
    // The fleet sees hashes.
    for (const name of claimed) expect(name).toMatch(/^used:[\w-]{43}$/);
  });
});

it('a picture without a host is the service’s', async () => {
  const loginUrl = () => 'https://market.example/shop/api/oauth?app_id=app-7';
  const getUser = async () => ({ ...userInfo, user_picture: '7.png' });
  const verify = (input: { profile: object }) => input.profile;
  const photos = [{ value: 'https://market.example/shop/7.png' }];
  expect((await logIn({ api: { loginUrl, getUser }, verify })).outcome?.[1]).toMatchObject({
    photos,
  });
});

describe('a subclass', () => {
  const { loginApi } = fakeLoginApi();
  const make = (Class: typeof MarketplaceStrategy) =>
    new Class({ loginApi }, ({ profile }) => ({ ...profile }));
  async function outcomeOf(strategy: MarketplaceStrategy): Promise<unknown[] | undefined> {
    const session = {};
    const [first] = await drive(strategy, requestOf({}, { session }));
    if (first?.[0] !== 'redirect') return first;
    return (await drive(strategy, requestOf({ auth_key: 'k' }, { session })))[0];
  }

  it('can add to the profile', async () => {
    class WithRole extends MarketplaceStrategy {
      override userProfile(token: string, done: (error?: unknown, profile?: never) => void): void {
        super.userProfile(token, (error, profile) =>
          done(error, { ...profile, role: `of ${token}` } as never),
        );
      }
    }
    expect(await outcomeOf(make(WithRole))).toMatchObject([
      'success',
      { id: '77', role: 'of token-1' },
      {},
    ]);
  });

  type Done = (error?: unknown, profile?: object) => void;
  it.each<[string, (this: MarketplaceStrategy, token: string, done: Done) => unknown, string]>([
    ['gives nothing', (_token, done) => done(null), 'no profile with an id'],
    ['gives no id', (_token, done) => done(null, {}), 'no profile with an id'],
    ['gives an empty id', (_token, done) => done(null, { id: '' }), 'no profile with an id'],
    ['fails', (_token, done) => done(new Error('failed')), 'failed'],
    [
      'throws in its callback',
      function (token) {
        MarketplaceStrategy.prototype.userProfile.call(this, token, () => {
          throw new Error('thrown');
        });
      },
      'thrown',
    ],
    ['rejects', async () => Promise.reject(new Error('rejected')), 'rejected'],
    ['rejects with nothing', async () => Promise.reject(undefined), 'nothing'],
  ])('whose userProfile %s is an error', async (_name, userProfile, message) => {
    const outcome = await outcomeOf(Object.assign(make(MarketplaceStrategy), { userProfile }));
    expect(outcome).toEqual(['error', expect.any(Error)]);
    expect(String(outcome?.[1])).toContain(message);
  });

  it.each(['authorizationParams', 'tokenParams', 'parseErrorResponse'])(
    'that overrides %s is refused: nothing would call it',
    async (hook) => {
      class ByMethod extends MarketplaceStrategy {}
      Object.defineProperty(ByMethod.prototype, hook, { value: () => ({}) });
      expect(() => make(ByMethod)).toThrow(new RegExp(`^MarketplaceStrategy: ${hook} `));
      // A class field is there only after the constructor.
      const byField = Object.assign(make(MarketplaceStrategy), { [hook]: () => ({}) });
      expect(String((await outcomeOf(byField))?.[1])).toContain(hook);
    },
  );

  it('in the style of ES5 is refused', () => {
    expect(() =>
      Reflect.apply(MarketplaceStrategy as never, {}, [{ loginApi }, () => user]),
    ).toThrow(
      new TypeError("Class constructor MarketplaceStrategy cannot be invoked without 'new'"),
    );
  });
});

it.each([undefined, null, '', 'route'])('a verify that throws %j is an error', async (thrown) => {
  const { recorded } = await logIn({ verify: (_input: unknown) => Promise.reject(thrown) });
  expect(recorded).toEqual([['error', expect.any(Error)]]);
});

it('passport.authenticate(strategy), by the object and not by its name, ends each concurrent visit as its own', async () => {
  const waiting = new Map<string, (token: object) => void>();
  const exchange = (key: string) => new Promise((resolve) => waiting.set(key, resolve));
  const getUser = async (value: string) => {
    if (value === 'broken') throw new Error('of the service');
    return { ...userInfo, user_id: value };
  };
  const { loginApi } = fakeLoginApi({ exchange, getUser });
  class Subclass extends MarketplaceStrategy {
    override userProfile(token: string, done: (error?: unknown, profile?: never) => void): void {
      super.userProfile(token, (error, profile) => {
        if (error) this.error(new Error(`${error}, told by the subclass`));
        else done(null, profile as never);
      });
    }
  }
  const loginAttempts = { cookieSecret: longSecret() };
  const strategy = new Subclass({ loginApi, loginAttempts }, ({ profile: { id } }) => ({ id }));
  const passport = new Passport();
  const visit = (browser: ReturnType<typeof cookieBrowser>, query: object) =>
    new Promise((resolve) => {
      const { req, res } = browser.request(query);
      Object.assign(res, { end: resolve });
      const done = (error: unknown, user: unknown) => resolve(error ?? user);
      const authenticate = passport.authenticate(strategy, { session: false }, done);
      authenticate(req as never, res as never, resolve);
    });
  const names = ['anna', 'bert', 'broken'];
  const ends = names.map(async (auth_key) => {
    const browser = cookieBrowser();
    await visit(browser, {});
    return visit(browser, { auth_key });
  });
  await vi.waitFor(() => expect(waiting.size).toBe(3), { timeout: 40_000 });
  for (const value of names) waiting.get(value)?.({ value, issuedAt: 0, expiresAt: 3_600_000 });
  expect(await Promise.all(ends)).toEqual([
    { id: 'anna' },
    { id: 'bert' },
    new Error('Error: of the service, told by the subclass'),
  ]);
});

it('a request that the app has responded to already throws nothing', async () => {
  const res = {
    headersSent: true,
    setHeader: vi.fn(() => {
      throw new Error('sent');
    }),
    end: () => {},
  };
  const { outcome } = await openLogin().start({}, { res });
  expect(outcome?.[0]).toBe('redirect');
});
