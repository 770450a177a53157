import 'reflect-metadata';
import { PassportStrategy } from '@nestjs/passport';
import type { Request } from 'express';
import {
  type MarketplaceProfile,
  MarketplaceStrategy,
  type VerifyDone,
  type VerifyInput,
} from 'marketgate';
import type { VerifyCallback, VerifyFunction, VerifyFunctionWithRequest } from 'passport-oauth2';
import { describe, expect, it, vi } from 'vitest';
import { drive, fakeLoginApi, logIn, requestOf } from '../../support/strategy-harness.js';

type Done = (error: unknown, user?: unknown, info?: object) => void;

const user = { id: '1' };
const boom = new Error('boom');
const success = ['success', user, {}];
const refused = ['fail', expect.objectContaining({ code: 'login_failed' }), 401];
const gaveUndefined = [
  'error',
  expect.objectContaining({ message: expect.stringContaining('gave undefined') }),
];

describe('verify is given', () => {
  // Typed as an app writes it: inline, without types of its own.
  const { loginApi } = fakeLoginApi();
  const userOf = (given: object): Express.User => given;
  const withRequest = { loginApi, passReqToCallback: true } as const;

  // Typed as for passport-oauth2, whose refreshToken is a string.
  type Id = { id: string };
  const named = (_token: string, refresh: string, profile: Id, done: VerifyCallback): void =>
    done(null, userOf({ refresh, id: profile.id }));
  const withReq = (
    req: Request,
    _token: string,
    refresh: string,
    { id }: Id,
    done: VerifyCallback,
  ) => done(null, userOf({ path: req.path, refresh, id }));

  it.each<[string, MarketplaceStrategy, object]>([
    [
      'what a named function of passport-oauth2 takes',
      new MarketplaceStrategy({ loginApi }, named),
      { refresh: undefined, id: '77' },
    ],
    [
      "what passport-oauth2's VerifyFunction takes",
      new MarketplaceStrategy({ loginApi }, named as VerifyFunction),
      { refresh: undefined, id: '77' },
    ],
    [
      "what passport-oauth2's VerifyFunctionWithRequest takes",
      new MarketplaceStrategy(withRequest, withReq as VerifyFunctionWithRequest<Id>),
      { path: '/callback', refresh: undefined, id: '77' },
    ],
    [
      'a refreshToken that is declared as a string',
      new MarketplaceStrategy(
        { loginApi },
        // biome-ignore lint/suspicious/noExplicitAny: as an app writes it.
        (_token: string, refresh: string, profile: any, done: VerifyCallback) =>
          done(null, userOf({ refresh, id: profile.id })),
      ),
      { refresh: undefined, id: '77' },
    ],
    [
      'a refreshToken that is declared as a string, after params',
      new MarketplaceStrategy({ loginApi }, (_token, refresh: string, params, profile, done) =>
        done(null, userOf({ refresh, n: params.expires_in, id: profile.id })),
      ),
      { refresh: undefined, n: 3600, id: '77' },
    ],
    [
      'accessToken, refreshToken, profile, done',
      new MarketplaceStrategy({ loginApi }, (token, refresh, profile, done) =>
        done(null, userOf({ token, refresh, id: profile.id })),
      ),
      { token: 'token-1', refresh: undefined, id: '77' },
    ],
    [
      'params before the profile',
      new MarketplaceStrategy({ loginApi }, (_token, _refresh, params, profile, done) =>
        done(null, userOf({ ...params, id: profile.id })),
      ),
      { access_token: 'token-1', expires_in: 3600, id: '77' },
    ],
    [
      'the request first',
      new MarketplaceStrategy(withRequest, (req, token, _refresh, profile, done) =>
        done(null, userOf({ path: req.path, token, id: profile.id })),
      ),
      { path: '/callback', token: 'token-1', id: '77' },
    ],
    [
      'the request first, and params',
      new MarketplaceStrategy(withRequest, (req, _token, _refresh, params, profile, done) =>
        done(null, userOf({ path: req.path, ...params, id: profile.id })),
      ),
      { path: '/callback', access_token: 'token-1', expires_in: 3600, id: '77' },
    ],
    [
      'one argument with profile, token and req',
      new MarketplaceStrategy({ loginApi }, async ({ profile, token, req }) =>
        userOf({ path: req.path, token: token.value, id: profile.id }),
      ),
      { path: '/callback', token: 'token-1', id: '77' },
    ],
    [
      'one argument and done',
      new MarketplaceStrategy(
        { loginApi },
        ({ profile, token, req }: VerifyInput, done: VerifyDone) =>
          done(null, userOf({ path: req.path, token: token.value, id: profile.id })),
      ),
      { path: '/callback', token: 'token-1', id: '77' },
    ],
    [
      'one argument and done, with passReqToCallback',
      new MarketplaceStrategy(withRequest, ({ profile, req }: VerifyInput, done: VerifyDone) =>
        done(null, userOf({ path: req.path, id: profile.id })),
      ),
      { path: '/callback', id: '77' },
    ],
    [
      'one argument, as validate of NestJS takes it',
      new (class extends PassportStrategy(MarketplaceStrategy, 'marketplace', true) {
        validate({ profile, token, req }: VerifyInput) {
          return userOf({ path: req.path, token: token.value, id: profile.id });
        }
      })({ loginApi }),
      { path: '/callback', token: 'token-1', id: '77' },
    ],
    [
      'the classic arguments, as validate of NestJS takes them',
      new (class extends PassportStrategy(MarketplaceStrategy) {
        validate(token: string, refresh: undefined, profile: MarketplaceProfile) {
          return userOf({ token, refresh, id: profile.id });
        }
      })({ loginApi }),
      { token: 'token-1', refresh: undefined, id: '77' },
    ],
    [
      'those of the classic form, where it declares none',
      new MarketplaceStrategy({ loginApi }, ((...args: unknown[]) => ({ args })) as never),
      { args: ['token-1', undefined, expect.objectContaining({ id: '77' }), expect.any(Function)] },
    ],
  ])('%s', async (_name, strategy, expected) => {
    const session = {};
    await drive(strategy, requestOf({}, { session }));
    const req = requestOf({ auth_key: 'k' }, { session, path: '/callback' });
    expect(await drive(strategy, req)).toEqual([['success', expected, {}]]);
  });

  it('those and the request, where it declares none', async () => {
    const verify = (...args: unknown[]) => ({ n: args.length });
    const { outcome } = await logIn({ verify, passReqToCallback: true });
    expect(outcome).toEqual(['success', { n: 5 }, {}]);
  });

  it('the seconds that the token lives, whenever it was made', async () => {
    const exchange = async () => ({ value: 't', issuedAt: 5_000_000, expiresAt: 5_090_000 });
    const verify = (_a: 1, _r: 1, params: object, _p: 1, done: Done) => done(null, params);
    const { recorded } = await logIn({ verify, api: { exchange } });
    expect(recorded).toEqual([['success', { access_token: 't', expires_in: 90 }, {}]]);
  });
});

