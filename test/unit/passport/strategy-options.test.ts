import { MarketplaceStrategy } from 'marketgate';
import { expect, it } from 'vitest';
import { fakeLoginApi } from '../../support/strategy-harness.js';

const { loginApi } = fakeLoginApi();
const make = (options: object, verify: unknown) =>
  new MarketplaceStrategy({ loginApi, ...options } as never, verify as never);
const verify = (_input: object) => false;

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
  ['loginAttempts', 'unknown option', [{ secret: 'x' }], 'secret'],
  ['loginAttempts', 'a secret', [{}, { cookieSecret: [] }], 'loginAttempts.cookieSecret'],
])(
  'a wrong option "%s" is a TypeError that names it and says %j',
  (name, expected, wrong, named = name) => {
    for (const value of wrong) {
      const attempt = () => make({ [name]: value }, verify);
      expect(attempt).toThrow(TypeError);
      expect(attempt).toThrow(/^MarketplaceStrategy: /);
      expect(attempt).toThrow(`"${named}"`);
      expect(attempt).toThrow(expected);
    }
  },
);

it('options that are missing altogether are a TypeError that names loginApi', () => {
  expect(() => new MarketplaceStrategy(undefined as never, verify)).toThrow('"loginApi"');
});

const three = (_a: 1, _b: 1, _c: 1) => {};
it.each<[string, object, unknown, string]>([
  ['that is missing', {}, undefined, 'verify must be'],
  ['of 3 arguments', {}, three, 'takes 3 arguments; it must take one'],
  ['of 3 arguments', { passReqToCallback: true }, three, ', or req, accessToken, '],
  ['of 6 arguments', {}, (_a: 1, _b: 1, _c: 1, _d: 1, _e: 1, _f: 1) => {}, ', or accessToken, '],
  ['of 4', { passReqToCallback: true }, (_a: 1, _b: 1, _c: 1, _d: 1) => {}, 'takes 4 arguments'],
])('a verify %s, with the options %j, is a TypeError', (_what, options, wrong, expected) => {
  expect(() => make(options, wrong)).toThrow(TypeError);
  expect(() => make(options, wrong)).toThrow(expected);
});
