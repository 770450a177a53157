import express, { type Express as App } from 'express';
import {
  currentUser,
  type ErrorHandlerOptions,
  errorHandler,
  loadUser,
  MarketgateError,
  MemoryHolderStore,
  MemoryTokenStore,
  type Middleware,
  requireAccessToken,
  requireLogin,
  requirePurchase,
  type TokenStore,
  type UserIdSource,
} from 'marketgate';
import request from 'supertest';
import { describe, expect, expectTypeOf, it, onTestFinished, vi } from 'vitest';
import { throwing } from '../../support/errors.js';
import { fakeResponse, runMiddleware } from '../../support/fake-response.js';
import { json, page, text, type WireAnswer } from '../../support/service-in-memory.js';
import { hearWarnings } from '../../support/warnings.js';
import { CODE, purchase, userInfo } from '../../support/wire.js';
import { serving } from '../clients/login-support.js';

const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';
const token = (value: string, expiresAt = Number.MAX_SAFE_INTEGER) => ({
  value,
  issuedAt: 0,
  expiresAt,
});

describe('guards of logged-in users', () => {
  const tokenStore = new MemoryTokenStore();
  const keyApi = { validatePurchase: async () => purchase } as never;
  const holder = { store: new MemoryHolderStore(), id: () => undefined };
  const guards: [string, (loginPath?: string) => Middleware][] = [
    ['requireLogin', (loginPath) => requireLogin({ loginPath })],
    ['requireAccessToken', (loginPath) => requireAccessToken({ tokenStore, loginPath })],
    ['loadUser', () => loadUser({ getUser: async () => userInfo }, { tokenStore })],
    ['requirePurchase with a holder', () => requirePurchase(keyApi, { code: () => CODE, holder })],
  ];
  const appOf = (guard: Middleware, options: ErrorHandlerOptions = {}) =>
    express()
      .use(guard)
      .use(errorHandler({ log: false, ...options }));
  const go = (app: App, path = '/account?tab=2', headers: Record<string, string> = {}) =>
    request(app)
      .get(path)
      .set({ accept: BROWSER, ...headers });

  const sentTo = (app: App, location: string) => go(app).expect(302).expect('location', location);

  it.each(guards)(
    '%s sends a browser to the login, and remembers the page',
    async (_name, guard) => {
      const { headers } = await sentTo(appOf(guard(), { loginPath: '/enter' }), '/enter');
      expect(headers['cache-control']).toBe('no-store');
      expect(String(headers['set-cookie'])).toMatch(
        /^marketgate\.return_to=%2Faccount%3Ftab%3D2; Max-Age=600; Path=\/; .*HttpOnly; SameSite=Lax/,
      );
      // Nobody knows of a login where errorHandler names none.
      await go(appOf(guard())).expect(401);
    },
  );

  it.each(guards.slice(0, 2))('%s prefers its own loginPath', async (_name, guard) => {
    const app = appOf(guard('/own'), { loginPath: '/enter' });
    expect((await sentTo(app, '/own')).headers['cache-control']).toBe('no-store');
  });

  it('what is no navigation gets 401, and no page to come back to', async () => {
    for (const app of [
      appOf(requireLogin({ loginPath: '/login?by=guard' })),
      appOf(requireLogin(), { loginPath: '/login' }),
    ]) {
      const { headers } = await go(app, undefined, { 'sec-fetch-mode': 'cors' }).expect(401);
      expect(headers['cache-control']).toBe('no-store');
      for (const name of ['location', 'set-cookie']) expect(headers).not.toHaveProperty(name);
    }
  });

  it('a guard above its own loginPath is an error that tells the operator so, because nobody could log in', async () => {
    for (const [guard, loginPath] of [
      [requireLogin({ loginPath: '/login?by=guard' }), undefined],
      [requireLogin(), '/login'],
    ] as const) {
      const log = vi.fn();
      const { text } = await go(appOf(guard, { loginPath, log }), '/login?again').expect(500);
      expect(log).toHaveBeenCalledExactlyOnceWith(expect.stringContaining('own loginPath'));
      expect(text).not.toContain('href="/login');
    }
  });

  it('a user of the session whom passport.session() has not read is sent to the login, with a warning', async () => {
    const warnings = hearWarnings();
    const app = express()
      .use((req, _res, next) => {
        Object.assign(req, { session: { passport: { user: '77' } } });
        next();
      })
      .use(requireLogin({ loginPath: '/login' }));
    await sentTo(app, '/login');
    expect(warnings).toEqual(['MARKETGATE_NO_PASSPORT_SESSION']);
  });
});

