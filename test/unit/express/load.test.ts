import {
  type Account,
  accountOf,
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
import { describe, expect, it, vi } from 'vitest';
import { runMiddleware } from '../../support/fake-response.js';
import { ITEMS, keyApiOn } from '../../support/key-api-service.js';
import { json } from '../../support/service-in-memory.js';
import { account, CODE, item, purchase, refusal, userInfo } from '../../support/wire.js';

describe('loadItems and loadItem', () => {
  const visit = (load: Middleware, id?: unknown, ip = '192.0.2.1') =>
    runMiddleware(load, { headers: {}, params: { id }, query: { item: id }, ip });

  it('put the catalogue and one item at req.marketplace and in the locals', async () => {
    const { keyApi } = keyApiOn();
    const all = await visit(loadItems(keyApi));
    expect(all.found).toMatchObject({ items: [{ id: 1042 }, { id: 1043 }] });
    expect(all.res.locals.marketplace).toBe(all.found);
    const byQuery = loadItem(keyApi, { id: async (req) => req.query.item as string });
    for (const load of [loadItem(keyApi), byQuery]) {
      expect((await visit(load, '1042')).found).toMatchObject({ item: { id: 1042 } });
    }
  });

  it.each([
    ['999999', 'item_not_found'],
    ['1e3', 'item_id_invalid'],
    [undefined, 'item_id_invalid'],
    [['1', '2'], 'item_id_invalid'],
  ])('refuse the id %j with %s, through next', async (id, code) => {
    expect((await visit(loadItem(keyApiOn().keyApi), id)).error).toMatchObject({ code });
  });

  it('pass on an outage', async () => {
    const { keyApi } = keyApiOn({ says: 'outage' });
    const { error } = await visit(loadItems(keyApi));
    expect(error).toMatchObject({ code: 'service_unavailable' });
  });

  it('count for the client, or for nobody, where the list is not to be had', async () => {
    const open = (options: LoadItemOptions = {}) => {
      const { service, keyApi } = keyApiOn({}, { guessLimit: { limit: 1 } });
      service.override = ({ path, parameter }) => {
        if (path === ITEMS) return json({ odd: true });
        return parameter('item_id') === '7' ? json(refusal('Item Not Found')) : undefined;
      };
      return loadItem(keyApi, options);
    };
    const load = open();
    expect((await visit(load, 7)).error).toMatchObject({ code: 'item_not_found' });
    expect((await visit(load, 8)).error).toMatchObject({ code: 'too_many_attempts' });
    expect((await visit(load, 8, '198.51.100.9')).error).toBeUndefined();
    const uncounted = open({ client: false });
    for (let n = 0; n < 3; n++) {
      expect((await visit(uncounted, 7)).error).toMatchObject({ code: 'item_not_found' });
    }
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
