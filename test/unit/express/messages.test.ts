import {
  errorHandler,
  firstOf,
  fromBody,
  fromHeader,
  fromParams,
  fromQuery,
  fromSession,
  loadAccount,
  loadItem,
  loadItems,
  loadPurchase,
  loadUser,
  MemoryTokenStore,
  type Purchase,
  requireAccessToken,
  requireLogin,
  requirePurchase,
} from 'marketgate';
import { describe, expect, it, vi } from 'vitest';
import { fakeResponse } from '../../support/fake-response.js';
import { item, purchase } from '../../support/wire.js';

// What an operator reads: whose complaint it is, about which option, and what would be right.

const tokenStore = new MemoryTokenStore();
const keyApi = { validatePurchase: vi.fn(), getItem: vi.fn() };
const loginApi = { getUser: vi.fn() };

/** One option of requirePurchase, or of its guessLimit, with a value. */
const guard = (name: string) => (wrong: unknown) =>
  requirePurchase(keyApi, { [name]: wrong } as never);
const limit = (name: string) => (wrong: unknown) => guard('guessLimit')({ [name]: wrong });
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
const COMPLAINTS: Complaint[] = [
  [RP, 'keyApi', 'a KeyApi', (wrong) => requirePurchase(wrong as never), {}, undefined, 'key'],
  [RP, 'licenceType', 'known are', guard('licenceType'), 'Extended'],
  [RP, 'code', 'function', guard('code'), 'x-purchase-code'],
  [RP, 'item', 'whole number', guard('item'), -1, 'abc', [], [1, '2'], Number.NaN],
  [RP, 'licenseType', 'ext', guard('licenseType'), '', 7],
  [RP, 'licenseType', 'several', guard('licenseType'), [], ['Extended', ''], ['Extended', 7]],
  [RP, 'supported', 'true or false', guard('supported'), 1, 'yes'],
  [RP, 'accept', 'function', guard('accept'), 1, true],
  [RP, 'item', 'is given, but undefined', guard('item'), undefined],
  [RP, 'licenseType', 'is given, but undefined', guard('licenseType'), undefined],
  [RP, 'supported', 'is given, but undefined', guard('supported'), undefined],
  [RP, 'accept', 'is given, but undefined', guard('accept'), undefined],
  [RP, 'item', 'whole number', guard('item'), null, [undefined], '1042'],
  [RP, 'licenseType', 'several', guard('licenseType'), null, [undefined]],
  [RP, 'onUnknown', '"deny", "allow"', guard('onUnknown'), 'maybe'],
  [RP, 'onDenied', 'function', guard('onDenied'), 1, {}],
  [RP, 'guessLimit', 'limit, windowMs, keyGenerator', guard('guessLimit'), 7, true, null],
  [`${RP}: guessLimit`, 'max', 'known are', limit('max'), 10],
  [`${RP}: guessLimit`, 'window', 'known are limit, windowMs', limit('window'), 60_000],
  [`${RP}: guessLimit`, 'limit', 'codes', limit('limit'), 0],
  [`${RP}: guessLimit`, 'limit', 'whole number', limit('limit'), 1.5],
  [`${RP}: guessLimit`, 'windowMs', 'milliseconds', limit('windowMs'), 0, -1],
  [`${RP}: guessLimit`, 'keyGenerator', 'function', limit('keyGenerator'), 'ip'],
  ['loadPurchase', 'keyApi', 'validatePurchase', (wrong) => loadPurchase(wrong as never), {}],
  [
    'loadPurchase',
    'item',
    'is given, but undefined',
    (item) => loadPurchase(keyApi, { item } as never),
    undefined,
  ],
  [
    'loadPurchase',
    'onUnknown',
    'known are code, item, licenseType, supported, accept, guessLimit',
    (onUnknown) => loadPurchase(keyApi, { onUnknown } as never),
    'deny',
  ],
  ['loadItem', 'keyApi', 'getItem', (wrong) => loadItem(wrong as never), {}],
  ['loadItem', 'keyApi', 'a KeyApi', (wrong) => loadItem(wrong as never), undefined],
  ['loadItem', 'id', 'function', (id) => loadItem(keyApi, { id } as never), 7],
  ['loadItem', 'ids', 'known are', (ids) => loadItem(keyApi, { ids } as never), () => 7],
  ['loadItems', 'keyApi', 'listItems', (wrong) => loadItems(wrong as never), {}],
  ['loadAccount', 'keyApi', 'getAccount', (wrong) => loadAccount(wrong as never), {}],
  ['loadUser', 'loginApi', 'a LoginApi', (wrong) => loadUser(wrong as never, { tokenStore }), {}],
  ['loadUser', 'loginApi', 'getUser', (wrong) => loadUser(wrong as never, { tokenStore }), {}],
  ['loadUser', 'tokenStore', 'token store', (wrong) => loadUser(loginApi, wrong as never), {}],
  [
    'loadUser',
    'userId',
    'function',
    (userId) => loadUser(loginApi, { tokenStore, userId } as never),
    7,
  ],
  ['loadUser', 'clock', 'tokenStore, userId', (clock) => loadUser(loginApi, { clock } as never), 7],
  [
    'requireAccessToken',
    'tokenStore',
    'token store',
    (wrong) => requireAccessToken(wrong as never),
    {},
    undefined,
  ],
  ['requireAccessToken', 'get', 'missing', access('tokenStore'), { set() {}, delete() {} }],
  [
    'requireAccessToken',
    'loginPath',
    'path on this site',
    access('loginPath'),
    '//evil',
    'https://evil.example',
  ],
  ['requireAccessToken', 'userId', 'function', access('userId'), 7, 'id'],
  ['requireAccessToken', 'clock', 'function', access('clock'), 7],
  ['requireLogin', 'loginPath', 'path on this site', gate('loginPath'), 'x', '//evil.example'],
  ['requireLogin', 'path', 'loginPath', gate('path'), '/login'],
  [
    'errorHandler',
    'loginPath',
    'path on this site',
    handler('loginPath'),
    'x',
    'https://evil.example',
    '//evil.example',
    7,
  ],
  ['errorHandler', 'login', 'loginPath', handler('login'), '/login'],
];

