import express from 'express';
import {
  type Account,
  accountOf,
  errorHandler,
  itemOf,
  itemsOf,
  type LoadItemOptions,
  loadAccount,
  loadItem,
  loadItems,
  loadPurchase,
  loadUser,
  type Middleware,
  type Purchase,
  purchaseOf,
  requirePurchase,
  userOf,
} from 'marketgate';
import type { SandboxOptions } from 'marketgate/sandbox';
import request from 'supertest';
import { describe, expect, it, vi } from 'vitest';
import { abortOnLeave } from '../../../src/express/middleware.js';
import { expressVersions } from '../../support/express-versions.js';
import { fakeResponse } from '../../support/fake-response.js';
import { countEndings, openShop } from '../../support/shop.js';
import { account, CODE, guess, item, purchase, userInfo } from '../../support/wire.js';

describe.each(expressVersions)('loadItems and loadItem on %s', (_version, express) => {
  async function open(sandboxOptions: SandboxOptions = {}) {
    const shop = await openShop({}, sandboxOptions);
    const app = express();
    app.get('/items', loadItems(shop.keyApi));
    app.get('/items/:id', loadItem(shop.keyApi));
    app.get('/by-query', loadItem(shop.keyApi, { id: async (req) => req.query.item }));
    const endings = countEndings(app);
    app.use(errorHandler({ log: false }));
    return { ...shop, app, endings };
  }

  it('put the catalogue and one item at req.marketplace', async () => {
    const { app } = await open();
    const { body } = await request(app).get('/items').expect(200);
    expect(body.marketplace.items.length).toBeGreaterThan(10);
    expect(body.locals.items[0]).toMatchObject({ id: expect.any(Number) });
    for (const path of ['/items/1042', '/by-query?item=1042']) {
      const answer = await request(app).get(path).expect(200);
      expect(answer.body.marketplace.item).toMatchObject({ id: 1042 });
    }
  });

  it('an empty catalogue is an empty list', async () => {
    const { app } = await open({ seed: { items: [], purchases: [] } });
    const answer = await request(app).get('/items').expect(200);
    expect(answer.body.marketplace).toEqual({ items: [] });
  });

  it.each([
    ['/items/999999', 404, 'item_not_found'],
    ['/items/abc', 400, 'item_id_invalid'],
    ['/items/1e3', 400, 'item_id_invalid'],
    ['/items/-1', 400, 'item_id_invalid'],
    ['/by-query', 400, 'item_id_invalid'],
    ['/by-query?item=1&item=2', 400, 'item_id_invalid'],
  ])('%s is %d %s, through next', async (path, status, code) => {
    const { app, endings } = await open();
    const answer = await request(app).get(path).expect(status);
    expect(answer.body).toMatchObject({ code, status });
    expect(endings).toEqual({ errors: [expect.objectContaining({ code })], handled: 0 });
  });

  it.each(['/items', '/items/1042'])('%s of a service that fails is 503', async (path) => {
    const { app, sandbox, endings } = await open();
    sandbox.faults.errorRate = 1;
    expect((await request(app).get(path).expect(503)).body.code).toBe('service_unavailable');
    expect(endings.errors).toHaveLength(1);
  });
});

describe('items that do not exist', () => {
  async function open(options: LoadItemOptions = {}) {
    const shop = await openShop();
    const app = express();
    app.set('trust proxy', 1);
    app.get('/items', loadItems(shop.keyApi), (_req, res) => void res.end());
    app.get('/items/:id', loadItem(shop.keyApi, options), (_req, res) => void res.end());
    app.get('/mine', requirePurchase(shop.keyApi), (_req, res) => void res.end());
    app.use(errorHandler({ log: false }));
    const visit = (path: string, from = '192.0.2.1', code = '') =>
      request(app).get(path).set('x-forwarded-for', from).set('x-purchase-code', code).then();
    const asked = () => shop.sandbox.requests.length;
    return { ...shop, visit, asked };
  }
  const unknown = (n: number) => `/items/${900_000 + n}`;

  it('are failed attempts: 58 requests from six addresses leave the quota to customers', async () => {
    const { visit, asked, code } = await open();
    await visit('/items/1042', '198.51.100.9');
    const before = asked();
    const statuses = [];
    for (let n = 0; n < 58; n++) {
      statuses.push((await visit(unknown(n), `192.0.2.${n % 6}`)).status);
    }
    expect(statuses.filter((status) => status === 404).length).toBeLessThanOrEqual(30);
    expect(asked() - before).toBeLessThanOrEqual(31);
    expect((await visit('/mine', '198.51.100.1', code('supported'))).status).toBe(200);
    expect((await visit('/items/1043', '198.51.100.2')).status).toBe(200);
  });

  it('over the limit are 429 without a request, while cached items are still shown', async () => {
    const { visit, asked } = await open({ guessLimit: { limit: 2 } });
    for (const n of [1, 2]) expect((await visit(unknown(n))).status).toBe(404);
    await visit('/items/1042', '198.51.100.9');
    const before = asked();
    const refused = await visit(unknown(3));
    expect([refused.status, refused.body.code]).toEqual([429, 'too_many_attempts']);
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
    expect((await visit('/items/1042')).status).toBe(200);
    expect((await visit(unknown(1))).status).toBe(404);
    expect(asked()).toBe(before);
  });

  it('count together with wrong codes', async () => {
    const { visit } = await open();
    for (let n = 0; n < 5; n++) {
      expect((await visit(unknown(n))).status).toBe(404);
      expect((await visit('/mine', undefined, guess(n))).status).toBe(403);
    }
    expect((await visit('/mine', undefined, guess(9))).status).toBe(429);
    expect((await visit(unknown(9))).status).toBe(429);
  });

  it('cost nothing if a list within its ttl does not have them, nor do repeats', async () => {
    const { visit, asked } = await open({ guessLimit: { limit: 1 } });
    await visit(unknown(0));
    for (let i = 0; i < 3; i++) expect((await visit(unknown(0))).status).toBe(404);
    await visit('/items');
    const before = asked();
    for (let n = 1; n < 20; n++) expect((await visit(unknown(n))).status).toBe(404);
    expect(asked()).toBe(before);
  });

  it('are not counted in an outage, and not at all with guessLimit false', async () => {
    const { visit, sandbox } = await open({ guessLimit: { limit: 1 } });
    sandbox.faults.errorRate = 1;
    for (let n = 0; n < 3; n++) expect((await visit(unknown(n))).status).toBe(503);
    const without = await open({ guessLimit: false });
    for (let n = 0; n < 12; n++) expect((await without.visit(unknown(n))).status).toBe(404);
  });
});

