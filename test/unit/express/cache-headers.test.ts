import express, { type ErrorRequestHandler, type RequestHandler } from 'express';
import {
  errorHandler,
  firstOf,
  fromHeader,
  fromQuery,
  fromSession,
  type LoadPurchaseOptions,
  loadItem,
  loadItems,
  loadPurchase,
  MarketgateError,
  MemoryHolderStore,
  type Middleware,
  requireLogin,
  requirePurchase,
} from 'marketgate';
import request from 'supertest';
import { describe, expect, it } from 'vitest';
import { fakeResponse } from '../../support/fake-response.js';
import { keyApiOn } from '../../support/key-api-service.js';
import { CODE, guess, purchase } from '../../support/wire.js';

const WRONG = guess(1);
const outage = new MarketgateError('service_unavailable', 'x', { retryAfter: 6.2 });
const failing = () => Promise.reject(outage);
const keyApi = {
  validatePurchase: async (code: string) => (code === CODE ? purchase : null),
} as unknown as { validatePurchase: () => Promise<null> };
const down = { validatePurchase: failing };
const holder = { store: new MemoryHolderStore(), id: () => 'anna' };
const PUBLIC = { 'Cache-Control': 'public, max-age=60', Vary: 'Accept-Encoding' };

describe('what shared caches are told', () => {
  const setting =
    (headers: Record<string, string>): RequestHandler =>
    (_req, res, next) =>
      next(void res.set(headers));
  /** A visit with the code at each place, to an app that sets these headers before the guard. */
  async function visit(guard: Middleware, code: string | undefined, before = {}) {
    const app = express();
    app.use(setting(before));
    app.use((req, _res, next) =>
      next(void Object.assign(req, { session: { purchase_code: code } })),
    );
    app.use(guard, (_req, res) => void res.send('the file'));
    app.use(errorHandler({ log: false }));
    const sent = code === undefined ? {} : { 'x-a': code, 'x-purchase-code': code };
    const { status, headers } = await request(app).get(`/?purchase_code=${code}`).set(sent);
    return [status, headers['cache-control'], headers.vary];
  }

  const several = firstOf(fromHeader('x-a'), fromSession(), fromHeader('X-A'));
  it.each<[string, LoadPurchaseOptions, string | undefined]>([
    ['the header by default, and who holds it', { holder }, 'X-Purchase-Code, Cookie'],
    ['the session', { code: fromSession() }, 'Cookie'],
    ['several', { code: several }, 'x-a, Cookie'],
    ['the query', { code: fromQuery() }, undefined],
  ])('a customer’s file is private, and varies on where the code is: %s', async (...row) => {
    const [, options, vary] = row;
    for (const make of [requirePurchase, loadPurchase]) {
      expect(await visit(make(keyApi, options), CODE)).toEqual([200, 'private', vary]);
    }
  });

  it.each<[string, string | undefined, number, string]>([
    ['stays', CODE, 200, PUBLIC['Cache-Control']],
    ['gives way where there is no code', undefined, 402, 'no-store'],
  ])('a Cache-Control of the app %s, and its Vary stays', async (_what, code, status, control) => {
    const [told, header, vary] = await visit(requirePurchase(keyApi), code, PUBLIC);
    expect([told, header]).toEqual([status, control]);
    expect(vary).toMatch(/^Accept-Encoding, /);
  });

  it.each<[string, Middleware, number, retryAfter?: string]>([
    [
      'onDenied',
      requirePurchase(keyApi, { onDenied: ({ status }, _req, res) => res.sendStatus(status) }),
      403,
    ],
    ['loadItem', loadItem({ getItem: async () => null }, { id: () => 999_999 }), 404],
    ['requireLogin', requireLogin(), 401],
    ['requirePurchase in an outage', requirePurchase(down, { code: () => CODE }), 503, '7'],
    ['loadItems in an outage', loadItems({ listItems: failing }), 503, '7'],
  ])('what the app itself responds to is no-store, with Retry-After: %s', async (...row) => {
    const [, guard, status, retryAfter] = row;
    const own: ErrorRequestHandler = (error, _req, res, _next) => void res.sendStatus(error.status);
    const app = express().use(setting(PUBLIC), guard, own);
    const { headers } = await request(app).get('/').set('x-purchase-code', WRONG).expect(status);
    expect([headers['cache-control'], headers['retry-after']]).toEqual(['no-store', retryAfter]);
  });

  it.each<[string, Middleware, string | undefined, string | undefined]>([
    ['loadPurchase, a wrong code', loadPurchase(keyApi), WRONG, 'private'],
    ['loadPurchase, an outage', loadPurchase(down), CODE, 'private'],
    ['loadPurchase, no code: the page of everybody', loadPurchase(keyApi), undefined, undefined],
  ])('what is let through: %s', async (_name, guard, code, control) => {
    expect(await visit(guard, code)).toEqual([200, control, 'X-Purchase-Code']);
  });

  it('an outage with "allow" lets through what is private', async () => {
    const guard = requirePurchase(keyApiOn({ says: 'outage' }).keyApi, { onUnknown: 'allow' });
    expect(await visit(guard, CODE)).toEqual([200, 'private', 'X-Purchase-Code']);
  });

  it.each([CODE, WRONG])(
    'leave alone what the app has begun to send meanwhile: %s',
    async (code) => {
      const res = fakeResponse();
      const req = { headers: { 'x-purchase-code': code } };
      const ended = new Promise((next) => requirePurchase(keyApi)(req as never, res, next));
      res.writeHead(503);
      const denial = { code: 'purchase_code_invalid' };
      await (code === CODE
        ? expect(ended).resolves.toBeUndefined()
        : expect(ended).resolves.toMatchObject(denial));
    },
  );
});
