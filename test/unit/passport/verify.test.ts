import 'reflect-metadata';
import { PassportStrategy } from '@nestjs/passport';
import {
  MarketgateError,
  type MarketplaceProfile,
  MarketplaceStrategy,
  type VerifyDone,
  type VerifyInput,
} from 'marketgate';
import type { VerifyCallback, VerifyFunction } from 'passport-oauth2';
import { describe, expect, it, vi } from 'vitest';
import { fakeLoginApi, logIn, success, user } from '../../support/strategy-harness.js';
import { userInfo } from '../../support/wire.js';

type Done = (error: unknown, user?: unknown, info?: object) => void;

const boom = new Error('boom');
const refused = ['fail', expect.objectContaining({ code: 'login_failed' }), 401];
const gaveUndefined = [
  'error',
  expect.objectContaining({ message: expect.stringContaining('gave undefined') }),
];

let count = 0;
const logInWith = async (strategy: MarketplaceStrategy) =>
  (await logIn({ strategy }, `k${count++}`, { path: '/callback' })).recorded;

describe('verify is given', () => {
  // Typed as an app writes it: inline, without types of its own.
  const { loginApi } = fakeLoginApi();
  const userOf = (given: object): Express.User => given;
  const withRequest = { loginApi, passReqToCallback: true } as const;
  const token = 'token-1';
  const id = '77';
  const path = '/callback';

  // Typed as for passport-oauth2, whose refreshToken is a string.
  type Id = { id: string };
  const named = (_token: string, refresh: string, profile: Id, done: VerifyCallback): void =>
    done(null, userOf({ refresh, id: profile.id }));
  it.each<[string, MarketplaceStrategy, object]>([
    [
      'what a function of passport-oauth2 takes',
      new MarketplaceStrategy({ loginApi }, named as VerifyFunction),
      { id },
    ],
    [
      'accessToken, refreshToken, profile, done',
      new MarketplaceStrategy({ loginApi }, (token, refresh, profile, done) =>
        done(null, userOf({ token, refresh, id: profile.id })),
      ),
      { token, refresh: undefined, id },
    ],
    [
      'params before the profile',
      new MarketplaceStrategy({ loginApi }, (_token, refresh: string, params, profile, done) =>
        done(null, userOf({ refresh, ...params, id: profile.id })),
      ),
      { access_token: token, expires_in: 3600, id },
    ],
    [
      'the request first',
      new MarketplaceStrategy(withRequest, (req, token, _refresh, profile, done) =>
        done(null, userOf({ path: req.path, token, id: profile.id })),
      ),
      { path, token, id },
    ],
    [
      'the request first, and params',
      new MarketplaceStrategy(withRequest, (req, _token, _refresh, params, profile, done) =>
        done(null, userOf({ path: req.path, ...params, id: profile.id })),
      ),
      { path, access_token: token, expires_in: 3600, id },
    ],
    [
      'one argument with profile, token and req',
      new MarketplaceStrategy({ loginApi }, async ({ profile, token, req }) =>
        userOf({ path: req.path, token: token.value, id: profile.id }),
      ),
      { path, token, id },
    ],
    [
      'one argument and done, with passReqToCallback',
      new MarketplaceStrategy(withRequest, ({ profile, req }: VerifyInput, done: VerifyDone) =>
        done(null, userOf({ path: req.path, id: profile.id })),
      ),
      { path, id },
    ],
    [
      'one argument, as validate of NestJS takes it',
      new (class extends PassportStrategy(MarketplaceStrategy, 'marketplace', true) {
        validate({ profile, token, req }: VerifyInput) {
          return userOf({ path: req.path, token: token.value, id: profile.id });
        }
      })({ loginApi }),
      { path, token, id },
    ],
    [
      'the classic arguments, as validate of NestJS takes them',
      new (class extends PassportStrategy(MarketplaceStrategy) {
        validate(token: string, refresh: undefined, profile: MarketplaceProfile) {
          return userOf({ token, refresh, id: profile.id });
        }
      })({ loginApi }),
      { token, refresh: undefined, id },
    ],
    [
      'those of the classic form and the request, where it declares none',
      new MarketplaceStrategy(withRequest, ((...args: unknown[]) => ({ n: args.length })) as never),
      { n: 5 },
    ],
  ])('%s', async (_name, strategy, expected) => {
    expect(await logInWith(strategy)).toEqual([['success', expected, {}]]);
  });
});

