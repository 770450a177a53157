import {
  errorHandler,
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
import { item, purchase } from '../../support/wire.js';

// What an operator reads: whose complaint it is, about which option, and what would be right.

const tokenStore = new MemoryTokenStore();
const keyApi = { validatePurchase: vi.fn(), getItem: vi.fn() };
const loginApi = { getUser: vi.fn() };

describe('a complaint about an option', () => {
  it.each<[owner: string, option: string, make: () => unknown, expected: string]>([
    ['requirePurchase', 'keyApi', () => requirePurchase({} as never), 'a KeyApi'],
    ['requirePurchase', 'code', () => requirePurchase(keyApi, { code: 'x' as never }), 'function'],
    ['requirePurchase', 'item', () => requirePurchase(keyApi, { item: -1 }), 'whole number'],
    ['requirePurchase', 'licenseType', () => requirePurchase(keyApi, { licenseType: '' }), 'ext'],
    [
      'requirePurchase',
      'licenseType',
      () => requirePurchase(keyApi, { licenseType: ['Extended', ''] }),
      'several',
    ],
    [
      'requirePurchase',
      'licenseType',
      () => requirePurchase(keyApi, { licenseType: ['Extended', 7 as never] }),
      'several',
    ],
    [
      'requirePurchase',
      'supported',
      () => requirePurchase(keyApi, { supported: 1 as never }),
      'true or false',
    ],
    [
      'requirePurchase',
      'accept',
      () => requirePurchase(keyApi, { accept: 1 as never }),
      'function',
    ],
    [
      'requirePurchase',
      'onUnknown',
      () => requirePurchase(keyApi, { onUnknown: 'x' as never }),
      '"deny", "allow"',
    ],
    [
      'requirePurchase',
      'onDenied',
      () => requirePurchase(keyApi, { onDenied: 1 as never }),
      'function',
    ],
    [
      'requirePurchase',
      'guessLimit',
      () => requirePurchase(keyApi, { guessLimit: 7 as never }),
      'limit, window, by',
    ],
    [
      'requirePurchase: guessLimit',
      'limit',
      () => requirePurchase(keyApi, { guessLimit: { limit: 0 } }),
      'codes',
    ],
    [
      'requirePurchase: guessLimit',
      'limit',
      () => requirePurchase(keyApi, { guessLimit: { limit: 1.5 } }),
      'whole number',
    ],
    [
      'requirePurchase: guessLimit',
      'window',
      () => requirePurchase(keyApi, { guessLimit: { window: 0 } }),
      'milliseconds',
    ],
    [
      'requirePurchase: guessLimit',
      'by',
      () => requirePurchase(keyApi, { guessLimit: { by: 'ip' as never } }),
      'function',
    ],
    ['loadPurchase', 'keyApi', () => loadPurchase({} as never), 'validatePurchase'],
    [
      'loadPurchase',
      'onUnknown',
      () => loadPurchase(keyApi, { onUnknown: 'deny' } as never),
      'known are code, item, licenseType, supported, accept, guessLimit',
    ],
    ['loadItem', 'keyApi', () => loadItem({} as never), 'getItem'],
    ['loadItem', 'id', () => loadItem(keyApi, { id: 7 as never }), 'function'],
    ['loadItems', 'keyApi', () => loadItems({} as never), 'listItems'],
    ['loadAccount', 'keyApi', () => loadAccount({} as never), 'getAccount'],
    ['loadUser', 'loginApi', () => loadUser({} as never, { tokenStore }), 'a LoginApi'],
    ['loadUser', 'loginApi', () => loadUser({} as never, { tokenStore }), 'getUser'],
    ['loadUser', 'tokenStore', () => loadUser(loginApi, {} as never), 'token store'],
    [
      'loadUser',
      'userId',
      () => loadUser(loginApi, { tokenStore, userId: 7 as never }),
      'function',
    ],
    ['loadUser', 'clock', () => loadUser(loginApi, { clock: 7 } as never), 'tokenStore, userId'],
    ['requireAccessToken', 'tokenStore', () => requireAccessToken({} as never), 'token store'],
    [
      'requireAccessToken',
      'loginPath',
      () => requireAccessToken({ tokenStore, loginPath: '//evil' }),
      'path on this site',
    ],
    [
      'requireAccessToken',
      'userId',
      () => requireAccessToken({ tokenStore, userId: 7 as never }),
      'function',
    ],
    [
      'requireAccessToken',
      'clock',
      () => requireAccessToken({ tokenStore, clock: 7 as never }),
      'function',
    ],
    ['requireLogin', 'loginPath', () => requireLogin({ loginPath: 'x' }), 'path on this site'],
    ['requireLogin', 'path', () => requireLogin({ path: '/' } as never), 'loginPath'],
    ['errorHandler', 'loginPath', () => errorHandler({ loginPath: 'x' }), 'path on this site'],
    ['errorHandler', 'path', () => errorHandler({ path: '/' } as never), 'loginPath'],
  ])('is %s’s, names "%s", and says what is right', (owner, option, make, expected) => {
    expect(make).toThrow(TypeError);
    expect(make).toThrow(new RegExp(`^${owner}: .*"${option}"`));
    expect(make).toThrow(new RegExp(expected, 'i'));
  });
});

/** What a middleware hands to `next`. */
function ending(guard: (...args: never[]) => unknown, req: object = {}): Promise<unknown> {
  const res = { locals: {} };
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
