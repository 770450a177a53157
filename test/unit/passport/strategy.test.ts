import { inspect } from 'node:util';
import {
  type LoginApi,
  MarketgateError,
  MarketplaceStrategy,
  type MarketplaceStrategyOptions,
  MemoryTokenStore,
  returnTo,
} from 'marketgate';
import OAuth2Strategy from 'passport-oauth2';
import { describe, expect, it } from 'vitest';
import { drive, fakeLoginApi, requestOf } from '../../support/strategy-harness.js';
import { userInfo } from '../../support/wire.js';

/** Any object as the app's user: apps declare their own type. */
const userOf = (user: object): Express.User => user;

const verify = async ({ profile }: { profile: { id: string } }): Promise<{ id: string }> => ({
  id: profile.id,
});

function strategyOf(
  overrides: Parameters<typeof fakeLoginApi>[0] = {},
  options: Partial<MarketplaceStrategyOptions> = {},
): { strategy: MarketplaceStrategy; exchanged: string[] } {
  const { loginApi, exchanged } = fakeLoginApi(overrides);
  return { strategy: new MarketplaceStrategy({ loginApi, ...options }, verify), exchanged };
}

/** A browser that has started a login: its session holds an attempt. */
async function started(strategy: MarketplaceStrategy, options: object = {}): Promise<object> {
  const session = {};
  await drive(strategy, requestOf({}, { session }), options);
  return session;
}

it('is an OAuth2Strategy by the name of marketplace', () => {
  const { strategy } = strategyOf();
  expect(strategy).toBeInstanceOf(OAuth2Strategy);
  expect(strategy.name).toBe('marketplace');
});

describe('the start', () => {
  it('redirects to the service, with the app_id and no other parameter', async () => {
    const { strategy } = strategyOf();
    expect(await drive(strategy, requestOf())).toEqual([
      ['redirect', 'https://market.example/api/oauth?app_id=app-7'],
    ]);
  });

  it('without a session is an error that names express-session', async () => {
    const { strategy } = strategyOf();
    const [outcome] = await drive(strategy, requestOf({}, { session: undefined }));
    expect(outcome?.[0]).toBe('error');
    expect(String(outcome?.[1])).toContain('express-session');
  });

  it('is an error when the session cannot be written', async () => {
    const { strategy } = strategyOf();
    const session = { save: (done: (e: Error) => void) => done(new Error('disk full')) };
    expect(await drive(strategy, requestOf({}, { session }))).toEqual([
      ['error', new Error('disk full')],
    ]);
  });
});