/** A verify that takes one argument, one with `done`, one in the classic form, and one that declares no arguments. */
const one = (run: (input: VerifyInput) => unknown) => (input: VerifyInput) => run(input);
const withDone = (run: (done: Done) => unknown) => (_input: unknown, done: Done) => run(done);
const classic = (run: (done: Done) => unknown) => (_a: 1, _r: 1, _p: 1, done: Done) => run(done);
const undeclared =
  (run: (done: Done) => unknown) =>
  (...args: unknown[]) =>
    run(args.at(-1) as Done);
const throws = (thrown: unknown = boom): never => {
  throw thrown;
};
const own = new MarketgateError('access_token_expired', 'of another call');

describe('verify ends in exactly one outcome where it', () => {
  it.each<[string, (...args: never[]) => unknown, unknown]>([
    ['takes one argument and gives a user', one(() => user), success],
    ['takes one and rejects', one(async () => throws()), ['error', boom]],
    ['rejects with an error of this package', one(async () => throws(own)), ['error', own]],
    ['rejects with nothing', one(async () => throws(null)), ['error', expect.any(Error)]],
    ['takes one and gives false', one(async () => false), refused],
    ['takes one and gives undefined', one(async () => undefined), gaveUndefined],
    [
      'takes one and gives true',
      one(async () => true),
      ['error', expect.objectContaining({ message: expect.stringContaining('gave true') })],
    ],
    ['takes one and done, and calls it', withDone((done) => done(null, user)), success],
    ['throws', classic(() => throws()), ['error', boom]],
    ['rejects', classic(async () => throws()), ['error', boom]],
    ['calls done with an error', classic((done) => done(boom)), ['error', boom]],
    [
      'calls done with undefined and a message',
      classic((done) => done(null, undefined, { message: 'banned' })),
      ['fail', { message: 'banned' }, 401],
    ],
    [
      'calls done with a user and a message',
      classic((done) => done(null, user, { message: 'welcome' })),
      ['success', user, { message: 'welcome' }],
    ],
    ['calls done twice', classic((done) => [done(null, user), done(boom)]), success],
    ['throws after done', classic((done) => [done(null, user), throws()]), success],
    ['calls done later', classic((done) => void setImmediate(done, null, user)), success],
    ['declares no arguments and gives a user', undeclared(async () => user), success],
    [
      'declares none and calls done later',
      undeclared((done) => void setImmediate(done, null, user)),
      success,
    ],
    [
      'declares none, and has ended without a user when it calls done',
      undeclared(async (done) => void setImmediate(done, null, user)),
      gaveUndefined,
    ],
    [
      'declares none, calls done and gives another user',
      undeclared(async (done) => [done(null, user), { id: 'another' }]),
      success,
    ],
  ])('%s', async (_name, verify, expected) => {
    expect((await logIn({ verify })).recorded).toEqual([expected]);
  });

  it('declares none, gives undefined at once and does not call done', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const login = logIn({ verify: undeclared(() => undefined) });
    for (let i = 0; i < 20; i++) await new Promise(setImmediate);
    await vi.advanceTimersByTimeAsync(3000);
    expect((await login).recorded).toEqual([gaveUndefined]);
  });
});

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

  it('leaves out of its text what is nested deeper than the stack', async () => {
    let deep: unknown = [];
    for (let i = 0; i < 20_000; i++) deep = [deep];
    expect(JSON.parse((await of({ ...userInfo, trace: deep }))._raw)).toEqual(userInfo);
  });
});