describe('a complaint about an option', () => {
  it.each(COMPLAINTS)(
    'is %s’s, names "%s", and says what is right: %s',
    (owner, option, expected, make, ...wrong) => {
      for (const value of wrong) {
        const attempt = () => make(value);
        expect(attempt).toThrow(TypeError);
        expect(attempt).toThrow(new RegExp(`^${owner}: .*"${option}"`));
        expect(attempt).toThrow(new RegExp(expected, 'i'));
      }
    },
  );

  it.each(['x', null])('%j is no object of options', (wrong) => {
    expect(() => requirePurchase(keyApi, wrong as never)).toThrow(TypeError);
    expect(() => requirePurchase(keyApi, wrong as never)).toThrow('options');
  });

  it.each<[string, () => unknown]>([
    ['fromHeader', () => fromHeader('')],
    ['fromQuery', () => fromQuery(7 as unknown as string)],
    ['fromParams', () => fromParams('')],
    ['fromSession', () => fromSession('')],
    ['fromBody', () => fromBody('')],
    ['firstOf', () => firstOf()],
    ['firstOf', () => firstOf('x' as never)],
  ])('%s checks its own', (name, make) => {
    expect(make).toThrow(TypeError);
    expect(make).toThrow(name);
  });
});

/** What a middleware hands to `next`. */
function ending(guard: (...args: never[]) => unknown, req: object = {}): Promise<unknown> {
  const res = fakeResponse();
  const given = { headers: {}, params: {}, originalUrl: '/', ip: '10.0.0.1', ...req };
  return new Promise((resolve) => guard(...([given, res, resolve] as never[])));
}

describe('a refusal says why', () => {
  const holding = (found: Purchase | null) => ({ validatePurchase: async () => found });
  const headers = { 'x-purchase-code': purchase.purchase_code };
  const past = { ...purchase, supported_until: '2001-01-01T00:00:00Z' } as Purchase;

  it.each<[string, () => Promise<unknown>, string]>([
    ['purchase_required', () => ending(requirePurchase(holding(null))), 'no purchase code'],
    [
      'purchase_code_invalid',
      () => ending(requirePurchase(holding(null)), { headers }),
      'not know',
    ],
    [
      'purchase_item_mismatch',
      () => ending(requirePurchase(holding(past), { item: 7 }), { headers }),
      'another item',
    ],
    [
      'license_type_mismatch',
      () => ending(requirePurchase(holding(past), { licenseType: 'Extended' }), { headers }),
      'licence',
    ],
    [
      'support_expired',
      () => ending(requirePurchase(holding(past), { supported: true }), { headers }),
      'support',
    ],
    [
      'purchase_not_accepted',
      () => ending(requirePurchase(holding(past), { accept: () => false }), { headers }),
      '"accept"',
    ],
    [
      'item_not_found',
      () => ending(loadItem({ getItem: async () => null }), { params: { id: String(item.id) } }),
      'no item',
    ],
    ['login_required', () => ending(requireLogin(), { method: 'POST' }), 'nobody is logged in'],
    [
      'access_token_expired',
      () => ending(requireAccessToken({ tokenStore }), { method: 'POST', user: { id: 'nobody' } }),
      'access_token',
    ],
    [
      'access_token_expired',
      () => ending(loadUser(loginApi, { tokenStore }), { user: { id: 'nobody' } }),
      'access_token',
    ],
  ])('%s', async (code, refuse, expected) => {
    expect(await refuse()).toMatchObject({ code, message: expect.stringContaining(expected) });
  });

  it.each([
    ['requireAccessToken', requireAccessToken({ tokenStore })],
    ['loadUser', loadUser(loginApi, { tokenStore })],
  ])('%s says that the app’s user has no id', async (owner, guard) => {
    for (const user of [{}, { id: '' }, { id: {} }]) {
      const error = await ending(guard, { method: 'POST', user });
      expect(error).toBeInstanceOf(TypeError);
      expect(String(error)).toContain(`${owner}: option "userId"`);
    }
  });
});