describe('the callback', () => {
  it('exchanges the auth_key and succeeds with what verify gave', async () => {
    const { strategy, exchanged } = strategyOf();
    const session = await started(strategy);
    expect(await drive(strategy, requestOf({ auth_key: 'k1' }, { session }))).toEqual([
      ['success', { id: '77' }, {}],
    ]);
    expect(exchanged).toEqual(['k1']);
  });

  it('of a login that this browser did not start fails with 403 and spends nothing', async () => {
    const { strategy, exchanged } = strategyOf();
    const [outcome] = await drive(strategy, requestOf({ auth_key: 'k1' }));
    expect(outcome).toEqual(['fail', expect.objectContaining({ code: 'login_failed' }), 403]);
    expect(exchanged).toEqual([]);
  });

  it('uses an attempt once', async () => {
    const { strategy, exchanged } = strategyOf();
    const session = await started(strategy);
    await drive(strategy, requestOf({ auth_key: 'k1' }, { session }));
    const [again] = await drive(strategy, requestOf({ auth_key: 'k2' }, { session }));
    expect(again?.[2]).toBe(403);
    expect(exchanged).toEqual(['k1']);
  });

  it('an attempt is over after ten minutes', async () => {
    let now = 0;
    const { strategy, exchanged } = strategyOf({ clock: () => now });
    const session = await started(strategy);
    now = 10 * 60_000;
    const [outcome] = await drive(strategy, requestOf({ auth_key: 'k1' }, { session }));
    expect(outcome?.slice(0, 1)).toEqual(['fail']);
    expect(exchanged).toEqual([]);
  });

  it('a spent auth_key is refused in any browser, also with an attempt', async () => {
    const { strategy, exchanged } = strategyOf();
    await drive(strategy, requestOf({ auth_key: 'k1' }, { session: await started(strategy) }));
    const [other] = await drive(
      strategy,
      requestOf({ auth_key: 'k1' }, { session: await started(strategy) }),
    );
    expect(other).toEqual(['fail', expect.objectContaining({ code: 'auth_key_rejected' }), 401]);
    expect(exchanged).toEqual(['k1']);
  });

  it('two at once with one auth_key exchange it once', async () => {
    const { strategy, exchanged } = strategyOf();
    const requests = await Promise.all(
      [1, 2].map(async () => requestOf({ auth_key: 'k1' }, { session: await started(strategy) })),
    );
    const outcomes = await Promise.all(requests.map((req) => drive(strategy, req)));
    expect(outcomes.map((recorded) => recorded.map(([name]) => name)).sort()).toEqual([
      ['fail'],
      ['success'],
    ]);
    expect(exchanged).toEqual(['k1']);
  });

  it.each<[string, unknown]>([
    ['given twice', ['a', 'b']],
    ['empty', ''],
    ['blank', '  '],
    ['an object', { a: 'b' }],
  ])('with an auth_key that is %s fails, and keeps the attempt', async (_name, auth_key) => {
    const { strategy, exchanged } = strategyOf();
    const session = await started(strategy);
    const [outcome] = await drive(strategy, requestOf({ auth_key }, { session }));
    expect(outcome).toEqual(['fail', expect.objectContaining({ code: 'auth_key_rejected' }), 401]);
    const [next] = await drive(strategy, requestOf({ auth_key: 'k1' }, { session }));
    expect(next?.[0]).toBe('success');
    expect(exchanged).toEqual(['k1']);
  });

  it.each(['auth_key[]', 'auth_key[a]'])('with %s, as Express 5 leaves it, fails', async (name) => {
    const { strategy } = strategyOf();
    const [outcome] = await drive(strategy, requestOf({ [name]: 'k1' }));
    expect(outcome).toEqual(['fail', expect.objectContaining({ code: 'auth_key_rejected' }), 401]);
  });

  it('asked for with HEAD spends nothing', async () => {
    const { strategy, exchanged } = strategyOf();
    const session = await started(strategy);
    const req = requestOf({ auth_key: 'k1' }, { session, method: 'HEAD' });
    expect((await drive(strategy, req))[0]?.[0]).toBe('error');
    expect(exchanged).toEqual([]);
  });

  it('of a redirect URL with a query of its own fails, and says what is wrong', async () => {
    const { strategy } = strategyOf();
    const [outcome] = await drive(strategy, requestOf({ x: '1?auth_key=k1' }));
    expect(outcome).toEqual([
      'fail',
      expect.objectContaining({ message: expect.stringContaining('redirect URL') }),
      401,
    ]);
  });

  it('without an attempt in a browser that is logged in passes on and spends nothing', async () => {
    const { strategy, exchanged } = strategyOf();
    const req = requestOf({ auth_key: 'k1' }, { user: { id: '77' } });
    expect(await drive(strategy, req)).toEqual([['pass']]);
    expect(exchanged).toEqual([]);
  });

  it.each([
    ['sec-purpose', 'prefetch;prerender'],
    ['purpose', 'prefetch'],
    ['x-moz', 'prefetch'],
  ])('prefetched (%s) spends neither the auth_key nor the attempt', async (name, value) => {
    const { strategy, exchanged } = strategyOf();
    const session = await started(strategy);
    const [outcome] = await drive(
      strategy,
      requestOf({ auth_key: 'k1' }, { session, headers: { [name]: value } }),
    );
    expect(outcome?.[0]).toBe('error');
    expect(exchanged).toEqual([]);
    const [real] = await drive(strategy, requestOf({ auth_key: 'k1' }, { session }));
    expect(real?.[0]).toBe('success');
  });
});

