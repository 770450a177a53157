import {
  MarketplaceStrategy,
  type MarketplaceStrategyOptions,
  MemoryTokenStore,
  type MarketplaceStrategy as Strategy,
} from 'marketgate';
import { describe, expect, it } from 'vitest';
import { drive, fakeLoginApi, longSecret, requestOf } from '../../support/strategy-harness.js';
import { userInfo } from '../../support/wire.js';

const { loginApi } = fakeLoginApi();
const verify = async ({ profile }: { profile: { id: string } }) => ({ id: profile.id });

describe('a complaint about an option', () => {
  const make =
    (options: object, own: unknown = verify) =>
    (): unknown =>
      new MarketplaceStrategy(
        { loginApi, ...options } as MarketplaceStrategyOptions,
        own as typeof verify,
      );

  const cookie = (...secrets: unknown[]) => secrets.map((cookieSecret) => ({ cookieSecret }));
  it.each<[string, string, unknown[], named?: string]>([
    ['loginApi', 'a LoginApi', [{}, undefined]],
    ['loginApi', 'missing', [{ loginUrl: () => '' }], 'exchange'],
    ['tokenStore', '"get" is missing', [{}, new Set()]],
    ['tokenStore', 'a token store', ['redis']],
    ['tokenStore', '"claim"', [Object.assign(new MemoryTokenStore(), { claim: true })]],
    ['state', 'true or false', ['yes']],
    ['confirm', '"auto", true or false', [1, 'always', null]],
    ['confirm', '"auto", true or false', [{ ask: 'always' }], 'confirm.ask'],
    ['confirm', 'a function', [{ render: 'page' }], 'confirm.render'],
    ['confirm', 'unknown option', [{ ask: true, page: '' }], 'page'],
    ['name', 'string', [7, '']],
    ['passReqToCallback', 'true or false', ['yes']],
    ['clock', 'a function', [7]],
    ['callbackURL', 'unknown option', ['/callback']],
    ['loginAttempts', 'cookieSecret', ['cookie', null]],
    [
      'loginAttempts',
      'a secret',
      [{}, ...cookie([], '', 'x'.repeat(31), ' '.repeat(32), [longSecret(), 'short'], 7)],
      'loginAttempts.cookieSecret',
    ],
  ])('names the strategy, and "%s", and says %j', (name, expected, wrong, named = name) => {
    for (const value of wrong) {
      expect(make({ [name]: value })).toThrow(TypeError);
      expect(make({ [name]: value })).toThrow(/^MarketplaceStrategy: /);
      expect(make({ [name]: value })).toThrow(`"${named}"`);
      expect(make({ [name]: value })).toThrow(expected);
    }
  });

  it('is raised also where there are no options', () => {
    expect(() => new MarketplaceStrategy(undefined as never, verify)).toThrow('"loginApi"');
  });

  it.each<[string, object, unknown]>([
    ['is missing', {}, undefined],
    ['takes 2 arguments', {}, (_a: unknown, _b: unknown) => {}],
    ['takes 3 arguments', {}, (_a: unknown, _b: unknown, _c: unknown) => {}],
    [
      'takes 4 arguments beside the request',
      { passReqToCallback: true },
      (_a: 1, _b: 1, _c: 1, _d: 1) => {},
    ],
  ])('names verify where it %s', (_what, options, own) => {
    // `undefined` would be the default of the helper.
    const attempt = () =>
      new MarketplaceStrategy({ loginApi, ...options } as never, own as typeof verify);
    expect(attempt).toThrow(TypeError);
    expect(attempt).toThrow('verify');
  });

  it('says where an unknown one stands', () => {
    expect(make({ loginAttempts: { secret: 'x' } })).toThrow(
      /^MarketplaceStrategy: loginAttempts: unknown option "secret"/,
    );
  });

  it('lets the session be named', () => {
    expect(make({ loginAttempts: 'session' })).not.toThrow();
  });

  it.each<[string, object, string]>([
    ['with the request', { passReqToCallback: true }, ', or req, accessToken, '],
    ['without', {}, ', or accessToken, '],
  ])('says which arguments verify can have, %s', (_name, options, expected) => {
    const two = (_a: unknown, _b: unknown) => {};
    expect(make(options, two)).toThrow('takes 2 arguments');
    expect(make(options, two)).toThrow(expected);
  });
});

