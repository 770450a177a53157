import type { ErrorRequestHandler, Express, RequestHandler } from 'express';
import {
  errorHandler,
  firstOf,
  fromHeader,
  fromQuery,
  fromSession,
  loadAccount,
  loadItem,
  loadItems,
  loadPurchase,
  loadUser,
  MarketgateError,
  MemoryHolderStore,
  MemoryTokenStore,
  type Middleware,
  type RequirePurchaseOptions,
  requireLogin,
  requirePurchase,
} from 'marketgate';
import request from 'supertest';
import { describe, expect, it, vi } from 'vitest';
import { expressVersions } from '../../support/express-versions.js';
import { unhandledRejections } from '../../support/hear.js';
import { openShop, type Shop } from '../../support/shop.js';

const WRONG = '00000000-0000-4000-8000-000000000000';

describe.each(expressVersions)('what shared caches are told, on %s', (_version, express) => {
  interface Setup extends RequirePurchaseOptions {
    before?: RequestHandler;
    make?: 'require' | 'load';
  }
  async function open({ before, make = 'require', ...options }: Setup = {}) {
    const shop = await openShop();
    const app = express();
    if (before) app.use(before);
    app.use(
      make === 'require'
        ? requirePurchase(shop.keyApi, options)
        : loadPurchase(shop.keyApi, options),
    );
    app.use((_req, res) => void res.send('the file'));
    app.use(errorHandler({ log: false }));
    return { ...shop, app };
  }
  const get = (app: Express, code?: string) => {
    const asked = request(app).get('/');
    return code === undefined ? asked : asked.set('x-purchase-code', code);
  };
  const told = ({ headers }: { headers: Record<string, string> }) => [
    headers['cache-control'],
    headers.vary,
  ];
  const setting =
    (headers: Record<string, string>): RequestHandler =>
    (_req, res, next) => {
      for (const [name, value] of Object.entries(headers)) res.setHeader(name, value);
      next();
    };

  it('a customer’s file is the customer’s, the first time and from the cache', async () => {
    const { app, code } = await open();
    for (let i = 0; i < 2; i++) {
      const answer = await get(app, code('supported')).expect(200);
      expect(told(answer)).toEqual(['private', 'X-Purchase-Code']);
    }
  });

  it.each<[string, RequirePurchaseOptions, string | undefined]>([
    ['another header', { code: fromHeader('x-license') }, 'x-license'],
    ['the session', { code: fromSession() }, 'Cookie'],
    [
      'who holds it',
      { holder: { store: new MemoryHolderStore(), id: () => 'anna' } },
      'X-Purchase-Code, Cookie',
    ],
    [
      'the session, and who holds it',
      { code: fromSession(), holder: { store: new MemoryHolderStore(), id: () => 'anna' } },
      'Cookie',
    ],
    ['one header twice', { code: firstOf(fromHeader('X-A'), fromHeader('x-a')) }, 'x-a'],
    ['the query', { code: fromQuery() }, undefined],
    ['a function', { code: (req) => req.headers['x-license'] }, undefined],
    [
      'several places',
      { code: firstOf(fromHeader('x-license'), fromSession()) },
      'x-license, Cookie',
    ],
  ])('the answer varies on where the code comes from: %s', async (_name, options, vary) => {
    const before: RequestHandler = (req, _res, next) =>
      next(void Object.assign(req, { session: { purchase_code: code } }));
    const shop = await open({ before, ...options });
    const code = shop.code('supported');
    const answer = await request(shop.app)
      .get(`/?purchase_code=${code}`)
      .set({ 'x-license': code, 'x-purchase-code': code, 'x-a': code })
      .expect(200);
    expect(told(answer)).toEqual(['private', vary]);
  });

  it.each([
    ['Accept-Encoding', 'Accept-Encoding, X-Purchase-Code'],
    ['Origin, x-purchase-code', 'Origin, x-purchase-code'],
    ['', 'X-Purchase-Code'],
    ['*', '*'],
  ])('keeps what the app varies on: %s', async (Vary, expected) => {
    const { app, code } = await open({ before: setting({ Vary }) });
    expect(told(await get(app, code('supported')))).toEqual(['private', expected]);
  });

  it('an app that has said how it is cached knows better', async () => {
    const before = setting({ 'Cache-Control': 'public, max-age=60' });
    const { app, code } = await open({ before });
    const answer = await get(app, code('supported')).expect(200);
    expect(told(answer)).toEqual(['public, max-age=60', 'X-Purchase-Code']);
  });

  it('but a refusal is kept nowhere', async () => {
    const before = setting({ 'Cache-Control': 'public, max-age=60' });
    const { app, code } = await open({ before, item: 7 });
    for (const sent of [undefined, WRONG, code('supported')]) {
      const answer = await get(app, sent);
      expect(answer.status).toBeGreaterThanOrEqual(400);
      expect(told(answer)[0]).toBe('no-store');
    }
  });

  it('nor is one that the app answers, or one for too many attempts', async () => {
    const onDenied = vi.fn((denial, _req, res) => res.status(denial.status).end());
    const { app } = await open({ onDenied, guessLimit: { limit: 1 } });
    expect(told(await get(app, WRONG).expect(403))[0]).toBe('no-store');
    expect(told(await get(app, WRONG.replace('4', '5')).expect(429))[0]).toBe('no-store');
  });

  it.each<[string, (shop: Shop) => Middleware, number]>([
    ['loadItem', ({ keyApi }) => loadItem(keyApi, { id: () => 999_999 }), 404],
    ['loadUser', () => loadUser({ getUser: vi.fn() }, { tokenStore: new MemoryTokenStore() }), 401],
    ['requireLogin', () => requireLogin(), 401],
  ])('nor is one of %s that the app answers', async (_name, make, status) => {
    const shop = await openShop();
    const app = express();
    app.use(setting({ 'Cache-Control': 'public, max-age=60' }));
    app.use(make(shop));
    const answers: ErrorRequestHandler = (error, _req, res, _next) =>
      void res.status(error.status).end();
    app.use(answers);
    expect(told(await get(app).expect(status))[0]).toBe('no-store');
  });

  it('who is let in during an outage gets what is not for others either', async () => {
    const { app, code, sandbox } = await open({ onUnknown: 'allow' });
    sandbox.faults.html = true;
    expect(told(await get(app, code('supported')).expect(200))).toEqual([
      'private',
      'X-Purchase-Code',
    ]);
  });

  it.each(['require', 'load'] as const)(
    'an answer that the app has begun meanwhile is left alone, and nothing crashes: %s',
    async (make) => {
      const unhandled = unhandledRejections();
      const before: RequestHandler = (_req, res, next) => {
        next();
        res.status(503).write('too slow');
      };
      const shop = await openShop();
      for (const code of [shop.code('supported'), WRONG]) {
        const app = express().use(before);
        app.use(make === 'require' ? requirePurchase(shop.keyApi) : loadPurchase(shop.keyApi));
        const ended = vi.fn((_error: unknown, _req: object, res: { end(): void }, _next: object) =>
          res.end(),
        );
        app.use((req, res, next) => ended('in', req, res, next));
        app.use(ended);
        const answer = await request(app).get('/').set('x-purchase-code', code);
        expect([answer.status, answer.text]).toEqual([503, 'too slow']);
        expect(ended).toHaveBeenCalledOnce();
        const isRefused = code === WRONG && make === 'require';
        expect(ended.mock.calls[0]?.[0]).toEqual(
          isRefused ? expect.objectContaining({ code: 'purchase_code_invalid' }) : 'in',
        );
      }
      await new Promise(setImmediate);
      expect(unhandled).not.toHaveBeenCalled();
    },
  );

  it.each<[string, (shop: Shop) => string | undefined, string | undefined]>([
    ['a customer', (shop) => shop.code('supported'), 'private'],
    ['a wrong code', () => WRONG, 'private'],
    [
      'an outage',
      ({ sandbox, code }) => {
        sandbox.faults.html = true;
        return code('supported');
      },
      'private',
    ],
    ['nobody: everybody without a code gets that page', () => undefined, undefined],
  ])('loadPurchase, for %s', async (_name, code, control) => {
    const shop = await open({ make: 'load' });
    const answer = await get(shop.app, code(shop)).expect(200);
    expect(told(answer)).toEqual([control, 'X-Purchase-Code']);
  });
});

