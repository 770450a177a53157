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
import request from 'supertest';
import { describe, expect, it, vi } from 'vitest';
import { runMiddleware } from '../../support/fake-response.js';
import { countEndings, openShop } from '../../support/shop.js';
import { account, CODE, item, purchase, userInfo } from '../../support/wire.js';

describe('loadItems and loadItem', () => {
  async function open(options: LoadItemOptions = {}, ...given: Parameters<typeof openShop>) {
    const shop = await openShop(...given);
    const app = express();
    app.set('trust proxy', 1);
    app.get('/items', loadItems(shop.keyApi));
    app.get('/items/:id', loadItem(shop.keyApi, options));
    app.get('/by-query', loadItem(shop.keyApi, { id: async (req) => req.query.item }));
    const endings = countEndings(app);
    app.use(errorHandler({ log: false }));
    const visit = (path: string, from = '192.0.2.1') =>
      request(app).get(path).set('x-forwarded-for', from).then();
    return { ...shop, visit, endings };
  }
  it('put the catalogue and one item at req.marketplace', async () => {
    const { visit } = await open();
    const { body } = await visit('/items');
    expect(body.marketplace.items.length).toBeGreaterThan(10);
    expect(body.locals).toEqual(body.marketplace);
    for (const path of ['/items/1042', '/by-query?item=1042']) {
      expect((await visit(path)).body.marketplace.item).toMatchObject({ id: 1042 });
    }
  });

  it.each<[string, number, string, errorRate?: number]>([
    ['/items/999999', 404, 'item_not_found'],
    ['/items/1e3', 400, 'item_id_invalid'],
    ['/by-query', 400, 'item_id_invalid'],
    ['/by-query?item=1&item=2', 400, 'item_id_invalid'],
    ['/items', 503, 'service_unavailable', 1],
  ])('%s is %d %s, through next', async (path, status, code, errorRate = 0) => {
    const { visit, endings, sandbox } = await open();
    Object.assign(sandbox.faults, { errorRate });
    const answer = await visit(path);
    expect([answer.status, answer.body.code]).toEqual([status, code]);
    expect(endings).toEqual({ errors: [expect.objectContaining({ code })], handled: 0 });
  });

  it('loadItem counts for the client, or for nobody, where the list is not to be had: over the limit 429', async () => {
    const answer = (path: string, body: object) =>
      path === '/api/items/all' ? { odd: true } : body;
    const limit = [{ guessLimit: { limit: 1 } }, { answer }] as const;
    const { visit } = await open({}, ...limit);
    const unknown = (n: number) => `/items/${900_000 + n}`;
    expect((await visit(unknown(1))).status).toBe(404);
    const refused = await visit(unknown(2));
    expect([refused.status, refused.body.code]).toEqual([429, 'too_many_attempts']);
    expect((await visit('/items/1042', '198.51.100.9')).status).toBe(200);
    const uncounted = await open({ client: false }, ...limit);
    for (let n = 0; n < 3; n++) expect((await uncounted.visit(unknown(n))).status).toBe(404);
  });
});

describe('what a handler asks for', () => {
  const keyApi = {
    validatePurchase: async () => Object.freeze({ ...purchase }) as Purchase,
    getItem: async () => Object.freeze({ ...item }),
    listItems: async () => [item],
    getAccount: async () => Object.freeze({ ...account }) as Account,
  };
  const loginApi = { getUser: async () => Object.freeze({ ...userInfo }) };
  const token = { value: 't', issuedAt: 0, expiresAt: Number.MAX_SAFE_INTEGER };
  const tokenStore = { get: async () => token, set: vi.fn(), delete: vi.fn() };

  it.each<[(req: object) => unknown, Middleware, string, unknown]>([
    [purchaseOf, requirePurchase(keyApi), 'requirePurchase(keyApi)', purchase],
    [itemOf, loadItem(keyApi as never), 'loadItem(keyApi)', item],
    [itemsOf, loadItems(keyApi as never), 'loadItems(keyApi)', [item]],
    [accountOf, loadAccount(keyApi), 'loadAccount(keyApi)', account],
    [userOf, loadUser(loginApi, { tokenStore }), 'loadUser(loginApi', userInfo],
  ])(
    '%o gives a copy of it, or names what is missing',
    async (accessor, middleware, missing, expected) => {
      const headers = { 'x-purchase-code': CODE };
      const req = { headers, params: { id: '1042' }, user: { id: userInfo.user_id } };
      expect(() => accessor(req)).toThrow(`this request has no `);
      expect(() => accessor(req)).toThrow(`; put ${missing}`);
      expect((await runMiddleware(middleware, req)).error).toBeUndefined();
      expect(accessor(req)).toEqual(expected);
      // Express's res.render writes into its argument.
      expect(Object.isFrozen(accessor(req))).toBe(false);
    },
  );

  it('purchaseOf says what loadPurchase found instead', async () => {
    const req = { headers: {} };
    await runMiddleware(loadPurchase(keyApi), req);
    expect(() => purchaseOf(req)).toThrow('(verdict "absent"); check req.marketplace.verdict');
  });
});