describe('what a visitor is told', () => {
  async function told(query: object, more: object = {}): Promise<unknown> {
    const strategy = new MarketplaceStrategy({ loginApi }, verify);
    return (await drive(strategy, requestOf(query, more)))[0]?.[1];
  }

  it.each<[string, object, string]>([
    ['twice', { auth_key: ['a', 'b'] }, 'given once'],
    ['twice, as Express 5 leaves it', { 'auth_key[]': 'a' }, 'given once'],
    ['empty', { auth_key: ' ' }, 'empty'],
  ])('of an auth_key that came %s', async (_name, query, expected) => {
    expect(await told(query)).toMatchObject({
      code: 'auth_key_rejected',
      message: expect.stringContaining(expected),
    });
  });

  it.each<[string, object]>([
    ['HEAD', { method: 'HEAD' }],
    ['sec-purpose', { headers: { 'sec-purpose': 'prefetch' } }],
    ['x-purpose, as old Safari has it', { headers: { 'x-purpose': 'preview' } }],
  ])('of a login that was only fetched ahead, by %s', async (_name, more) => {
    expect(await told({ auth_key: 'k' }, more)).toMatchObject({
      code: 'login_failed',
      message: expect.stringContaining('prefetch'),
    });
  });
});

describe('verify', () => {
  async function logIn(own: unknown, overrides = {}): Promise<unknown> {
    const fake = fakeLoginApi(overrides);
    const strategy: Strategy = new MarketplaceStrategy(
      { loginApi: fake.loginApi },
      own as typeof verify,
    );
    const session = {};
    await drive(strategy, requestOf({}, { session }));
    return drive(strategy, requestOf({ auth_key: 'k' }, { session }));
  }
  type Done = (error: unknown, user?: object) => void;

  it('is told for how many seconds the token lives, whenever it was made', async () => {
    const exchange = async () => ({ value: 't', issuedAt: 5_000_000, expiresAt: 5_090_000 });
    const classic = (_a: 1, _r: 1, params: object, _p: 1, done: Done) => done(null, params);
    expect(await logIn(classic, { exchange })).toEqual([
      ['success', { access_token: 't', expires_in: 90 }, {}],
    ]);
  });

  it('that gives nothing and calls done later is waited for', async () => {
    const classic = (_a: 1, _r: 1, _p: 1, done: Done) => {
      setImmediate(() => done(null, { id: 'later' }));
    };
    expect(await logIn(classic)).toEqual([['success', { id: 'later' }, {}]]);
  });

  it('that gives a query which runs when it is awaited has it run by nobody', async () => {
    let runs = 0;
    const classic = (_a: 1, _r: 1, _p: 1, done: Done) => {
      setImmediate(() => done(null, { id: 'later' }));
      // biome-ignore lint/suspicious/noThenProperty: as the queries of some database libraries are.
      return { then: () => runs++, catch: () => runs++ };
    };
    expect(await logIn(classic)).toEqual([['success', { id: 'later' }, {}]]);
    expect(runs).toBe(0);
  });
});

describe('the profile', () => {
  async function photoOf(user_picture: string, loginUrl: string): Promise<unknown> {
    const fake = fakeLoginApi({
      loginUrl: () => loginUrl,
      getUser: async () => ({ ...userInfo, user_picture }),
    });
    const strategy = new MarketplaceStrategy({ loginApi: fake.loginApi }, async ({ profile }) => ({
      photos: profile.photos,
    }));
    const session = {};
    await drive(strategy, requestOf({}, { session }));
    const [outcome] = await drive(strategy, requestOf({ auth_key: 'k' }, { session }));
    return outcome?.[1];
  }

  it.each([
    ['1.png', 'https://market.example/x/api/oauth?app_id=a', 'https://market.example/x/1.png'],
    ['/1.png', 'https://market.example/x/api/oauth?app_id=a', 'https://market.example/1.png'],
    ['http://cdn.example/1.png', 'https://market.example/api/oauth?', 'http://cdn.example/1.png'],
  ])('has the picture %s of %s at %s', async (picture, loginUrl, value) => {
    expect(await photoOf(picture, loginUrl)).toEqual({ photos: [{ value }] });
  });
});

describe('the client of the base class', () => {
  const clientOf = (loginUrl: string): unknown => {
    const fake = fakeLoginApi({ loginUrl: () => loginUrl });
    const strategy = new MarketplaceStrategy({ loginApi: fake.loginApi }, verify);
    return (strategy as unknown as { _oauth2: unknown })._oauth2;
  };

  it('knows the app, and no secret', () => {
    expect(clientOf('https://market.example/api/oauth?app_id=app-7')).toMatchObject({
      _clientId: 'app-7',
      _clientSecret: '',
    });
  });

  it('does without the app’s id', () => {
    expect(clientOf('https://market.example/api/oauth')).toMatchObject({
      _clientId: 'marketplace',
    });
  });
});
