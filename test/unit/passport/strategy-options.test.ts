import { MarketplaceStrategy, type MarketplaceStrategyOptions } from 'marketgate';
import { describe, expect, it } from 'vitest';
import { fakeLoginApi, longSecret } from '../../support/strategy-harness.js';

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
    ['tokenStore', 'a token store', ['redis', null]],
    ['state', 'true or false', ['yes']],
    ['confirm', '"auto", true or false', [1, 'always', null]],
    ['confirm', '"auto", true or false', [{ ask: 'always' }], 'confirm.ask'],
    ['confirm', 'a function', [{ render: 'page' }], 'confirm.render'],
    ['confirm', 'unknown option', [{ ask: true, page: '' }], 'page'],
    ['name', 'string', [7, '']],
    ['passReqToCallback', 'true or false', ['yes']],
    ['guessLimit', 'false', [true, 7]],
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
    ['takes 3 arguments', {}, (_a: unknown, _b: unknown, _c: unknown) => {}],
    [
      'takes 4 arguments next to the request',
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
    const three = (_a: unknown, _b: unknown, _c: unknown) => {};
    expect(make(options, three)).toThrow('takes 3 arguments');
    expect(make(options, three)).toThrow(expected);
  });
});

it.each([
  ['https://market.example/api/oauth?app_id=app-7', 'app-7'],
  ['https://market.example/api/oauth', 'marketplace'],
])('the base class is given no secret, and of %s the app %s', (loginUrl, app) => {
  const fake = fakeLoginApi({ loginUrl: () => loginUrl });
  const strategy = new MarketplaceStrategy({ loginApi: fake.loginApi }, verify);
  const { _oauth2: client } = strategy as unknown as { _oauth2: unknown };
  expect(client).toMatchObject({ _clientId: app, _clientSecret: '' });
});
