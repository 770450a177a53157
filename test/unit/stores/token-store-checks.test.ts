import { MemoryTokenStore, type TokenStore } from 'marketgate';
import { describe, expect, it } from 'vitest';
import { isStoreFailure, storeFailure } from '../../../src/stores/store-failure.js';
import { checkTokenStore } from '../../../src/stores/token-store.js';
import { HandClock, HOUR, NOW, PlainStore } from './support.js';

describe('what is passed as a token store', () => {
  it('can be any object with its methods, with "claim" or without', () => {
    for (const store of [new PlainStore(), new MemoryTokenStore()]) {
      expect(checkTokenStore('loadUser', store)).toBe(store);
    }
  });

  it.each<[string, object]>([
    ['get', { get: undefined }],
    ['set', { set: 'x' }],
    ['delete', { delete: null }],
  ])('must have "%s", and the complaint names it', (method, broken) => {
    const check = () => checkTokenStore('loadUser', Object.assign(new PlainStore(), broken));
    expect(check).toThrow(TypeError);
    expect(check).toThrow(/^loadUser: option "tokenStore" must be a token store/);
    expect(check).toThrow(`"${method}" is missing`);
  });

  it.each([true, null, 'x', {}])('with %j for "claim" is none', (claim) => {
    const store = Object.assign(new PlainStore(), { claim }) as unknown as TokenStore;
    expect(() => checkTokenStore('loadUser', store)).toThrow(
      /^loadUser: option "tokenStore" has a "claim"/,
    );
  });
});

it.each([undefined, null, 'x', 7, new Error('x'), {}])('%o is no failure of ours', (thrown) => {
  expect(isStoreFailure(thrown)).toBe(false);
  expect(isStoreFailure(storeFailure('x.get', 'failed'))).toBe(true);
});

describe('the claims of MemoryTokenStore', () => {
  it('one that is running was lost while one that was over had a place', async () => {
    const time = new HandClock();
    const store = new MemoryTokenStore({ maxClaims: 3, clock: time.clock });
    await store.claim('spent', HOUR);
    await store.claim('short', 1000);
    await store.claim('longer', 2000);
    time.advance(1000);
    await store.claim('in place of short', HOUR);
    time.advance(1000);
    await store.claim('in place of longer', HOUR);
    expect(await store.claim('spent', HOUR)).toBe(false);
  });

  it('the ttl must be a number, not text that looks like one', async () => {
    const store = new MemoryTokenStore({ clock: () => NOW });
    for (const ttl of ['60000', undefined, null, [1000]]) {
      await expect(store.claim('name', ttl as never)).rejects.toThrow('"ttl"');
    }
  });
});

describe('options of MemoryTokenStore', () => {
  const MOST = 2 ** 24;

  it('takes as many claims as fit, and not one more', () => {
    expect(() => new MemoryTokenStore({ maxClaims: MOST })).not.toThrow();
    expect(() => new MemoryTokenStore({ maxClaims: MOST + 1 })).toThrow(`from 1 to ${MOST}`);
  });
});
