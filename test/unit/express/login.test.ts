import {
  type ErrorMiddleware,
  errorHandler,
  LoginApi,
  loadUser,
  MarketgateError,
  MemoryTokenStore,
  type Middleware,
  requireAccessToken,
  requireLogin,
  type TokenStore,
  type UserIdSource,
} from 'marketgate';
import { createSandbox } from 'marketgate/sandbox';
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

describe.each(expressVersions)('requireLogin on %s', (_version, express) => {
  /** An app whose visitor is `user`; and one visit to it, as a browser unless the headers say otherwise. */
  function open({ user, loginPath = '/login' }: { user?: object; loginPath?: string }) {
    const app = express();
    app.use((req, _res, next) => next(void (user && Object.assign(req, { user }))));
    app.use(requireLogin({ loginPath }));
    app.use((_req, res) => void res.json({ ok: true }));
    app.use(errorHandler({ log: false }));
    return app;
  }
  const go = (headers: Record<string, string> = {}, path = '/account?tab=2', app = open({})) =>
    request(app)
      .get(path)
      .set({ accept: BROWSER, ...headers });

  it('lets a user through, and keeps the answer out of shared caches', async () => {
    const answer = await go({}, '/account', open({ user: { id: '1' } })).expect(200);
    expect(answer.headers['cache-control']).toBe('private');
    expect(answer.headers.vary).toContain('Cookie');
  });

  it('sends a browser to the login, and remembers the page', async () => {
    const answer = await go().expect(302).expect('location', '/login');
    expect(answer.headers['cache-control']).toBe('no-store');
    expect(String(answer.headers['set-cookie'])).toMatch(
      /^marketgate\.return_to=%2Faccount%3Ftab%3D2; Max-Age=600; Path=\/; .*HttpOnly; SameSite=Lax/,
    );
  });

  it('answers a script with 401, and without a redirect', async () => {
    const answer = await go({ 'sec-fetch-mode': 'cors' }).expect(401);
    expect(answer.headers.location).toBeUndefined();
    expect(answer.headers['cache-control']).toBe('no-store');
    expect(answer.text).toContain('login_required');
  });

  it.each([
    ['/login', '/login?again'],
    ['/login?by=guard', '/login'],
  ])('sends to %s, but not from %s: that would never end', async (loginPath, path) => {
    const app = open({ loginPath });
    await go({}, path, app).expect(401);
    await go({}, '/account', app).expect(302).expect('location', loginPath);
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

describe.each(expressVersions)('the login path on %s', (_version, express) => {
  type App = ReturnType<typeof express>;
  const tokenStore = new MemoryTokenStore();
  const login = { loginPath: '/enter', log: false } as const;
  const guards: [string, () => Middleware][] = [
    ['requireLogin', () => requireLogin()],
    ['requireAccessToken', () => requireAccessToken({ tokenStore })],
    ['loadUser', () => loadUser({ getUser: async () => userInfo }, { tokenStore })],
  ];
  const goesTo = (app: App, location: string) =>
    request(app).get('/a/b').set('accept', BROWSER).expect(302).expect('location', location);

  const PLACES: [string, (guard: Middleware, errors: ErrorMiddleware) => App][] = [
    ['of the app', (guard, errors) => express().use(guard, errors)],
    ['of a router', (guard, errors) => express().use('/a', express.Router().use(guard, errors))],
    ['around a router', (guard, errors) => express().use(express.Router().use(guard)).use(errors)],
    ['around a mounted app', (guard, errors) => express().use(express().use(guard)).use(errors)],
  ];

  it.each(guards)('of errorHandler counts for a %s that names none', async (_name, guard) => {
    for (const [_place, make] of PLACES) await goesTo(make(guard(), errorHandler(login)), '/enter');
  });

  it('is that of the errorHandler which the error reaches', async () => {
    const app = express();
    app.use('/b', express.Router().use(requireLogin(), errorHandler({ loginPath: '/other' })));
    app.use('/a', requireLogin(), errorHandler(login));
    await goesTo(app, '/enter');
  });

  it.each(guards.slice(0, 2))('of %s is /login where nothing names one', async (_name, guard) => {
    await goesTo(express().use(guard()), '/login');
    await goesTo(express().use(guard(), errorHandler({ log: false })), '/login');
  });

  it('of a guard goes before that of errorHandler', async () => {
    const loginPath = '/own';
    for (const guard of [
      requireLogin({ loginPath }),
      requireAccessToken({ tokenStore, loginPath }),
    ])
      await goesTo(express().use(guard, errorHandler(login)), loginPath);
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

  it('without a user are login_required, without a token access_token_expired', async () => {
    const tokenStore = storeWith({ get: async () => undefined });
    for (const [, guard] of both(tokenStore)) {
      expect((await run(guard, null)).error).toMatchObject({ code: 'login_required', status: 401 });
      expect((await run(guard)).error).toMatchObject(EXPIRED);
    }
    expect(tokenStore.delete).not.toHaveBeenCalled();
  });

  it('name the option where the app’s user has no id: that is no mistake of a visitor', async () => {
    for (const [owner, guard] of both(storeWith())) {
      for (const user of [{}, { id: '' }, { id: {} }]) {
        const { error } = await run(guard, user);
        expect(error).toBeInstanceOf(TypeError);
        expect(String(error)).toContain(`${owner}: option "userId"`);
      }
    }
  });

  it.each([undefined, null, false, ''])(
    'send a user with the id %j of the app’s own userId to the login',
    async (id) => {
      for (const [, guard] of both(storeWith(), { userId: () => id as undefined })) {
        const { error } = await run(guard, { id: 'local-7' });
        expect(error).toMatchObject({ code: 'login_required', status: 401 });
      }
    },
  );

  type WithAccount = { user: { marketplaceId: string } };
  it.each<[string, UserIdSource]>([
    ['throws', (req) => (req as unknown as WithAccount).user.marketplaceId],
    ['rejects', async (req) => (req as unknown as WithAccount).user.marketplaceId],
  ])(
    'send a visitor who is not logged in to the login where userId reads req.user and %s',
    async (_name, userId) => {
      for (const [, guard] of both(storeWith(), { userId })) {
        const { error } = await run(guard, null);
        expect(error).toMatchObject({ code: 'login_required', status: 401 });
      }
    },
  );

  it.each<[string, unknown, Error]>([
    ['a logged-in user', { id: '1' }, new TypeError('x is undefined')],
    ['anybody, where it cannot find out', null, new Error('the database is down')],
    [
      'anybody, where a fetch fails',
      null,
      new TypeError('fetch failed', { cause: new Error('x') }),
    ],
  ])('pass on an error of userId about %s', async (_name, user, failure) => {
    for (const userId of [() => Promise.reject(failure), throwing(failure)]) {
      for (const [, guard] of both(storeWith(), { userId })) {
        expect((await run(guard, user)).error).toBe(failure);
      }
    }
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
  it.each<[string | undefined, string]>([
    [undefined, '/login'],
    ['/enter', '/enter'],
  ])('with loginPath %s sends a browser to %s', async (loginPath, location) => {
    const app = expressVersions[0]?.[1]() as ReturnType<(typeof expressVersions)[0][1]>;
    app.use((req, _res, next) => next(void Object.assign(req, { user: { id: '1' } })));
    app.use(
      requireAccessToken({ tokenStore: storeWith({ get: async () => undefined }), loginPath }),
    );
    await request(app).get('/').set('accept', BROWSER).expect(302).expect('location', location);
  });

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
  const refusing = (error: unknown) => ({ getUser: vi.fn(async () => Promise.reject(error)) });
  const expired = new MarketgateError('access_token_expired', 'x');
  const down = new MarketgateError('service_unavailable', 'x');

  it('asks with the token of the user, and puts the answer at req.marketplace.user', async () => {
    const loginApi = { getUser: vi.fn(async () => userInfo) };
    const tokenStore = storeWith();
    expect(await run(loadUser(loginApi, { tokenStore }))).toEqual({
      error: undefined,
      found: userInfo,
    });
    expect(loginApi.getUser).toHaveBeenCalledWith(token('t'), {
      signal: expect.any(AbortSignal),
    });
    expect(tokenStore.delete).not.toHaveBeenCalled();
  });

  it.each<[string, unknown, number]>([
    ['a token that is refused', expired, 1],
    ['a user who is gone', new MarketgateError('login_failed', 'x'), 1],
    ['a service that is down', down, 0],
    ['a 401 of something else', Object.assign(new Error('mine'), { status: 401 }), 0],
    ['an error that is none', 'broken', 0],
  ])('for %s deletes so many tokens', async (_name, refusal, deleted) => {
    const tokenStore = storeWith();
    const { error } = await run(loadUser(refusing(refusal), { tokenStore }));
    if (typeof refusal === 'object') expect(error).toBe(refusal);
    expect(tokenStore.delete).toHaveBeenCalledTimes(deleted);
  });

  it.each<[string, WireAnswer, string, number]>([
    ['JSON of a refusal, HTTP 200', json({ error: true }), 'access_token_expired', 1],
    ['other words, HTTP 401', json({ detail: 'Nope' }, 401), 'access_token_expired', 1],
    ['no JSON, HTTP 403', text('Forbidden', 403), 'access_token_expired', 1],
    ['[]', json([]), 'login_failed', 1],
    ...[404, 405, 413, 415].flatMap((status): [string, WireAnswer, string, number][] => [
      [`a gateway, HTTP ${status}`, json({ message: 'No' }, status), 'unexpected_response', 0],
      [`a page, HTTP ${status}`, page(status), 'unexpected_response', 0],
      [`[], HTTP ${status}`, json([], status), 'unexpected_response', 0],
    ]),
    ['a page, HTTP 200', page(), 'unexpected_response', 0],
    ['{}', json({}), 'unexpected_response', 0],
  ])('deletes a token only where the service speaks of it: %s', async (_name, answer, code, n) => {
    const { loginApi } = serving(() => answer);
    const tokenStore = storeWith();
    const { error } = await run(loadUser(loginApi, { tokenStore }));
    expect(error).toMatchObject({ code });
    expect(tokenStore.delete).toHaveBeenCalledTimes(n);
  });

  const once = () => vi.fn<TokenStore['get']>().mockResolvedValueOnce(token('t'));
  it.each<[string, Partial<TokenStore>]>([
    ['cannot delete', { delete: async () => Promise.reject(new Error('down')) }],
    ['cannot be read again', { get: once().mockRejectedValue(new Error('down')) }],
    ['has lost the token meanwhile', { get: once() }],
  ])('sends the visitor to the login also when the store %s', async (_name, overrides) => {
    const tokenStore = storeWith(overrides);
    expect((await run(loadUser(refusing(expired), { tokenStore }))).error).toBe(expired);
  });

  it('keeps a token that another tab has stored meanwhile', async () => {
    const get = once().mockResolvedValue(token('new'));
    const tokenStore = storeWith({ get });
    await run(loadUser(refusing(expired), { tokenStore }));
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

  it.each(expressVersions)('with a service and a browser, on %s', async (_version, express) => {
    const sandbox = createSandbox();
    const { authUrl, appId, appSecret } = await sandbox.listen(0);
    const loginApi = new LoginApi({ authUrl, appId, appSecret, retries: 0, clock: sandbox.clock });
    onTestFinished(() => sandbox.close());
    onTestFinished(() => loginApi.close());
    const tokenStore = new MemoryTokenStore({ clock: () => 0 });
    const app = express();
    app.use((req, _res, next) => next(void Object.assign(req, { user: { id: '77' } })));
    app.use(loadUser(loginApi, { tokenStore }), errorHandler({ loginPath: '/login', log: false }));
    const visit = () => request(app).get('/').set('accept', BROWSER);

    await tokenStore.set('77', token('made-up-token'));
    await visit().expect(302).expect('location', '/login');
    expect(await tokenStore.get('77')).toBeUndefined();
    expect((await request(app).get('/').expect(401)).body.code).toBe('access_token_expired');

    await tokenStore.set('77', token('made-up-token'));
    sandbox.faults.errorRate = 1;
    await visit().expect(503);
    expect(await tokenStore.get('77')).toBeDefined();
  });
});
