import {
  type Account,
  accountOf,
  errorHandler,
  itemOf,
  itemsOf,
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
import { account, CODE, item, purchase, userInfo } from '../../support/wire.js';

describe.each(expressVersions)('loadItems and loadItem on %s', (_version, express) => {
  async function open(sandboxOptions: SandboxOptions = {}) {
    const shop = await openShop({}, sandboxOptions);
    const app = express();
    app.get('/items', loadItems(shop.keyApi));
    app.get('/items/:id', loadItem(shop.keyApi));
    app.get('/by-query', loadItem(shop.keyApi, { id: (req) => req.query.item }));
    app.get('/later', loadItem(shop.keyApi, { id: async () => 1042 }));
    const endings = countEndings(app);
    app.use(errorHandler({ log: false }));
    return { ...shop, app, endings };
  }

  it('the whole catalogue is at req.marketplace.items', async () => {
    const { app, sandbox } = await open();
    const answer = await request(app).get('/items').expect(200);
    expect(answer.body.marketplace.items.length).toBeGreaterThan(10);
    expect(answer.body.locals.items[0]).toMatchObject({ id: expect.any(Number) });
    expect(sandbox.requests.at(-1)?.path).toBe('/api/items/all');
  });

  it('an empty catalogue is an empty list', async () => {
    const { app } = await open({ seed: { items: [], purchases: [] } });
    const answer = await request(app).get('/items').expect(200);
    expect(answer.body.marketplace).toEqual({ items: [] });
  });

  it('one item is at req.marketplace.item', async () => {
    const { app } = await open();
    const answer = await request(app).get('/items/1042').expect(200);
    expect(answer.body.marketplace.item).toMatchObject({ id: 1042 });
    await request(app).get('/by-query?item=1042').expect(200);
    await request(app).get('/later').expect(200);
  });

  it.each([
    ['/items/999999', 404, 'item_not_found'],
    ['/items/abc', 400, 'item_id_invalid'],
    ['/items/1e3', 400, 'item_id_invalid'],
    ['/items/-1', 400, 'item_id_invalid'],
    ['/by-query', 400, 'item_id_invalid'],
    ['/by-query?item=1&item=2', 400, 'item_id_invalid'],
  ])('%s is %d %s', async (path, status, code) => {
    const { app, endings } = await open();
    const answer = await request(app).get(path).expect(status);
    expect(answer.body).toMatchObject({ code, status });
    expect(endings).toEqual({
      errors: [expect.objectContaining({ code, message: expect.stringContaining('id') })],
      handled: 0,
    });
  });

  it.each(['/items', '/items/1042'])('%s of a service that fails is 503', async (path) => {
    const { app, sandbox, endings } = await open();
    sandbox.faults.errorRate = 1;
    expect((await request(app).get(path).expect(503)).body.code).toBe('service_unavailable');
    expect(endings.errors).toHaveLength(1);
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
  const req = { params: { id: '1042' } };
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
