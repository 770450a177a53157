import express, { type Express as App } from 'express';
import {
  currentUser,
  type ErrorHandlerOptions,
  errorHandler,
  loadUser,
  MarketgateError,
  MemoryTokenStore,
  type Middleware,
  requireAccessToken,
  requireLogin,
  type TokenStore,
  type UserIdSource,
} from 'marketgate';
import request from 'supertest';
import { describe, expect, expectTypeOf, it, onTestFinished, vi } from 'vitest';
import { note } from '../../../src/web/login-request.js';
import { throwing } from '../../support/errors.js';
import { runMiddleware } from '../../support/fake-response.js';
import { json, page, text, type WireAnswer } from '../../support/service-in-memory.js';
import { hearWarnings } from '../../support/warnings.js';
import { userInfo } from '../../support/wire.js';
import { serving } from '../clients/login-support.js';

const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';
const EXPIRED = { code: 'access_token_expired', status: 401 };
const LOGIN = { code: 'login_required', status: 401 };
const UNAVAILABLE = { code: 'store_unavailable', status: 503 };

const token = (value: string, expiresAt = Number.MAX_SAFE_INTEGER) => ({
  value,
  issuedAt: 0,
  expiresAt,
});
const storeWith = (overrides: Partial<TokenStore> = {}) => ({
  ...{ get: vi.fn(async () => token('t')), set: vi.fn(), delete: vi.fn(async () => {}) },
  ...overrides,
});

/** What a middleware passes to `next` for a user, and what it found. */
const run = (guard: Middleware, user: unknown = { id: '77' }) =>
  runMiddleware(guard, { user, method: 'POST', originalUrl: '/', headers: { accept: BROWSER } });

describe('requireLogin', () => {
  const appOf = (guard: Middleware, options: ErrorHandlerOptions = {}) =>
    express()
      .use(guard)
      .use(errorHandler({ log: false, ...options }));
  const go = (app: App, path = '/account?tab=2', headers: Record<string, string> = {}) =>
    request(app)
      .get(path)
      .set({ accept: BROWSER, ...headers });

  it('lets a logged-in user through, and sends others to the login, back to their page afterwards', async () => {
    expect((await run(requireLogin())).error).toBeUndefined();
    const tokenStore = storeWith();
    for (const [app, location] of [
      [appOf(requireLogin(), { loginPath: '/enter' }), '/enter'],
      [appOf(requireLogin({ loginPath: '/own' }), { loginPath: '/enter' }), '/own'],
      [appOf(requireAccessToken({ tokenStore, loginPath: '/own' })), '/own'],
    ] as const) {
      const { headers } = await go(app).expect(302);
      expect(headers).toMatchObject({ location, 'cache-control': 'no-store' });
      expect(String(headers['set-cookie'])).toMatch(
        /^marketgate\.return_to=%2Faccount%3Ftab%3D2; Max-Age=600; Path=\/; .*HttpOnly; SameSite=Lax/,
      );
    }
    // Nobody knows of a login where errorHandler names none.
    await go(appOf(requireLogin())).expect(401);
  });

  it('gives what is no navigation 401, and no page to come back to', async () => {
    for (const app of [
      appOf(requireLogin({ loginPath: '/login?by=guard' })),
      appOf(requireLogin(), { loginPath: '/login' }),
    ]) {
      const { headers } = await go(app, undefined, { 'sec-fetch-mode': 'cors' }).expect(401);
      expect(headers['cache-control']).toBe('no-store');
      for (const name of ['location', 'set-cookie']) expect(headers).not.toHaveProperty(name);
    }
  });

  it('above its own loginPath is an error that tells the operator so, because nobody could log in', async () => {
    for (const [guard, loginPath] of [
      [requireLogin({ loginPath: '/login?by=guard' }), undefined],
      [requireLogin(), '/login'],
    ] as const) {
      const log = vi.fn();
      const { text } = await go(appOf(guard, { loginPath, log }), '/login?again').expect(500);
      expect(log).toHaveBeenCalledExactlyOnceWith(expect.stringContaining('own loginPath'));
      expect(text).not.toContain('href="/login');
    }
    // The strategy itself refuses a prefetch of that path.
    const strategy: Middleware = (req, _res, next) => {
      note(req, { isFresh: false });
      next(new MarketgateError('login_required', 'x'));
    };
    await go(appOf(strategy, { loginPath: '/login' }), '/login').expect(401);
  });

  it('warns where the session has a user whom passport.session() has not read', async () => {
    const warnings = hearWarnings();
    const session = { passport: { user: '77' } };
    const { error } = await runMiddleware(requireLogin(), { headers: {}, session });
    expect([error, warnings]).toMatchObject([LOGIN, ['MARKETGATE_NO_PASSPORT_SESSION']]);
  });
});

it('currentUser gives the logged-in user, typed, and elsewhere names the guard that is missing', () => {
  const user = { id: '77' };
  const given = currentUser({ user });
  expectTypeOf(given).toEqualTypeOf<Express.User>();
  expect(given).toBe(user);
  for (const req of [{}, { user: null }]) {
    expect(() => currentUser(req)).toThrow(/^currentUser: nobody .* put requireLogin\(\) before/);
  }
});