/** Runs middleware on a request without a server; gives the last error. */
async function run(req: object, ...middleware: Middleware[]): Promise<unknown> {
  let error: unknown;
  for (const each of middleware) {
    error = await new Promise((resolve) => each(req as never, fakeResponse(), resolve));
  }
  return error;
}

it('a call to the service ends if the visitor leaves, or has left; afterwards nobody listens', async () => {
  const res = fakeResponse();
  const look = async (signal: AbortSignal) => [signal.aborted, res.listenerCount('close')];
  expect(await abortOnLeave(res, look)).toEqual([false, 1]);
  expect(await abortOnLeave(Object.create(res, { closed: { value: true } }), look)).toEqual([
    true,
    0,
  ]);
});

it('loadAccount puts a copy of the account at req.marketplace', async () => {
  const req: { marketplace?: { account?: Account } } = {};
  const frozen = Object.freeze({ ...account }) as Account;
  expect(await run(req, loadAccount({ getAccount: async () => frozen }))).toBeUndefined();
  expect(req.marketplace).toEqual({ account });
  expect(Object.isFrozen(req.marketplace?.account)).toBe(false);
});

it.each([
  ['getItem', loadItem, undefined],
  ['listItems', loadItems, null],
  ['getAccount', loadAccount, null],
])('a %s that swallows an error is no answer', async (method, load, answer) => {
  const req = { params: { id: '1042' }, headers: {} };
  const error = await run(req, load({ [method]: async () => answer } as never));
  expect(error).toMatchObject({ code: 'unexpected_response' });
  expect(String(error)).toContain(method);
  expect(req).toMatchObject({ marketplace: {} });
});

describe('what a handler asks for', () => {
  const keyApi = {
    validatePurchase: async () => purchase as Purchase,
    getItem: async () => item,
    listItems: async () => [item],
    getAccount: async () => account as Account,
  };
  const loginApi = { getUser: async () => userInfo };
  const token = { value: 't', issuedAt: 0, expiresAt: Number.MAX_SAFE_INTEGER };
  const tokenStore = { get: async () => token, set: vi.fn(), delete: vi.fn() };
  const CASES: [name: string, accessor: (req: object) => unknown, Middleware, string, unknown][] = [
    ['purchaseOf', purchaseOf, requirePurchase(keyApi), 'requirePurchase(keyApi)', purchase],
    ['itemOf', itemOf, loadItem(keyApi as never), 'loadItem(keyApi)', item],
    ['itemsOf', itemsOf, loadItems(keyApi as never), 'loadItems(keyApi)', [item]],
    ['accountOf', accountOf, loadAccount(keyApi), 'loadAccount(keyApi)', account],
    ['userOf', userOf, loadUser(loginApi, { tokenStore }), 'loadUser(loginApi', userInfo],
  ];

  it.each(CASES)('%s gives it', async (_name, accessor, middleware, _missing, expected) => {
    const req = {
      headers: { 'x-purchase-code': CODE },
      params: { id: '1042' },
      user: { id: userInfo.user_id },
    };
    expect(await run(req, middleware)).toBeUndefined();
    expect(accessor(req)).toEqual(expected);
  });

  it.each(CASES)('%s names what is missing', (name, accessor, _middleware, missing) => {
    for (const req of [{}, { marketplace: {} }]) {
      expect(() => accessor(req)).toThrow(
        new RegExp(`^${name}: this request has no \\w+; put ${missing.slice(0, 8)}`),
      );
      expect(() => accessor(req)).toThrow(missing);
    }
  });

  it('purchaseOf says what loadPurchase found instead', async () => {
    const req = { headers: {} };
    await run(req, loadPurchase(keyApi));
    expect(() => purchaseOf(req)).toThrow(
      '(verdict "absent"); check req.marketplace.verdict first',
    );
    expect(() => itemOf(req)).not.toThrow('verdict');
  });
});
