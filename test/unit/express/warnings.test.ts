import {
  firstOf,
  fromBody,
  fromHeader,
  fromSession,
  loadPurchase,
  MemoryGuessLimit,
  type RequirePurchaseOptions,
  requireLogin,
  requirePurchase,
} from 'marketgate';
import request from 'supertest';
import { describe, expect, it, vi } from 'vitest';
import { WARNINGS, type WarningCode, warnOnce } from '../../../src/diagnostics.js';
import { expressVersions } from '../../support/express-versions.js';
import { hearWarnings } from '../../support/warnings.js';

const CODE = '00000000-0000-4000-8000-000000000000';

describe('a warning', () => {
  const codes = Object.keys(WARNINGS) as WarningCode[];

  it.each(codes)('%s is given once per process, with its code and its page', (code) => {
    hearWarnings();
    warnOnce(code);
    warnOnce(code);
    const emit = vi.mocked(process.emitWarning);
    expect(emit.mock.calls).toEqual([
      [`${WARNINGS[code]} (npx marketgate explain ${code})`, { type: 'MarketgateWarning', code }],
    ]);
  });

  it('is given once by two copies of the package together', async () => {
    const warnings = hearWarnings();
    warnOnce('MARKETGATE_NO_SESSION');
    const path = '../../../src/diagnostics.js?another-copy';
    const other = await import(/* @vite-ignore */ path);
    other.warnOnce('MARKETGATE_NO_SESSION');
    expect(warnings).toEqual(['MARKETGATE_NO_SESSION']);
  });
});