it.each<[string, object, unknown, string?]>([
  ['req.user.id by default', {}, { id: '77' }],
  ['where the app says, later and as a number', { userId: async () => 77 }, { id: 'row-1' }],
  ['after the name of another strategy', { strategy: 'b' }, { id: '77' }, 'b:77'],
])('a user with a token is let through, privately; the id is %s', async (...row) => {
  const [, options, user, name = '77'] = row;
  const tokenStore = storeWith();
  for (const guard of [
    requireAccessToken({ tokenStore, ...options }),
    loadUser({ getUser: async () => userInfo }, { tokenStore, ...options }),
  ]) {
    const { error, res } = await run(guard, user);
    const headers = [res.getHeader('cache-control'), res.getHeader('vary')];
    expect([error, ...headers]).toEqual([undefined, 'private', 'Cookie']);
  }
  expect(vi.mocked(tokenStore.get).mock.calls).toEqual([[name], [name]]);
});

const idOf: UserIdSource = (req) => (req.user as unknown as { idThere: string }).idThere;
const down = new Error('the database is down');
const message = expect.stringContaining('option "userId"');
const broken = storeWith({ get: throwing(new Error('cannot read token-1')) });

it.each<[string, unknown, UserIdSource | undefined, object, TokenStore?]>([
  ['nobody', null, undefined, LOGIN],
  ['nobody, of whom userId reads a field', null, idOf, LOGIN],
  ['a user without a marketplace account', { id: '1' }, () => undefined, LOGIN],
  ['a user whose id is missing by default', {}, undefined, { message }],
  // A BIGINT column read as a number: the id of another user.
  ['a user whose id is not exact', { id: 2 ** 53 }, undefined, { message }],
  ['nobody, where userId cannot find out', null, throwing(down), down],
  ['a user without a token', { id: '1' }, undefined, EXPIRED, new MemoryTokenStore()],
  ['a user whose token cannot be read', { id: '1' }, undefined, UNAVAILABLE, broken],
])('for %s a guard gives the login, or the error of the app', async (...row) => {
  const [, user, userId, expected, tokenStore = storeWith()] = row;
  const { error } = await run(requireAccessToken({ tokenStore, userId }), user);
  expect(error).toMatchObject(expected);
  expect(String(error)).not.toContain('token-1');
});

it('requireAccessToken ends with the token, by its clock or the machine’s', async () => {
  const tokenStore = storeWith({ get: async () => token('t', 1000) });
  const at = (now: number) => run(requireAccessToken({ tokenStore, clock: () => now }));
  expect((await at(999)).error).toBeUndefined();
  expect((await at(1000)).error).toMatchObject(EXPIRED);
  expect((await run(requireAccessToken({ tokenStore }))).error).toMatchObject(EXPIRED);
});

describe('loadUser', () => {
  it('asks once a minute for each token, however many requests come at once', async () => {
    vi.useFakeTimers({ toFake: ['performance', 'setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    vi.advanceTimersByTime(1);
    let value = 'first';
    const tokenStore = storeWith({ get: async () => token(value) });
    const getUser = vi.fn(async () => userInfo);
    const guard = loadUser({ getUser }, { tokenStore });
    const asked = async () => {
      await Promise.all([run(guard), run(guard)]);
      return getUser.mock.calls.length;
    };
    expect(await asked()).toBe(1);
    vi.advanceTimersByTime(59_000);
    expect(await asked()).toBe(1);
    vi.advanceTimersByTime(2000);
    expect(await asked()).toBe(2);
    value = 'of another login';
    expect(await asked()).toBe(3);
  });

  it.each<[string, WireAnswer, string, number]>([
    ['no body, HTTP 403', text('', 403), 'access_token_expired', 1],
    ['a page of a firewall, HTTP 403', page(403), 'unexpected_response', 0],
    ['a user who is gone', json([]), 'login_failed', 1],
  ])('deletes a token only where the service speaks of it: %s', async (_name, answer, code, n) => {
    let says = answer;
    const { loginApi } = serving(() => says);
    const tokenStore = storeWith();
    const guard = loadUser(loginApi, { tokenStore });
    expect((await run(guard)).error).toMatchObject({ code });
    expect(tokenStore.delete).toHaveBeenCalledTimes(n);
    // A failure is not remembered.
    says = json({ user_info: userInfo });
    expect((await run(guard)).error).toBeUndefined();
  });

  it('keeps a token that another tab has stored meanwhile, and says expired though the store fails', async () => {
    const expired = new MarketgateError('access_token_expired', 'x');
    const refusing = { getUser: () => Promise.reject(expired) };
    const get = vi.fn<TokenStore['get']>(async () => token('new'));
    const tokenStore = storeWith({ get: get.mockResolvedValueOnce(token('t')) });
    await run(loadUser(refusing, { tokenStore }));
    expect(tokenStore.delete).not.toHaveBeenCalled();
    const failing = storeWith({ delete: throwing(new Error('down')) });
    expect((await run(loadUser(refusing, { tokenStore: failing }))).error).toBe(expired);
  });

  it('shows nobody another user, whose token is stored under the id that the app has', async () => {
    const loginApi = { getUser: async () => ({ ...userInfo, user_id: '78' }) };
    const { error, found } = await run(loadUser(loginApi, { tokenStore: storeWith() }));
    expect([error, found]).toMatchObject([EXPIRED, {}]);
    expect(found).toEqual({});
  });
});
