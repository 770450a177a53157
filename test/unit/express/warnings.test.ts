import express, { type RequestHandler } from 'express';
import {
  fromSession,
  loadPurchase,
  type RequirePurchaseOptions,
  requirePurchase,
} from 'marketgate';
import request from 'supertest';
import { describe, expect, it, vi } from 'vitest';
import { WARNINGS, type WarningCode, warnOnce } from '../../../src/diagnostics.js';
import { expressVersions } from '../../support/express-versions.js';
import { keyApiOn } from '../../support/key-api-service.js';
import { hearWarnings } from '../../support/warnings.js';
import { CODE } from '../../support/wire.js';

it.each(Object.keys(WARNINGS) as WarningCode[])(
  '%s is given once per process, also by two copies of the package, with its page',
  async (code) => {
    hearWarnings();
    const path = `../../../src/diagnostics.js?another-copy`;
    const other = await import(/* @vite-ignore */ path);
    for (const warn of [warnOnce, warnOnce, other.warnOnce]) warn(code);
    expect(vi.mocked(process.emitWarning).mock.calls).toEqual([
      [`${WARNINGS[code]} (npx marketgate explain ${code})`, { type: 'MarketgateWarning', code }],
    ]);
  },
);

/** As multer does with a form that has only files. */
const readsAll: RequestHandler = (req, _res, next) => {
  req.resume().once('end', () => next(void Object.assign(req, { body: {} })));
};

describe.each(expressVersions)('a guard, on %s', (_version, express) => {
  const make = () => requirePurchase({ validatePurchase: async () => null });
  const deep = (depth: number, end: () => unknown): unknown =>
    depth === 0 ? end() : [deep(depth - 1, end)];

  it.each<[string, (app: ReturnType<typeof express>) => unknown]>([
    ['of a route', (app) => app.get('/', () => void make())],
    ['far up', (app) => app.use(async () => void deep(30, make))],
  ])('is said if it is made in a handler %s', async (_name, route) => {
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

  it('is not said if it is made with the app', () => {
    const warnings = hearWarnings();
    deep(30, make);
    express().use(make());
    expect(warnings).toEqual([]);
  });
});

describe('a warning', () => {
  const guarded = (options: RequirePurchaseOptions = {}, trustProxy?: unknown) => {
    const app = express();
    if (trustProxy !== undefined) app.set('trust proxy', trustProxy);
    app.use(loadPurchase(keyApiOn({ says: 'negative' }).keyApi, options));
    app.use((_req, res) => void res.end());
    return app;
  };

  const [HOP_TOO_FEW, UNDECLARED, TRUSTS_ALL] = [
    'MARKETGATE_SHARED_CLIENT_ADDRESS',
    'MARKETGATE_UNEXPECTED_X_FORWARDED_FOR',
    'MARKETGATE_PERMISSIVE_TRUST_PROXY',
  ] as const;
  const FORWARDED = { 'x-forwarded-for': '192.0.2.1' };

  it.each<[string, RequirePurchaseOptions, unknown, WarningCode[], object?]>([
    ['that was not declared', {}, undefined, [UNDECLARED]],
    ['that anybody can pretend to be', {}, true, [TRUSTS_ALL], {}],
    ['that was declared', {}, 1, []],
    ['where nobody is counted', { client: false }, true, []],
    ['where users are counted', { client: () => 'anna' }, undefined, []],
  ])('a proxy %s: with %j and trust proxy %j', async (...row) => {
    const [, options, trust, expected, headers = FORWARDED] = row;
    const warnings = hearWarnings();
    const app = guarded(options, trust);
    for (let i = 0; i < 2; i++) {
      await request(app)
        .get('/')
        .set({ 'x-purchase-code': CODE, ...headers });
    }
    expect(warnings).toEqual(expected);
  });

  it.each<[string, RequirePurchaseOptions, unknown, string[], WarningCode[]]>([
    ['three visitors', {}, 1, ['192.0.2.1', '192.0.2.2', '192.0.2.3'], [HOP_TOO_FEW]],
    ['two visitors', {}, 1, ['192.0.2.1', '192.0.2.2', '192.0.2.1', '192.0.2.2'], []],
    ['nobody else', {}, 1, ['', '', ''], []],
    ['all that were declared', {}, 2, ['192.0.2.1', '192.0.2.2', '192.0.2.3'], []],
    ['who are users', { client: () => 'a' }, 1, ['192.0.2.1', '192.0.2.2', '192.0.2.3'], []],
  ])('behind one address: %s, with %j and trust proxy %j', async (...row) => {
    const [, options, trust, visitors, expected] = row;
    const warnings = hearWarnings();
    const app = guarded(options, trust);
    for (const visitor of visitors) {
      const forwarded = `${visitor}${visitor && ', '}172.70.1.1`;
      await request(app).get('/').set({ 'x-purchase-code': CODE, 'x-forwarded-for': forwarded });
    }
    expect(warnings).toEqual(expected);
  });

  type Send = (app: ReturnType<typeof express>) => request.Test;
  const form: Send = (app) => request(app).post('/').type('form').send({ purchase_code: CODE });
  const typed =
    (type: string, body = `{"purchase_code":"${CODE}"}`): Send =>
    (app) =>
      request(app).post('/').type(type).send(body);
  const multipart: Send = (app) => request(app).post('/').field('purchase_code', CODE);
  const NO_PARSER: WarningCode[] = ['MARKETGATE_NO_BODY_PARSER'];

  it.each<[string, WarningCode[], Send]>([
    ['a form', NO_PARSER, form],
    ['a form with files', NO_PARSER, multipart],
    ['JSON', NO_PARSER, typed('application/json')],
    ['JSON of another type', NO_PARSER, typed('application/vnd.api+json')],
    ['JSON as text, as fetch sends it', NO_PARSER, typed('text/plain;charset=UTF-8')],
    ['no body', [], (app) => request(app).post('/').type('form')],
    ['a file', [], (app) => request(app).put('/').type('application/octet-stream').send('x')],
    ['the code in a header', [], (app) => form(app).set('x-purchase-code', CODE)],
  ])('no body parser, and %s', async (_what, expected, send) => {
    for (const parsers of [[], [express.json({ type: 'x/y' })]]) {
      const warnings = hearWarnings();
      const app = express();
      app.use(...parsers, guarded());
      for (let i = 0; i < 2; i++) await send(app);
      expect(warnings).toEqual(expected);
    }
  });

  it.each<[string, WarningCode[], RequestHandler[], Send]>([
    ['for another type', NO_PARSER, [express.json(), express.urlencoded()], multipart],
    ['for another type', NO_PARSER, [express.json()], form],
    ['that gives text', NO_PARSER, [express.text({ type: '*/*' })], form],
    ['that gives bytes', NO_PARSER, [express.raw({ type: '*/*' })], form],
    ['for JSON, and an empty object', [], [express.json()], typed('application/json', ' { } ')],
    ['for this type', [], [express.json(), express.urlencoded()], form],
    ['for files, which leaves no fields', [], [readsAll], multipart],
  ])('a body parser %s', async (_what, expected, parsers, send) => {
    const warnings = hearWarnings();
    const app = express();
    app.use(...parsers, guarded());
    await send(app);
    expect(warnings).toEqual(expected);
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
});
