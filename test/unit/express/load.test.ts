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
  MemoryTokenStore,
  type Middleware,
  type Purchase,
  purchaseOf,
  requirePurchase,
  userOf,
} from 'marketgate';
import { expect, it } from 'vitest';
import { runMiddleware } from '../../support/fake-response.js';
import { ITEMS, keyApiOn } from '../../support/key-api-service.js';
import { json } from '../../support/service-in-memory.js';
import { account, CODE, item, purchase, refusal, userInfo } from '../../support/wire.js';

const visit = (load: Middleware, id?: unknown, ip = '192.0.2.1') =>
  runMiddleware(load, { headers: {}, ...(id !== undefined && { params: { id } }), ip });

it('loadItem takes the id from the route, or from where the app says, later', async () => {
  const { keyApi } = keyApiOn();
  expect((await visit(loadItem(keyApi), '1042')).found).toMatchObject({ item: { id: 1042 } });
  const own = loadItem(keyApi, { id: async () => 1043 });
  expect((await visit(own)).found).toMatchObject({ item: { id: 1043 } });
});

it.each([
  ['999999', 'item_not_found'],
  ['1e3', 'item_id_invalid'],
  // Without a router.
  [undefined, 'item_id_invalid'],
  [['1', '2'], 'item_id_invalid'],
])('loadItem refuses the id %j with %s, through next', async (id, code) => {
  expect((await visit(loadItem(keyApiOn().keyApi), id)).error).toMatchObject({ code });
});

it('loadItem counts for the client, or for nobody, where the list is not to be had', async () => {
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

const keyApi = {
  validatePurchase: async () => Object.freeze({ ...purchase }) as Purchase,
  getItem: async () => Object.freeze({ ...item }),
  listItems: async () => [item],
  getAccount: async () => Object.freeze({ ...account }) as Account,
};
const loginApi = { getUser: async () => Object.freeze({ ...userInfo }) };
const tokenStore = new MemoryTokenStore();

it.each<[(req: object) => unknown, Middleware, string, unknown]>([
  [purchaseOf, requirePurchase(keyApi), 'requirePurchase(keyApi)', purchase],
  [itemOf, loadItem(keyApi as never), 'loadItem(keyApi)', item],
  [itemsOf, loadItems(keyApi as never), 'loadItems(keyApi)', [item]],
  [accountOf, loadAccount(keyApi), 'loadAccount(keyApi)', account],
  [userOf, loadUser(loginApi, { tokenStore }), 'loadUser(loginApi', userInfo],
])('%o gives a copy of it, or names what is missing', async (...row) => {
  const [accessor, middleware, missing, expected] = row;
  const expiresAt = Number.MAX_SAFE_INTEGER;
  await tokenStore.set(userInfo.user_id, { value: 't', issuedAt: 0, expiresAt });
  const headers = { 'x-purchase-code': CODE };
  const req = { headers, params: { id: '1042' }, user: { id: userInfo.user_id } };
  expect(() => accessor(req)).toThrow(`; put ${missing}`);
  const { error, found, res } = await runMiddleware(middleware, req);
  expect(error).toBeUndefined();
  expect(res.locals.marketplace).toBe(found);
  expect(accessor(req)).toEqual(expected);
  // Express's res.render writes into its argument.
  expect(Object.isFrozen(accessor(req))).toBe(false);
});

it('purchaseOf says what loadPurchase found instead', async () => {
  const req = { headers: {} };
  await runMiddleware(loadPurchase(keyApi), req);
  expect(() => purchaseOf(req)).toThrow('(verdict "absent"); check req.marketplace.verdict');
});