it('currentUser gives the logged-in user, typed, and elsewhere names the guard that is missing', () => {
  const user = { id: '77' };
  const given = currentUser({ user });
  expectTypeOf(given).toEqualTypeOf<Express.User>();
  expect(given).toBe(user);
  for (const req of [{}, { user: null }, { user: undefined }]) {
    expect(() => currentUser(req)).toThrow(/^currentUser: nobody .* put requireLogin\(\) before/);
  }
});

const onError = errorHandler({ loginPath: '/login', log: false });
it.each<[string, Middleware, () => Promise<void>]>([
  ['requireLogin', requireLogin({ loginPath: '/login' }), async () => {}],
  // Where the session cannot be saved, it would respond with a page.
  [
    'errorHandler',
    (...call) => onError(new MarketgateError('login_required', 'x'), ...call),
    throwing(new Error('full')),
  ],
])('what the app sends while the session is saved stays: %s', async (_name, use, endOfSave) => {
  const res = fakeResponse();
  const save = async () => {
    res.writeHead(503).end('timeout');
    await endOfSave();
  };
  const req = { method: 'GET', url: '/', headers: { accept: BROWSER }, session: { save } };
  const next = vi.fn();
  use(req as never, res, next);
  await new Promise(setImmediate);
  expect([res.statusCode, next.mock.calls]).toEqual([503, []]);
});

/** What a middleware passes to `next` for a user, and what it found. */
const run = (guard: Middleware, user: unknown = { id: '77' }) =>
  runMiddleware(guard, { user, method: 'POST', originalUrl: '/', headers: { accept: BROWSER } });

it('requireLogin lets a logged-in user through', async () => {
  expect((await run(requireLogin())).error).toBeUndefined();
});

const storeWith = (overrides: Partial<TokenStore> = {}) => ({
  ...{ get: vi.fn(async () => token('t')), set: vi.fn(), delete: vi.fn(async () => {}) },
  ...overrides,
});
const EXPIRED = { code: 'access_token_expired', status: 401 };
const LOGIN = { code: 'login_required', status: 401 };

describe('requireAccessToken and loadUser', () => {
  const loginApi = { getUser: async () => userInfo };
  const both = (tokenStore: TokenStore, more: object = {}): Middleware[] => [
    requireAccessToken({ tokenStore, ...more }),
    loadUser(loginApi, { tokenStore, ...more }),
  ];

  it.each<[string, UserIdSource | undefined, unknown]>([
    ['req.user.id by default', undefined, { id: '77' }],
    ['where the app says, later and as a number', async () => 77, { id: 'row-1' }],
    ['where the app says, as a bigint', () => 77n, { id: 'row-1' }],
  ])('let a user with a token through, privately; the id is %s', async (_where, userId, user) => {
    const tokenStore = storeWith();
    for (const guard of both(tokenStore, { userId })) {
      const { error, res } = await run(guard, user);
      const headers = [res.getHeader('cache-control'), res.getHeader('vary')];
      expect([error, ...headers]).toEqual([undefined, 'private', 'Cookie']);
    }
    expect(vi.mocked(tokenStore.get).mock.calls).toEqual([['77'], ['77']]);
  });

  const marketplaceId = (req: object) =>
    (req as { user: { marketplaceId: string } }).user.marketplaceId;
  const database = new Error('the database is down');

  it.each<[string, unknown, UserIdSource | undefined, object]>([
    ['nobody', null, undefined, LOGIN],
    ['nobody, of whom userId reads a field', null, marketplaceId, LOGIN],
    ['a user without a marketplace account', { id: '1' }, () => undefined, LOGIN],
    [
      'a user whose id is missing by default',
      {},
      undefined,
      { message: expect.stringContaining('option "userId"') },
    ],
    // A BIGINT column read as a number: the id of another user.
    [
      'a user whose id is not exact',
      { id: 2 ** 53 },
      undefined,
      { message: expect.stringContaining('option "userId" must give text') },
    ],
    ['nobody, where userId cannot find out', null, throwing(database), database],
    ['a user of whom userId fails', { id: '1' }, throwing(new TypeError('x')), { message: 'x' }],
  ])('for %s give the login, or the error of the app', async (_who, user, userId, expected) => {
    for (const guard of both(storeWith(), { userId })) {
      expect((await run(guard, user)).error).toMatchObject(expected);
    }
  });

  const unreadable = new Error('cannot read token-1');
  it.each<[string, TokenStore['get'], object]>([
    ['has no token', async () => undefined, EXPIRED],
    ['throws', throwing(unreadable), { code: 'store_unavailable', status: 503 }],
  ])('let nobody in where the store %s, and give nothing away', async (_name, get, expected) => {
    for (const guard of both(storeWith({ get }))) {
      const { error } = await run(guard);
      expect(error).toMatchObject(expected);
      expect(String(error)).not.toContain('token-1');
    }
  });
});