/** A verify that takes one argument, one in the classic form, and one that declares no arguments. */
const one = (run: () => unknown) => (_input: unknown) => run();
const withDone = (run: (done: Done) => unknown) => (_input: unknown, done: Done) => run(done);
const classic = (run: (done: Done) => unknown) => (_a: 1, _r: 1, _p: 1, done: Done) => run(done);
const undeclared =
  (run: (done: Done) => unknown) =>
  (...args: unknown[]) =>
    run(args.at(-1) as Done);
const throws = (): never => {
  throw boom;
};

it('validate of NestJS that rejects is an error, and one that gives false a refusal', async () => {
  for (const [validated, expected] of [
    [async () => throws(), ['error', boom]],
    [async () => false as const, refused],
  ] as const) {
    class Marketplace extends PassportStrategy(MarketplaceStrategy, 'marketplace', true) {
      validate(_input: VerifyInput) {
        return validated();
      }
    }
    const { loginApi } = fakeLoginApi();
    const strategy = new Marketplace({ loginApi });
    const session = {};
    await drive(strategy, requestOf({}, { session }));
    expect(await drive(strategy, requestOf({ auth_key: 'k' }, { session }))).toEqual([expected]);
  }
});

describe('verify ends in exactly one outcome where it', () => {
  it.each<[string, (...args: never[]) => unknown, unknown]>([
    ['takes one argument and gives a user', one(() => user), success],
    ['takes one and gives a promise of one', one(async () => user), success],
    ['takes one and rejects', one(async () => throws()), ['error', boom]],
    ['takes one and gives false', one(async () => false), refused],
    ['takes one and gives undefined', one(async () => undefined), gaveUndefined],
    ['takes one and done, and calls it', withDone((done) => done(null, user)), success],
    ['takes one and done, and rejects', withDone(async () => throws()), ['error', boom]],
    ['throws', classic(throws), ['error', boom]],
    ['rejects', classic(async () => throws()), ['error', boom]],
    ['calls done with an error', classic((done) => done(boom)), ['error', boom]],
    ['calls done with false', classic((done) => done(null, false)), refused],
    ...[false, undefined].map((given): [string, (...args: never[]) => unknown, unknown] => [
      `calls done with ${given} and a message`,
      classic((done) => done(null, given, { message: 'banned' })),
      ['fail', { message: 'banned' }, 401],
    ]),
    ['calls done with undefined', classic((done) => done(null)), gaveUndefined],
    [
      'calls done with a user and a message',
      classic((done) => done(null, user, { message: 'welcome' })),
      ['success', user, { message: 'welcome' }],
    ],
    ['calls done twice', classic((done) => [done(null, user), done(boom)]), success],
    ['throws after done', classic((done) => [done(null, user), throws()]), success],
    ['calls done later', classic((done) => void setImmediate(done, null, user)), success],
    ['declares no arguments and gives a user', undeclared(async () => user), success],
    ['declares none and gives false', undeclared(async () => false), refused],
    ['declares none and rejects', undeclared(async () => throws()), ['error', boom]],
    [
      'declares none and calls done, as NestJS does',
      undeclared(async (done) => Promise.resolve().then(() => done(null, user))),
      success,
    ],
    [
      'declares none, and has ended without a user when it calls done',
      undeclared(async (done) => void setImmediate(done, null, user)),
      gaveUndefined,
    ],
    [
      'declares none, calls done and gives another user',
      undeclared(async (done) => {
        done(null, user);
        return { id: 'another' };
      }),
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

  it('gives a query that runs when it is awaited: nobody runs it', async () => {
    let runs = 0;
    const verify = (_a: 1, _r: 1, _p: 1, done: Done) => {
      setImmediate(() => done(null, user));
      // biome-ignore lint/suspicious/noThenProperty: as the queries of some database libraries are.
      return { then: () => runs++, catch: () => runs++ };
    };
    expect((await logIn({ verify })).recorded).toEqual([success]);
    expect(runs).toBe(0);
  });
});