describe('what the service says decides between fail and error', () => {
  const failing = (code: ConstructorParameters<typeof MarketgateError>[0]) => async () => {
    throw new MarketgateError(code, 'because');
  };
  it.each([
    ['auth_key_rejected', 'fail'],
    ['app_credentials_rejected', 'error'],
    ['service_unavailable', 'error'],
    ['unexpected_response', 'error'],
  ] as const)('exchange: %s is %s', async (code, expected) => {
    const { strategy } = strategyOf({ exchange: failing(code) });
    const session = await started(strategy);
    const recorded = await drive(strategy, requestOf({ auth_key: 'k' }, { session }));
    expect(recorded.map(([name]) => name)).toEqual([expected]);
    expect(recorded[0]?.[1]).toMatchObject({ code });
  });

  it.each([
    ['login_failed', 'fail'],
    ['access_token_expired', 'fail'],
    ['service_unavailable', 'error'],
  ] as const)('get_user_info: %s is %s', async (code, expected) => {
    const { strategy } = strategyOf({ getUser: failing(code) });
    const session = await started(strategy);
    const recorded = await drive(strategy, requestOf({ auth_key: 'k' }, { session }));
    expect(recorded.map(([name]) => name)).toEqual([expected]);
  });
});

describe('verify', () => {
  const options = (more: object = {}) => ({ loginApi: fakeLoginApi().loginApi, ...more });
  async function outcomesOf(strategy: MarketplaceStrategy): Promise<unknown> {
    const session = await started(strategy);
    return drive(strategy, requestOf({ auth_key: 'k' }, { session, mark: 'req' }));
  }

  it('classic: accessToken, refreshToken, profile, done', async () => {
    const strategy = new MarketplaceStrategy(
      options(),
      (accessToken, refreshToken, profile, done) =>
        done(null, userOf({ accessToken, refreshToken, id: profile.id }), { how: 'classic' }),
    );
    expect(await outcomesOf(strategy)).toEqual([
      [
        'success',
        { accessToken: 'token-1', refreshToken: undefined, id: '77' },
        { how: 'classic' },
      ],
    ]);
  });

  it('classic with params', async () => {
    const strategy = new MarketplaceStrategy(options(), (_a, _r, params, _profile, done) =>
      done(null, params),
    );
    expect(await outcomesOf(strategy)).toEqual([
      ['success', { access_token: 'token-1', expires_in: 3600 }, {}],
    ]);
  });

  it('classic with the request', async () => {
    const strategy = new MarketplaceStrategy(
      options({ passReqToCallback: true }) as { loginApi: LoginApi; passReqToCallback: true },
      (req, accessToken, _r, profile, done) =>
        done(
          null,
          userOf({ mark: (req as unknown as { mark: string }).mark, accessToken, id: profile.id }),
        ),
    );
    expect(await outcomesOf(strategy)).toEqual([
      ['success', { mark: 'req', accessToken: 'token-1', id: '77' }, {}],
    ]);
  });

  it('classic with the request and params', async () => {
    const strategy = new MarketplaceStrategy(
      options({ passReqToCallback: true }) as { loginApi: LoginApi; passReqToCallback: true },
      (_req, _a, _r, params, profile, done) => done(null, userOf({ ...params, id: profile.id })),
    );
    expect(await outcomesOf(strategy)).toEqual([
      ['success', { access_token: 'token-1', expires_in: 3600, id: '77' }, {}],
    ]);
  });

  it('async: one argument, with profile, token and req', async () => {
    const strategy = new MarketplaceStrategy(options(), async ({ profile, token, req }) => ({
      id: profile.id,
      token: token.value,
      mark: (req as unknown as { mark: string }).mark,
    }));
    expect(await outcomesOf(strategy)).toEqual([
      ['success', { id: '77', token: 'token-1', mark: 'req' }, {}],
    ]);
  });

  const boom = new Error('boom');
  it.each<[string, (...args: never[]) => unknown, unknown[]]>([
    ['async that rejects', async (_input: unknown) => Promise.reject(boom), ['error', boom]],
    [
      'async that throws at once',
      (_input: unknown) => {
        throw boom;
      },
      ['error', boom],
    ],
    [
      'async that refuses',
      async (_input: unknown) => false,
      ['fail', expect.objectContaining({ code: 'login_failed' }), 401],
    ],
    [
      'async that gives nothing',
      async (_input: unknown) => undefined,
      ['error', expect.any(TypeError)],
    ],
    [
      'classic that throws',
      (_a: 1, _b: 1, _c: 1, _d: 1) => {
        throw boom;
      },
      ['error', boom],
    ],
    [
      'classic and async that rejects',
      async (_a: 1, _b: 1, _c: 1, _d: 1) => Promise.reject(boom),
      ['error', boom],
    ],
    [
      'classic with an error',
      (_a: 1, _b: 1, _c: 1, done: (e: Error) => void) => done(boom),
      ['error', boom],
    ],
    [
      'classic that refuses',
      (_a: 1, _b: 1, _c: 1, done: (...a: unknown[]) => void) =>
        done(null, false, { message: 'banned' }),
      ['fail', { message: 'banned' }, 401],
    ],
    [
      'classic that calls done twice',
      (_a: 1, _b: 1, _c: 1, done: (...a: unknown[]) => void) => {
        done(null, { id: 1 });
        done(boom);
      },
      ['success', { id: 1 }, {}],
    ],
    [
      'classic that throws after done',
      (_a: 1, _b: 1, _c: 1, done: (...a: unknown[]) => void) => {
        done(null, { id: 1 });
        throw boom;
      },
      ['success', { id: 1 }, {}],
    ],
  ])('%s ends in exactly one outcome', async (_name, shape, expected) => {
    const strategy = new MarketplaceStrategy(options(), shape as unknown as typeof verify);
    expect(await outcomesOf(strategy)).toEqual([expected]);
  });
});

