import type express5 from 'express';
import session from 'express-session';
import {
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
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { throwing } from '../../support/errors.js';
import { expressVersions } from '../../support/express-versions.js';
import { fakeResponse } from '../../support/fake-response.js';
import { unhandledRejections } from '../../support/hear.js';
import { json, page, text, type WireAnswer } from '../../support/service-in-memory.js';
import { userInfo } from '../../support/wire.js';
import { serving } from '../clients/login-support.js';

const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';
const token = (value: string, expiresAt = Number.MAX_SAFE_INTEGER) => ({
  value,
  issuedAt: 0,
  expiresAt,
});

describe.each(expressVersions)('guards of logged-in users on %s', (_version, express) => {
  type App = ReturnType<typeof express>;
  const tokenStore = new MemoryTokenStore();
  const guards: [string, (loginPath?: string) => Middleware][] = [
    ['requireLogin', (loginPath) => requireLogin({ loginPath })],
    ['requireAccessToken', (loginPath) => requireAccessToken({ tokenStore, loginPath })],
    ['loadUser', () => loadUser({ getUser: async () => userInfo }, { tokenStore })],
  ];
  const page = (req: object) => Object.assign(req, { session: undefined });
  const appOf = (guard: Middleware, options: ErrorHandlerOptions = {}) =>
    express()
      .use((req, _res, next) => next(void page(req)))
      .use(guard)
      .use(errorHandler({ log: false, ...options }));
  const go = (app: App, path = '/account?tab=2', headers: Record<string, string> = {}) =>
    request(app)
      .get(path)
      .set({ accept: BROWSER, ...headers });

  it.each(guards)(
    '%s sends a browser to the loginPath of errorHandler, and remembers the page',
    async (_name, guard) => {
      const answer = await go(appOf(guard(), { loginPath: '/enter' })).expect(302);
      expect(answer.headers).toMatchObject({ location: '/enter', 'cache-control': 'no-store' });
      expect(String(answer.headers['set-cookie'])).toMatch(
        /^marketgate\.return_to=%2Faccount%3Ftab%3D2; Max-Age=600; Path=\/; .*HttpOnly; SameSite=Lax/,
      );
    },
  );

  it.each(guards.slice(0, 2))('%s prefers its own loginPath', async (_name, guard) => {
    const app = appOf(guard('/own'), { loginPath: '/enter' });
    await go(app).expect(302).expect('location', '/own');
  });

  it.each(guards)('%s without any loginPath is 401', async (_name, guard) => {
    await go(appOf(guard())).expect(401);
  });

  it.each<[string, Record<string, string>, string?]>([
    ['a script', { 'sec-fetch-mode': 'cors' }],
    ['a client that prefers JSON', { accept: 'application/json' }],
    ['the login path itself, which would never end', {}, '/login?again'],
  ])('%s gets 401 and no redirect', async (_what, headers, path) => {
    for (const app of [
      appOf(requireLogin({ loginPath: '/login?by=guard' })),
      appOf(requireLogin(), { loginPath: '/login' }),
    ]) {
      const { headers: sent } = await go(app, path, headers).expect(401);
      expect(sent).not.toHaveProperty('location');
      expect(sent['cache-control']).toBe('no-store');
    }
  });

  it.each([
    ['saved', undefined],
    ['not saved', new Error('full')],
  ])('a session that is %s after the app has responded harms nothing', async (_name, failure) => {
    const app = express();
    const saved: (() => void)[] = [];
    const save = (done: (error?: Error) => void) => void saved.push(() => done(failure));
    app.use((req, _res, next) => next(void Object.assign(req, { session: { save } })));
    app.get('/guarded', requireLogin({ loginPath: '/login' }));
    app.use((_req, _res, next) => next(new MarketgateError('login_required', 'x')));
    app.use(errorHandler({ loginPath: '/login', log: false }));
    const passed = vi.fn();
    app.use((error: Error, _req: object, _res: object, _next: object) => passed(error.message));
    const unhandled = unhandledRejections();
    for (const path of ['/guarded', '/error']) {
      const res = fakeResponse();
      const req = { method: 'GET', url: path, headers: { accept: BROWSER } };
      app(req as never, res);
      await vi.waitFor(() => expect(saved).toHaveLength(1), { timeout: 40_000 });
      res.end('timeout');
      saved.pop()?.();
      await new Promise(setImmediate);
    }
    expect(unhandled).not.toHaveBeenCalled();
    expect(passed.mock.calls).toEqual(failure ? [['full']] : []);
  });
});

describe.each(expressVersions)('a login whose token is not found, on %s', (_version, express) => {
  /** An app that logs everybody in as `user` at once, as a marketplace that remembers the consent. */
  async function open(userId: UserIdSource) {
    const tokenStore = new MemoryTokenStore();
    const app = express();
    app.use(session({ secret: 'x'.repeat(32), resave: false, saveUninitialized: false }));
    app.use((req, _res, next) => {
      Object.assign(req, { user: (req.session as { user?: object }).user });
      next();
    });
    app.get('/login', (req, res, next) => {
      req.session.regenerate(async () => {
        Object.assign(req.session, { user: { id: '42', marketplaceId: '77' } });
        await tokenStore.set('77', token('t'));
        req.session.save(() => res.redirect('/account'));
      });
      void next;
    });
    app.get('/account', requireAccessToken({ tokenStore, userId }), (_req, res) => {
      res.send('account');
    });
    app.use(errorHandler({ loginPath: '/login', log: false }));
    const failed = vi.fn();
    app.use((error: unknown, _req: object, res: express5.Response, _next: object) => {
      failed(error);
      res.sendStatus(500);
    });
    return { agent: request.agent(app), failed };
  }
  const go = (agent: { get(path: string): request.Test }) =>
    agent.get('/account').set('accept', BROWSER).redirects(20);

  it('ends with an error that names userId, and not with a login without end', async () => {
    const { agent, failed } = await open((req) => (req.user as { id?: string } | undefined)?.id);
    await go(agent).expect(500);
    expect(failed.mock.lastCall?.[0]).toBeInstanceOf(TypeError);
    expect(String(failed.mock.lastCall?.[0])).toMatch(/^TypeError: requireAccessToken: .*"userId"/);
  });

  it('is no matter where userId gives the user_id of the marketplace', async () => {
    const { agent, failed } = await open(
      (req) => (req.user as { marketplaceId?: string } | undefined)?.marketplaceId,
    );
    expect((await go(agent).expect(200)).text).toBe('account');
    expect(failed).not.toHaveBeenCalled();
  });
});

/** What a middleware passes to `next` for a user, and what it found. */
async function run(guard: Middleware, user: unknown = { id: '77' }, method = 'POST') {
  const req = { user, method, originalUrl: '/', headers: { accept: BROWSER } };
  const error = await new Promise((resolve) => guard(req as never, fakeResponse(), resolve));
  return { error, found: (req as { marketplace?: { user?: unknown } }).marketplace?.user };
}

function storeWith(overrides: Partial<TokenStore> = {}): TokenStore {
  return {
    get: vi.fn(async () => token('t')),
    set: vi.fn(async () => {}),
    delete: vi.fn(async () => {}),
    ...overrides,
  };
}
const EXPIRED = { code: 'access_token_expired', status: 401 };

describe('requireAccessToken and loadUser', () => {
  const loginApi = { getUser: async () => userInfo };
  const both = (tokenStore: TokenStore, more: object = {}): [string, Middleware][] => [
    ['requireAccessToken', requireAccessToken({ tokenStore, ...more })],
    ['loadUser', loadUser(loginApi, { tokenStore, ...more })],
  ];

  it('let a user with a token through, whose id can be a number', async () => {
    for (const [, guard] of both(storeWith())) {
      expect((await run(guard)).error).toBeUndefined();
      expect((await run(guard, { id: 77 })).error).toBeUndefined();
    }
  });

  it.each(both(storeWith()))(
    '%s keeps what it lets through out of shared caches',
    async (_name, guard) => {
      const res = fakeResponse();
      const req = { user: { id: '77' }, method: 'GET', originalUrl: '/', headers: {} };
      expect(await new Promise((resolve) => guard(req as never, res, resolve))).toBeUndefined();
      expect([res.getHeader('cache-control'), res.getHeader('vary')]).toEqual([
        'private',
        'Cookie',
      ]);
    },
  );

  it('take the id from where the app says', async () => {
    const tokenStore = storeWith();
    for (const userId of [() => '77', async () => '77', () => 77]) {
      for (const [, guard] of both(tokenStore, { userId })) {
        expect((await run(guard, { id: 'row-1' })).error).toBeUndefined();
      }
    }
    expect(vi.mocked(tokenStore.get).mock.calls).toEqual(Array(6).fill(['77']));
  });

  const marketplaceId = (req: object) =>
    (req as { user: { marketplaceId: string } }).user.marketplaceId;
  const database = new Error('the database is down');
  const fetchFailed = new TypeError('fetch failed', { cause: new Error('x') });
  const LOGIN = { code: 'login_required', status: 401 };
  const MISTAKE = expect.objectContaining({ message: expect.stringContaining('option "userId"') });

  it.each<[string, unknown, UserIdSource | undefined, unknown]>([
    ['nobody', null, undefined, LOGIN],
    ['nobody, of whom userId reads a field', null, marketplaceId, LOGIN],
    ['nobody, of whom userId reads a field later', null, async (req) => marketplaceId(req), LOGIN],
    ['a user without a marketplace account', { id: '1' }, () => undefined, LOGIN],
    ['a user with a blank account', { id: '1' }, () => '', LOGIN],
    ['a user whose id is missing by default', {}, undefined, MISTAKE],
    ['a user whose id is an object', { id: {} }, undefined, MISTAKE],
    ['nobody, where userId cannot find out', null, throwing(database), database],
    ['nobody, where a fetch of userId fails', null, () => Promise.reject(fetchFailed), fetchFailed],
    ['a user of whom userId fails', { id: '1' }, throwing(new TypeError('x')), new TypeError('x')],
  ])('for %s give the login, or the error of the app', async (_who, user, userId, expected) => {
    for (const [, guard] of both(storeWith(), { userId })) {
      const { error } = await run(guard, user);
      if (expected instanceof Error) expect(error).toEqual(expected);
      else expect(error).toMatchObject(expected as object);
    }
  });

  it('without a token are access_token_expired', async () => {
    const tokenStore = storeWith({ get: async () => undefined });
    for (const [, guard] of both(tokenStore))
      expect((await run(guard)).error).toMatchObject(EXPIRED);
    expect(tokenStore.delete).not.toHaveBeenCalled();
  });

  const fail = (): never => {
    throw new Error('cannot read token-1');
  };
  it.each<[string, () => never | Promise<never>]>([
    ['rejects', async () => fail()],
    ['throws', fail],
  ])('let nobody in where the store %s, and give nothing away', async (_name, get) => {
    for (const [, guard] of both(storeWith({ get }))) {
      // A login would not help.
      const { error } = await run(guard, undefined, 'GET');
      expect(error).toMatchObject({ code: 'store_unavailable', status: 503 });
      expect(String(error)).not.toContain('token-1');
    }
  });
});

describe('requireAccessToken', () => {
  it('deletes a token that expires at this moment, by its clock or the machine’s', async () => {
    const tokenStore = storeWith({ get: async () => token('t', 1000) });
    const at = (now: number) => run(requireAccessToken({ tokenStore, clock: () => now }));
    expect((await at(999)).error).toBeUndefined();
    expect((await at(1000)).error).toMatchObject(EXPIRED);
    expect((await run(requireAccessToken({ tokenStore }))).error).toMatchObject(EXPIRED);
    expect(tokenStore.delete).toHaveBeenCalledTimes(2);
    tokenStore.delete = async () => Promise.reject(new Error('read-only'));
    expect((await run(requireAccessToken({ tokenStore }))).error).toMatchObject(EXPIRED);
  });

  it('leaves the token of a login that came between', async () => {
    const get = vi.fn(async () => token('newer'));
    get.mockResolvedValueOnce(token('older', 1000));
    const tokenStore = storeWith({ get });
    expect((await run(requireAccessToken({ tokenStore }))).error).toMatchObject(EXPIRED);
    expect(tokenStore.delete).not.toHaveBeenCalled();
  });
});

describe('loadUser', () => {
  const expired = new MarketgateError('access_token_expired', 'x');
  const refusing = { getUser: () => Promise.reject(expired) };

  it('asks with the token of the user, and puts the answer at req.marketplace.user', async () => {
    const loginApi = { getUser: vi.fn(async () => userInfo) };
    const tokenStore = storeWith();
    expect(await run(loadUser(loginApi, { tokenStore }))).toEqual({
      error: undefined,
      found: userInfo,
    });
    expect(loginApi.getUser).toHaveBeenCalledWith(token('t'));
    expect(tokenStore.delete).not.toHaveBeenCalled();
  });

  it('asks once a minute for each token, however many requests come at once', async () => {
    vi.useFakeTimers({ toFake: ['performance', 'setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    vi.advanceTimersByTime(1);
    let value = 'first';
    const tokenStore = storeWith({ get: async () => token(value) });
    const loginApi = { getUser: vi.fn(async () => userInfo) };
    const guards = [loadUser(loginApi, { tokenStore }), loadUser(loginApi, { tokenStore })];
    const visits = () => Promise.all([...guards, ...guards].map((guard) => run(guard)));
    const found = await visits();
    expect(found.map(({ error }) => error)).toEqual(Array(4).fill(undefined));
    // A handler that changes its user changes nobody else's.
    Object.assign(found[0]?.found as object, { user_name: 'changed' });
    expect(found[1]?.found).toEqual(userInfo);
    vi.advanceTimersByTime(59_000);
    await visits();
    expect(loginApi.getUser).toHaveBeenCalledTimes(1);
    vi.advanceTimersByTime(2000);
    await visits();
    expect(loginApi.getUser).toHaveBeenCalledTimes(2);
    value = 'of another login';
    await visits();
    expect(loginApi.getUser).toHaveBeenCalledTimes(3);
  });

  it.each<[string, WireAnswer, string, number]>([
    ['JSON of a refusal, HTTP 200', json({ error: true }), 'access_token_expired', 1],
    ['other words, HTTP 401', json({ detail: 'Nope' }, 401), 'access_token_expired', 1],
    ['no JSON, HTTP 403', text('Forbidden', 403), 'access_token_expired', 1],
    ['a user who is gone', json([]), 'login_failed', 1],
    ...[404, 405, 413, 415].map(
      (status): [string, WireAnswer, string, number] =>
        [
          ...[`a gateway, HTTP ${status}`, json({ message: 'No' }, status)],
          ...['unexpected_response', 0],
        ] as never,
    ),
    ['a page, HTTP 200', page(), 'unexpected_response', 0],
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

  const once = () => vi.fn<TokenStore['get']>().mockResolvedValueOnce(token('t'));
  it.each<[string, Partial<TokenStore>]>([
    ['cannot delete', { delete: async () => Promise.reject(new Error('down')) }],
    ['cannot be read again', { get: once().mockRejectedValue(new Error('down')) }],
    ['has lost the token meanwhile', { get: once() }],
  ])('sends the visitor to the login also when the store %s', async (_name, overrides) => {
    const tokenStore = storeWith(overrides);
    expect((await run(loadUser(refusing, { tokenStore }))).error).toBe(expired);
  });

  it('keeps a token that another tab has stored meanwhile', async () => {
    const get = once().mockResolvedValue(token('new'));
    const tokenStore = storeWith({ get });
    await run(loadUser(refusing, { tokenStore }));
    expect(tokenStore.delete).not.toHaveBeenCalled();
  });

  it.each<[string, object, unknown]>([
    ['the token of another user', { user_id: '78' }, { id: '77' }],
    ['the id that the app has for the user', { user_id: '77' }, { id: 'row-1' }],
    ['an id that only looks alike', { user_id: '077' }, { id: '77' }],
  ])('shows nobody another user: %s', async (_name, answer, user) => {
    const tokenStore = storeWith();
    const loginApi = { getUser: async () => ({ ...userInfo, ...answer }) };
    const { error, found } = await run(loadUser(loginApi, { tokenStore }), user);
    expect(error).toMatchObject(EXPIRED);
    expect(found).toBeUndefined();
    expect(tokenStore.delete).toHaveBeenCalledTimes(1);
  });
});