describe.each(expressVersions)('on %s', (_version, express) => {
  const keyApi = { validatePurchase: vi.fn(async () => null) };
  const guarded = (options: RequirePurchaseOptions = {}, trustProxy?: unknown) => {
    const app = express();
    if (trustProxy !== undefined) app.set('trust proxy', trustProxy);
    app.use(loadPurchase(keyApi, options));
    app.use((_req, res) => void res.end());
    return app;
  };

  describe('a proxy', () => {
    const throughProxy = (app: ReturnType<typeof express>) =>
      request(app).get('/').set('x-purchase-code', CODE).set('x-forwarded-for', '192.0.2.1');

    it.each<[string, RequirePurchaseOptions]>([
      ['by default', {}],
      ['for a limit of its own', { guessLimit: new MemoryGuessLimit() }],
      ['for req.ip by name', { guessLimit: { keyGenerator: (req) => req.ip } }],
    ])('that was not declared is said once, %s', async (_name, options) => {
      const warnings = hearWarnings();
      const app = guarded(options);
      await throughProxy(app);
      await throughProxy(app);
      expect(warnings).toEqual(['MARKETGATE_UNEXPECTED_X_FORWARDED_FOR']);
    });

    it.each([1, 'loopback', ['127.0.0.1']])('that is declared as %j is no news', async (trust) => {
      const warnings = hearWarnings();
      await throughProxy(guarded({}, trust));
      expect(warnings).toEqual([]);
    });

    it('that anybody can pretend to be is said once', async () => {
      const warnings = hearWarnings();
      const app = guarded({}, true);
      for (let i = 0; i < 2; i++) await request(app).get('/').set('x-purchase-code', CODE);
      expect(warnings).toEqual(['MARKETGATE_PERMISSIVE_TRUST_PROXY']);
    });

    it.each<[string, RequirePurchaseOptions]>([
      ['nobody is counted', { guessLimit: false }],
      ['users are counted', { guessLimit: { keyGenerator: () => 'anna' } }],
    ])('does not matter where %s', async (_name, options) => {
      const warnings = hearWarnings();
      await throughProxy(guarded(options));
      await throughProxy(guarded(options, true));
      expect(warnings).toEqual([]);
    });

    it('is no news to an app without one', async () => {
      const warnings = hearWarnings();
      await request(guarded()).get('/').set('x-purchase-code', CODE);
      expect(warnings).toEqual([]);
    });
  });

  describe('a guard made in a handler', () => {
    const make = () => requirePurchase(keyApi);

    it.each<[string, (app: ReturnType<typeof express>) => unknown]>([
      ['of a route', (app) => app.get('/', () => void make())],
      ['of an app', (app) => app.use(() => void make())],
      ['of a router', (app) => app.use(express.Router().get('/', () => void make()))],
      ['that is async', (app) => app.get('/', async () => void make())],
      [
        'of errors',
        (app) => failing(app).use((_e: Error, _q: object, _s: object, _n: object) => void make()),
      ],
      ['by a helper far below', (app) => app.get('/', () => void deep(30, make))],
      ['as loadPurchase', (app) => app.get('/', () => void loadPurchase(keyApi))],
    ])('%s is said', async (_name, route) => {
      const warnings = hearWarnings();
      const app = express();
      app.use((_req, res, next) => {
        setImmediate(() => res.end());
        next();
      });
      route(app);
      await request(app).get('/');
      expect(warnings).toEqual(['MARKETGATE_CREATED_IN_HANDLER']);
    });

    it('is what one made with the app is not', () => {
      const warnings = hearWarnings();
      const { stackTraceLimit } = Error;
      deep(30, make);
      express().use(make());
      expect(warnings).toEqual([]);
      expect(Error.stackTraceLimit).toBe(stackTraceLimit);
    });

    const failing = (app: ReturnType<typeof express>) =>
      app.use((_req, _res, next) => next(new Error('x')));
    const deep = (depth: number, end: () => unknown): unknown =>
      depth === 0 ? end() : [deep(depth - 1, end)];
  });

  describe('no body parser', () => {
    const form = (app: ReturnType<typeof express>) =>
      request(app).post('/').type('form').send({ purchase_code: CODE });

    it.each<[string, RequirePurchaseOptions]>([
      ['by default', {}],
      ['by name', { code: fromBody('purchase_code') }],
      ['after others', { code: firstOf(fromHeader('x-other'), fromBody()) }],
    ])('is said where the code is looked for in the body, %s', async (_name, options) => {
      const warnings = hearWarnings();
      const app = guarded(options);
      await form(app);
      await request(app).post('/').send({ purchase_code: CODE });
      expect(warnings).toEqual(['MARKETGATE_NO_BODY_PARSER']);
    });

    it('does not matter to a request without a body, with a file, or with the code in its header', async () => {
      const warnings = hearWarnings();
      const app = guarded();
      await request(app).get('/');
      await request(app).post('/');
      await request(app).put('/').type('application/octet-stream').send('bytes');
      await form(app).set('x-purchase-code', CODE);
      expect(warnings).toEqual([]);
    });

    it('is not what a body that was read looks like', async () => {
      const warnings = hearWarnings();
      const app = express().use(express.urlencoded({ extended: false }), guarded());
      await form(app);
      expect(warnings).toEqual([]);
    });
  });

  it.each<[string, object, WarningCode[]]>([
    ['is said where the code is looked for in it', {}, ['MARKETGATE_NO_SESSION']],
    ['is not what an empty one looks like', { session: {} }, []],
  ])('no session %s', async (_what, visitor, expected) => {
    const warnings = hearWarnings();
    const app = express();
    app.use((req, _res, next) => next(void Object.assign(req, visitor)));
    app.use(guarded({ code: fromSession() }));
    for (let i = 0; i < 2; i++) await request(app).get('/');
    expect(warnings).toEqual(expected);
  });

  const id = '3001';

  it.each<[string, object, WarningCode[]]>([
    ['said', { session: { passport: { user: { id } } } }, ['MARKETGATE_NO_PASSPORT_SESSION']],
    ['not said of a visitor', { session: { passport: {} } }, []],
    ['not said of another session', { session: { passport: null } }, []],
    ['not said without a session', {}, []],
    ['not said of a user', { session: { passport: { user: id } }, user: { id } }, []],
  ])('no passport.session() is %s', async (_what, visitor, expected) => {
    const warnings = hearWarnings();
    const app = express();
    app.use((req, _res, next) => next(void Object.assign(req, visitor)), requireLogin());
    app.use((_req, res) => void res.end());
    for (let i = 0; i < 2; i++) await request(app).get('/').set('accept', 'text/html');
    expect(warnings).toEqual(expected);
  });
});