it("verify's own error is an error, also when it is one of this package", async () => {
  const { loginApi } = fakeLoginApi();
  const own = new MarketgateError('access_token_expired', 'of another call');
  const strategy = new MarketplaceStrategy({ loginApi }, async () => Promise.reject(own));
  const session = await started(strategy);
  expect(await drive(strategy, requestOf({ auth_key: 'k' }, { session }))).toEqual([
    ['error', own],
  ]);
});

describe('the token store', () => {
  it('holds the token under the user_id before verify runs', async () => {
    const { loginApi } = fakeLoginApi();
    const tokenStore = new MemoryTokenStore({ clock: () => 0 });
    let stored: unknown;
    const strategy = new MarketplaceStrategy({ loginApi, tokenStore }, async ({ profile }) => {
      stored = await tokenStore.get(profile.id);
      return { id: profile.id };
    });
    const session = await started(strategy);
    await drive(strategy, requestOf({ auth_key: 'k' }, { session }));
    expect(stored).toEqual({ value: 'token-1', issuedAt: 0, expiresAt: 3_600_000 });
  });

  it('that fails is an error, and gives away neither the token nor its own message', async () => {
    const { loginApi } = fakeLoginApi();
    const tokenStore = Object.assign(new MemoryTokenStore(), {
      set: async () => Promise.reject(new Error('cannot write token-1')),
    });
    const strategy = new MarketplaceStrategy({ loginApi, tokenStore }, verify);
    const session = await started(strategy);
    const [outcome] = await drive(strategy, requestOf({ auth_key: 'k' }, { session }));
    expect(outcome?.[0]).toBe('error');
    expect(outcome?.[1]).toMatchObject({ code: 'store_unavailable', status: 503 });
    expect(inspect(outcome, { depth: 9, showHidden: true })).not.toContain('token-1');
  });

  it('that says that the key was claimed elsewhere in the fleet ends the login', async () => {
    const { loginApi, exchanged } = fakeLoginApi();
    const tokenStore = Object.assign(new MemoryTokenStore(), { claim: async () => false });
    const strategy = new MarketplaceStrategy({ loginApi, tokenStore }, verify);
    const session = await started(strategy);
    const [outcome] = await drive(strategy, requestOf({ auth_key: 'k' }, { session }));
    expect(outcome?.[0]).toBe('fail');
    expect(exchanged).toEqual([]);
  });
});