it('requireAccessToken ends with the token, by its clock or the machine’s', async () => {
  const tokenStore = storeWith({ get: async () => token('t', 1000) });
  const at = (now: number) => run(requireAccessToken({ tokenStore, clock: () => now }));
  expect((await at(999)).error).toBeUndefined();
  expect((await at(1000)).error).toMatchObject(EXPIRED);
  expect((await run(requireAccessToken({ tokenStore }))).error).toMatchObject(EXPIRED);
});

describe('loadUser', () => {
  const expired = new MarketgateError('access_token_expired', 'x');
  const refusing = { getUser: () => Promise.reject(expired) };

  it('asks once a minute for each token, however many requests come at once', async () => {
    vi.useFakeTimers({ toFake: ['performance', 'setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    vi.advanceTimersByTime(1);
    let value = 'first';
    const tokenStore = storeWith({ get: async () => token(value) });
    const getUser = vi.fn(async () => userInfo);
    const guard = loadUser({ getUser }, { tokenStore });
    const visits = () => Promise.all([run(guard), run(guard)]);
    await visits();
    vi.advanceTimersByTime(59_000);
    await visits();
    expect(getUser.mock.calls).toEqual([[token('first')]]);
    vi.advanceTimersByTime(2000);
    await visits();
    expect(getUser).toHaveBeenCalledTimes(2);
    value = 'of another login';
    await visits();
    expect(getUser).toHaveBeenCalledTimes(3);
  });

  it.each<[string, WireAnswer, string, number]>([
    ['no body, HTTP 403', text('', 403), 'access_token_expired', 1],
    ['a page of a firewall, HTTP 403', page(403), 'unexpected_response', 0],
    ['a user who is gone', json([]), 'login_failed', 1],
    ['an outage', page(503), 'service_unavailable', 0],
  ])('deletes a token only where the service speaks of it: %s', async (_name, answer, code, n) => {
    let says = answer;
    const { loginApi } = serving(() => says);
    const tokenStore = storeWith();
    const guard = loadUser(loginApi, { tokenStore });
    expect((await run(guard)).error).toMatchObject({ code });
    expect(tokenStore.delete).toHaveBeenCalledTimes(n);
    // A failure is not remembered.
    says = json({ user_info: userInfo });
    if (code !== 'service_unavailable') expect((await run(guard)).error).toBeUndefined();
  });

  it('keeps a token that another tab has stored meanwhile, and says expired though the store fails', async () => {
    const get = vi.fn<TokenStore['get']>(async () => token('new'));
    const tokenStore = storeWith({ get: get.mockResolvedValueOnce(token('t')) });
    await run(loadUser(refusing, { tokenStore }));
    expect(tokenStore.delete).not.toHaveBeenCalled();
    const failing = storeWith({ delete: throwing(new Error('down')) });
    expect((await run(loadUser(refusing, { tokenStore: failing }))).error).toBe(expired);
  });

  it.each<[string, object, unknown]>([
    ['the token of another user', { user_id: '78' }, { id: '77' }],
    ['the id that the app has for the user', { user_id: '77' }, { id: 'row-1' }],
  ])('shows nobody another user: %s', async (_name, answer, user) => {
    const loginApi = { getUser: async () => ({ ...userInfo, ...answer }) };
    const { error, found } = await run(loadUser(loginApi, { tokenStore: storeWith() }), user);
    expect(error).toMatchObject(EXPIRED);
    expect(found).toEqual({});
  });
});