describe.each(expressVersions)('Retry-After on %s', (_version, express) => {
  /** A service that is down, and says for how long. */
  const failing = () =>
    Promise.reject(new MarketgateError('service_unavailable', 'x', { retryAfter: 6.2 }));
  const keyApi = {
    validatePurchase: failing,
    listItems: failing,
    getItem: failing,
    getAccount: failing,
  };
  const tokenStore = new MemoryTokenStore({ clock: () => 0 });
  const userId = () => '77';
  const MIDDLEWARE: [string, Middleware][] = [
    ['requirePurchase', requirePurchase(keyApi, { code: () => WRONG })],
    ['loadItems', loadItems(keyApi)],
    ['loadItem', loadItem(keyApi, { id: () => 7 })],
    ['loadAccount', loadAccount(keyApi)],
    ['loadUser', loadUser({ getUser: failing }, { tokenStore, userId })],
  ];
  const own: ErrorRequestHandler = (_error, _req, res, _next) => void res.sendStatus(503);

  it.each(MIDDLEWARE)(
    'goes out where %s cannot ask, whoever answers',
    async (_name, middleware) => {
      await tokenStore.set('77', { value: 't', issuedAt: 0, expiresAt: 1000 });
      vi.spyOn(console, 'error').mockImplementation(() => {});
      const handlers = [[errorHandler({ log: false })], [own], []];
      for (const [i, handler] of handlers.entries()) {
        const app = express().use(middleware, ...handler);
        const { status, headers } = await request(app).get('/');
        expect([i, status, headers['retry-after']]).toEqual([i, 503, '7']);
      }
    },
  );
});