describe('returnTo', () => {
  it('comes back with the callback, although the session is another by then', async () => {
    const { strategy } = strategyOf();
    const session = await started(strategy, { returnTo: '/account?tab=2#top' });
    const req = requestOf({ auth_key: 'k' }, { session });
    await drive(strategy, req);
    expect(returnTo({ ...req, session: {} })).toBe('/account?tab=2#top');
  });

  it.each([
    '//evil.example',
    '/\\evil.example',
    '\\\\evil.example',
    'https:evil.example',
    'https://evil.example',
    'javascript:alert(1)',
    'evil',
    '',
    ' /x',
    '/\t/evil.example',
    '/a\nb',
    '/a\u0000',
    '/.//evil.example',
    '/a/..//evil.example',
    `/${'x'.repeat(3000)}`,
    undefined,
    null,
    7,
    ['/a'],
    { a: 1 },
  ])('%j is dropped', async (value) => {
    const { strategy } = strategyOf();
    const session = await started(strategy, { returnTo: value });
    const req = requestOf({ auth_key: 'k' }, { session });
    const [outcome] = await drive(strategy, req);
    expect(outcome?.[0]).toBe('success');
    expect(returnTo(req)).toBeUndefined();
  });
});

describe('the profile', () => {
  async function profileOf(user: object): Promise<unknown> {
    const { loginApi } = fakeLoginApi({ getUser: async () => user });
    let seen: unknown;
    const strategy = new MarketplaceStrategy({ loginApi }, async ({ profile }) => {
      seen = profile;
      return { id: profile.id };
    });
    const session = await started(strategy);
    await drive(strategy, requestOf({ auth_key: 'k' }, { session }));
    return seen;
  }

  it('is in the form of passport', async () => {
    expect(await profileOf(userInfo)).toEqual({
      provider: 'marketplace',
      id: '77',
      username: 'mira',
      displayName: 'Mira Okafor',
      name: { givenName: 'Mira', familyName: 'Okafor' },
      emails: [{ value: 'mira@example.test' }],
      photos: [{ value: 'https://example.test/mira.png' }],
      verified: true,
      _raw: JSON.stringify(userInfo),
      _json: userInfo,
    });
  });

  it('leaves out what is absent', async () => {
    const few = { user_id: '9', user_name: 'nine' };
    expect(await profileOf(few)).toStrictEqual({
      provider: 'marketplace',
      id: '9',
      username: 'nine',
      displayName: 'nine',
      _raw: JSON.stringify(few),
      _json: few,
    });
  });

  it.each([
    ['photos/1.png', [{ value: 'https://market.example/photos/1.png' }]],
    ['/photos/1.png', [{ value: 'https://market.example/photos/1.png' }]],
    ['javascript:alert(1)', undefined],
    ['', undefined],
  ])('picture %j becomes %j', async (user_picture, photos) => {
    const profile = (await profileOf({ ...userInfo, user_picture })) as { photos?: unknown };
    expect(profile.photos).toEqual(photos);
  });

  it.each([
    ['1', true],
    ['0', false],
    ['', false],
  ])('user_verified %j is %s', async (user_verified, verified) => {
    expect(await profileOf({ ...userInfo, user_verified })).toMatchObject({ verified });
  });
});
