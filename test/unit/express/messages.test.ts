import express from 'express';
import {
  errorHandler,
  loadAccount,
  loadItem,
  loadItems,
  loadPurchase,
  loadUser,
  MemoryHolderStore,
  MemoryTokenStore,
  requireAccessToken,
  requireLogin,
  requirePurchase,
} from 'marketgate';
import request from 'supertest';
import { expect, it, vi } from 'vitest';

const tokenStore = new MemoryTokenStore();
const keyApi = { validatePurchase: vi.fn(), getItem: vi.fn() };
const loginApi = { getUser: vi.fn() };

/** Makes something with one option, which is wrong. */
const guard = (name: string) => (wrong: unknown) =>
  requirePurchase(keyApi, { [name]: wrong } as never);
const access = (name: string) => (wrong: unknown) =>
  requireAccessToken({ tokenStore, [name]: wrong } as never);
const handler = (name: string) => (wrong: unknown) => errorHandler({ [name]: wrong });
const gate = (name: string) => (wrong: unknown) => requireLogin({ [name]: wrong });

type Complaint = [
  owner: string,
  option: string,
  expected: string,
  make: (wrong: unknown) => unknown,
  ...wrong: unknown[],
];
const RP = 'requirePurchase';
const RT = 'requireAccessToken';
const PATH = 'path on this site';
const ELSEWHERE = ['https://evil.example', '//evil.example'];
const holderOf = (id: unknown) => guard('holder')({ store: new MemoryHolderStore(), id });
const COMPLAINTS: Complaint[] = [
  [RP, 'keyApi', 'a KeyApi', (wrong) => requirePurchase(wrong as never), {}, undefined, 'key'],
  [RP, 'licenceType', 'known are', guard('licenceType'), 'Extended'],
  [RP, 'code', 'fromHeader..x-purchase-code', guard('code'), 'x-purchase-code'],
  [RP, 'item', 'whole number', guard('item'), -1, '1042', null, [], [1, '2']],
  [RP, 'licenseType', 'several', guard('licenseType'), '', 7, null, []],
  [RP, 'supported', 'true or false', guard('supported'), 1, 'yes'],
  [RP, 'fresh', 'true or false', guard('fresh'), 1, 'yes'],
  [RP, 'accept', 'function', guard('accept'), 1, true],
  [RP, 'holder.id', 'function', holderOf, 'anna', undefined],
  ...['item', 'licenseType', 'supported', 'accept'].map(
    (name): Complaint => [RP, name, 'is given, but undefined', guard(name), undefined],
  ),
  [RP, 'onUnknown', '"deny", "allow"', guard('onUnknown'), 'maybe'],
  [RP, 'onDenied', 'function', guard('onDenied'), 1, {}],
  [
    ...['loadPurchase', 'onUnknown', 'known are code, item'],
    (onUnknown: unknown) => loadPurchase(keyApi, { onUnknown } as never),
    'deny',
  ] as never,
  ['loadItem', 'keyApi', 'a KeyApi', (wrong) => loadItem(wrong as never), {}, undefined],
  ['loadItem', 'id', 'function', (id) => loadItem(keyApi, { id } as never), 7],
  ['loadItem', 'guessLimit', 'limit', (guessLimit) => loadItem(keyApi, { guessLimit } as never), 7],
  ['loadItems', 'keyApi', 'listItems', (wrong) => loadItems(wrong as never), {}],
  ['loadAccount', 'keyApi', 'getAccount', (wrong) => loadAccount(wrong as never), {}],
  ['loadUser', 'loginApi', 'getUser', (wrong) => loadUser(wrong as never, { tokenStore }), {}],
  ['loadUser', 'tokenStore', 'token store', (wrong) => loadUser(loginApi, wrong as never), {}],
  [RT, 'tokenStore', 'token store', (wrong) => requireAccessToken(wrong as never), {}, undefined],
  [RT, 'get', 'missing', access('tokenStore'), { set() {}, delete() {} }],
  [RT, 'loginPath', PATH, access('loginPath'), ...ELSEWHERE],
  [RT, 'userId', 'function', access('userId'), 7, 'id'],
  [RT, 'clock', 'function', access('clock'), 7],
  ['requireLogin', 'loginPath', PATH, gate('loginPath'), 'x', ...ELSEWHERE],
  ['requireLogin', 'path', 'loginPath', gate('path'), '/login'],
  ['errorHandler', 'loginPath', PATH, handler('loginPath'), 'x', ...ELSEWHERE, 7],
  ['errorHandler', 'redeemPath', PATH, handler('redeemPath'), 'x', ...ELSEWHERE, 7],
  ['errorHandler', 'log', 'function', handler('log'), true, 'errors.log'],
  ['errorHandler', 'render', 'function', handler('render'), 'page.html'],
];

it.each(COMPLAINTS)(
  'a complaint about an option is %s’s, names "%s", and says what is right: %s',
  (owner, option, expected, make, ...wrong) => {
    for (const value of wrong) {
      const attempt = () => make(value);
      expect(attempt).toThrow(TypeError);
      expect(attempt).toThrow(new RegExp(`^${owner}: .*"${option}"`));
      expect(attempt).toThrow(new RegExp(expected, 'i'));
    }
  },
);

it.each<[string, unknown]>([
  ['requireLogin', requireLogin],
  ['errorHandler', errorHandler],
  ['loadItems', loadItems],
  ['requirePurchase', requirePurchase],
])('%s used without parentheses is a TypeError, and lets nobody in', async (owner, factory) => {
  const app = express();
  app.use(factory as never, (_req, res) => void res.send('in'));
  app.use(((error, _req, res, _next) => res.send(String(error))) as express.ErrorRequestHandler);
  expect((await request(app).get('/')).text).toMatch(new RegExp(`^TypeError: ${owner}: `));
});
