import 'reflect-metadata';
import { PassportStrategy } from '@nestjs/passport';
import {
  MarketgateError,
  type MarketplaceProfile,
  MarketplaceStrategy,
  type VerifyInput,
} from 'marketgate';
import { describe, expect, it } from 'vitest';
import { fakeTimers, later } from '../../support/later.js';
import { fakeLoginApi, logIn, success, user } from '../../support/strategy-harness.js';
import { userInfo } from '../../support/wire.js';

type Done = (error: unknown, user?: unknown, info?: object) => void;

const boom = new Error('boom');
const throws = (thrown: unknown): never => {
  throw thrown;
};
const error = (of: unknown) => ['error', of];
const gave = (what: string) =>
  error(expect.objectContaining({ message: expect.stringContaining(`gave ${what};`) }));
const refused = ['fail', expect.objectContaining({ code: 'login_failed' }), 401];

describe('verify is given', () => {
  // Typed as an app writes it: inline, without types of its own.
  const userOf = (given: object): Express.User => given;
  const options = () => ({ loginApi: fakeLoginApi().loginApi });
  const withRequest = () => ({ ...options(), passReqToCallback: true }) as const;
  const token = 'token-1';
  const id = '77';
  const path = '/callback';

  it.each<[string, MarketplaceStrategy, object]>([
    [
      'accessToken, refreshToken, profile, done',
      new MarketplaceStrategy(options(), (token, refresh, profile, done) =>
        done(null, userOf({ token, refresh, id: profile.id })),
      ),
      { token, refresh: undefined, id },
    ],
    [
      'the request first, and params',
      new MarketplaceStrategy(withRequest(), (req, _token, _refresh, params, profile, done) =>
        done(null, userOf({ path: req.path, ...params, id: profile.id })),
      ),
      { path, access_token: token, expires_in: 3600, id },
    ],
    [
      'one argument with profile, token and req',
      new MarketplaceStrategy(options(), async ({ profile, token, req }) =>
        userOf({ path: req.path, token: token.value, id: profile.id }),
      ),
      { path, token, id },
    ],
    [
      'one argument, as validate of NestJS takes it',
      new (class extends PassportStrategy(MarketplaceStrategy, 'marketplace', true) {
        validate({ profile, token, req }: VerifyInput) {
          return userOf({ path: req.path, token: token.value, id: profile.id });
        }
      })(options()),
      { path, token, id },
    ],
    [
      'the classic arguments, as validate of NestJS takes them',
      new (class extends PassportStrategy(MarketplaceStrategy) {
        validate(token: string, refresh: undefined, profile: MarketplaceProfile) {
          return userOf({ token, refresh, id: profile.id });
        }
      })(options()),
      { token, refresh: undefined, id },
    ],
  ])('%s', async (_name, strategy, expected) => {
    const { recorded } = await logIn({ strategy }, 'k1', { path });
    expect(recorded).toEqual([['success', expected, {}]]);
  });
});

/** A verify that takes one argument, one in the classic form, and one that declares no arguments. */
const one = (run: (input: VerifyInput) => unknown) => (input: VerifyInput) => run(input);
const classic = (run: (done: Done) => unknown) => (_a: 1, _r: 1, _p: 1, done: Done) => run(done);
const undeclared =
  (run: (done: Done) => unknown) =>
  (...args: unknown[]) =>
    run(args.at(-1) as Done);
const info = { message: 'welcome' };
const own = new MarketgateError('access_token_expired', 'of another call');

describe('verify ends in exactly one outcome where it', () => {
  it.each<[string, (...args: never[]) => unknown, unknown]>([
    ['takes one and rejects with an error of ours', one(async () => throws(own)), error(own)],
    ['takes one and rejects with nothing', one(async () => throws(null)), error(expect.any(Error))],
    ['takes one and gives false', one(async () => false), refused],
    ['takes one and gives undefined', one(async () => undefined), gave('undefined')],
    ['takes one and gives true', one(async () => true), gave('true')],
    ['throws', classic(() => throws(boom)), error(boom)],
    ['rejects', classic(async () => throws(boom)), error(boom)],
    ['calls done with an error', classic((done) => done(boom)), error(boom)],
    ['calls done with info', classic((done) => done(null, user, info)), ['success', user, info]],
    ['calls done twice', classic((done) => [done(null, user), done(boom)]), success],
    ['throws after done', classic((done) => [done(null, user), throws(boom)]), success],
    ['calls done later', classic((done) => void setImmediate(done, null, user)), success],
    ['declares no arguments and gives a user', undeclared(async () => user), success],
    [
      'declares none, and calls done',
      undeclared((done) => void setImmediate(done, null, user)),
      success,
    ],
    [
      'refuses with info alone',
      classic((done) => done(null, undefined, info)),
      ['fail', info, 401],
    ],
  ])('%s', async (_name, verify, expected) => {
    expect((await logIn({ verify })).recorded).toEqual([expected]);
  });

  it('declares none, gives undefined and does not call done', async () => {
    fakeTimers();
    const { recorded } = await later(logIn({ verify: undeclared(() => undefined) }));
    expect(recorded).toEqual([gave('undefined')]);
  });
});

it.each([
  [false, 3, 'accessToken, refreshToken, [params,] profile, done'],
  [true, 4, 'req, accessToken, refreshToken, [params,] profile, done'],
])(
  'verify with the wrong number of arguments, passReqToCallback %s, is a TypeError',
  (passReqToCallback, length, or) => {
    const { loginApi } = fakeLoginApi();
    const verify = Object.defineProperty(() => {}, 'length', { value: length });
    const make = () => new MarketplaceStrategy({ loginApi, passReqToCallback }, verify as never);
    const says = `MarketplaceStrategy: verify takes ${length} arguments; it must take one ({ profile, token, req }), that and done, or ${or}`;
    expect(make).toThrow(new TypeError(says));
  },
);

describe('a profile', () => {
  /** What verify gets for a user of a service at https://market.example/x/. */
  async function of(user: object) {
    const loginUrl = () => 'https://market.example/x/api/oauth?app_id=a';
    const api = { loginUrl, getUser: async () => user };
    const { outcome } = await logIn({ api, verify: one(({ profile }) => profile) });
    return outcome?.[1] as MarketplaceProfile;
  }

  it('is in the form of passport', async () => {
    expect(await of(userInfo)).toStrictEqual({
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
    expect(await of({ ...userInfo, user_verified: '0' })).toMatchObject({ verified: false });
    const deep: { self?: object } = {};
    deep.self = deep;
    expect((await of({ ...userInfo, deep }))._raw).toBe(JSON.stringify(userInfo));
  });

  it('leaves out what is absent', async () => {
    const few = { user_id: '9', user_name: 'nine' };
    expect(await of(few)).toStrictEqual({
      ...{ provider: 'marketplace', id: '9', username: 'nine', displayName: 'nine' },
      ...{ _raw: JSON.stringify(few), _json: few },
    });
  });

  it.each([
    ['photos/1.png', 'https://market.example/x/photos/1.png'],
    ['/1.png', 'https://market.example/1.png'],
    ['http://cdn.example/1.png', 'http://cdn.example/1.png'],
    ['javascript:alert(1)', undefined],
    ['', undefined],
  ])('has for the picture %j %j', async (user_picture, value) => {
    expect((await of({ ...userInfo, user_picture })).photos).toEqual(value && [{ value }]);
  });
});
