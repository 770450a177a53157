import {
  EncryptedTokenStore,
  MarketgateError,
  MemoryTokenStore,
  type TokenStore,
} from 'marketgate';
import { KeyvTokenStore } from 'marketgate/keyv';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { NoAnswer } from '../../../src/deadline.js';
import { StoreGuard } from '../../../src/stores/store-guard.js';
import { checkTokenStore, GuardedTokenStore } from '../../../src/stores/token-store.js';
import { deferred } from '../../support/deferred.js';
import { everythingOf, rejection } from '../../support/errors.js';
import { unhandledRejections } from '../../support/hear.js';
import { PlainStore, SECRET, tokenOf } from './support.js';

const CALLS: Record<string, (store: GuardedTokenStore) => Promise<unknown>> = {
  get: (store) => store.get('anna'),
  set: (store) => store.set('anna', tokenOf()),
  delete: (store) => store.delete('anna'),
  claim: (store) => store.claim('name', 1000),
};

/** A guarded store whose every method does the same. */
function guarded(behave: () => unknown): GuardedTokenStore {
  const method = behave as () => Promise<never>;
  return new GuardedTokenStore({ get: method, set: method, delete: method, claim: method });
}

describe('a token store that fails', () => {
  const thrown = () => {
    throw new Error(`SET anna ${SECRET}`);
  };
  it.each<[string, () => unknown]>([
    ['rejects', async () => thrown()],
    ['throws at once', thrown],
    ['rejects with a string', () => Promise.reject(`SET ${SECRET}`)],
    ['rejects with nothing', () => Promise.reject(undefined)],
    // biome-ignore lint/suspicious/noThenProperty: a broken promise library is the case here.
    ['gives a thenable that throws', () => ({ then: thrown })],
  ])('and %s makes each call store_unavailable, without its words', async (_what, behave) => {
    for (const [method, call] of Object.entries(CALLS)) {
      const error = await rejection(call(guarded(behave)));
      expect([error.code, error.status, error.cause]).toEqual([
        'store_unavailable',
        503,
        undefined,
      ]);
      expect(error.message).toContain(`tokenStore.${method} failed`);
      expect(everythingOf(error)).not.toContain(SECRET);
    }
  });

  it('and is of this package is named by its own error', async () => {
    const refuse = () => Promise.reject(Object.assign(new Error('x'), { code: 'ECONNREFUSED' }));
    const keyv = { get: refuse, set: refuse, delete: refuse };
    const error = await rejection(new GuardedTokenStore(new KeyvTokenStore({ keyv })).get('anna'));
    expect(error.message).toBe(
      'KeyvTokenStore.get failed (Error, ECONNREFUSED); look at the store and its connection (npx marketgate explain store_unavailable)',
    );
  });

  it('with an error that only looks like one of this package is not believed', async () => {
    const forged = new MarketgateError('store_unavailable', SECRET, { cause: SECRET });
    const error = await rejection(guarded(() => Promise.reject(forged)).get('anna'));
    expect(error.message).toContain('tokenStore.get failed (store_unavailable);');
    expect(everythingOf(error)).not.toContain(SECRET);
  });
});

describe('the error about a failed call', () => {
  const redis = 'ASK BUSY CLUSTERDOWN CROSSSLOT LOADING MASTERDOWN MISCONF MOVED NOAUTH NOPERM';
  const more = 'NOREPLICAS OOM READONLY TRYAGAIN UNBLOCKED WRONGPASS WRONGTYPE';
  const withCode = (code: unknown) => Object.assign(new TypeError('x'), { code });
  it.each<[unknown, string]>([
    ...`${redis} ${more}`
      .split(' ')
      .map((code): [unknown, string] => [new Error(`${code} the rest`), `failed (${code})`]),
    ...['AB', 'A'.repeat(32), '57P01', 'ERR_SOCKET_CLOSED'].map((code): [unknown, string] => [
      withCode(code),
      `failed (TypeError, ${code})`,
    ]),
    ...['token-1 ABC', 'ABC token-1', ['TOKEN_1'], 'TOKEN_1'.repeat(5)].map(
      (code): [unknown, string] => [withCode(code), 'failed (TypeError)'],
    ),
    ...['SET token-1 Error', 'Error: SET token-1'].map((name): [unknown, string] => [
      Object.assign(new Error('x'), { name }),
      'failed (Error)',
    ]),
    [new Error('SECRET the rest'), 'failed (Error)'],
    [Object.assign(new Error(), { message: undefined }), 'failed'],
    [Object.assign(new Error(), { name: Symbol('x') }), 'failed'],
    [Object.defineProperty(new Error(), 'code', { get: () => expect.unreachable() }), 'failed'],
    [new Proxy({}, { getPrototypeOf: () => expect.unreachable() }), 'failed'],
    ['OOM', 'failed'],
    [new NoAnswer('did not answer'), 'did not answer'],
  ])('says the code or the class of it, and no more: case %#', async (error, words) => {
    const guard = new StoreGuard('test');
    const { message } = await rejection(guard.call('get', () => Promise.reject(error)));
    expect(message).toContain(`test.get ${words};`);
  });
});

describe('a token store that hangs', () => {
  beforeEach(() => void vi.useFakeTimers());

  it.each(Object.entries(CALLS))('is cut off in %s after two seconds', async (method, call) => {
    const outcome = rejection(call(guarded(() => new Promise(() => {}))));
    await vi.advanceTimersByTimeAsync(1999);
    expect(vi.getTimerCount()).toBe(1);
    await vi.advanceTimersByTimeAsync(2);
    const error = await outcome;
    expect(error.code).toBe('store_unavailable');
    expect(error.message).toContain(`tokenStore.${method} did not answer within 2000 ms`);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('can reject after that without an unhandled rejection', async () => {
    const unhandled = unhandledRejections();
    const late = deferred();
    const outcome = rejection(guarded(() => late.promise).get('anna'));
    await vi.advanceTimersByTimeAsync(2001);
    await outcome;
    late.reject(new Error(SECRET));
    vi.useRealTimers();
    await new Promise((resolve) => setImmediate(resolve));
    expect(unhandled).not.toHaveBeenCalled();
  });
});

it('a store that hangs gets no more than 10,000 calls, those past their deadline included', async () => {
  const late = deferred<string>();
  const work = vi.fn(() => late.promise);
  const guard = new StoreGuard('test', 5);
  await Promise.all(Array.from({ length: 10_000 }, () => rejection(guard.call('get', work))));
  const error = await rejection(guard.call('get', work));
  expect(error.message).toContain('test.get was not sent, because too many calls are unanswered');
  expect(work).toHaveBeenCalledTimes(10_000);
  late.resolve('answer');
  await new Promise((resolve) => setImmediate(resolve));
  expect(await guard.call('get', work)).toBe('answer');
});

describe('what a token store gives', () => {
  it.each([
    undefined,
    null,
    'a token',
    {},
    { value: SECRET },
    { ...tokenOf(), value: '' },
    { ...tokenOf(), expiresAt: '2030' },
    { ...tokenOf(), expiresAt: Number.NaN },
  ])('is no token when it is %j', async (answer) => {
    await expect(guarded(() => answer).get('anna')).resolves.toBeUndefined();
  });

  it('can come without a promise, and is copied', async () => {
    const token = { ...tokenOf(), extra: 1 };
    const got = await guarded(() => token).get('anna');
    expect(got).toEqual(tokenOf());
    expect(got).not.toBe(token);
  });

  it('is read once, so that a getter cannot change it after the check', async () => {
    let reads = 0;
    const fickle = {
      ...tokenOf(),
      get value() {
        return reads++ === 0 ? SECRET : '';
      },
    };
    expect(await guarded(() => fickle).get('anna')).toEqual(tokenOf());
  });

  it('does not change with the object that was given to set', async () => {
    const inner = new PlainStore();
    const token = tokenOf();
    await new GuardedTokenStore(inner).set('anna', token);
    token.value = 'changed';
    expect(inner.rows.get('anna')).toEqual(tokenOf());
  });
});

it('a token that is not there can be forgotten', async () => {
  const store = new GuardedTokenStore(new PlainStore());
  await expect(store.forget('anna', tokenOf())).resolves.toBeUndefined();
});

describe('a claim', () => {
  it.each([false, undefined, null, 1, 'true', 'OK', {}])(
    'for which a store gives %j is lost',
    async (answer) => {
      await expect(guarded(() => answer).claim('name', 1000)).resolves.toBe(false);
    },
  );

  it('is granted where the store has none', async () => {
    await expect(new GuardedTokenStore(new PlainStore()).claim('name', 1000)).resolves.toBe(true);
  });

  it('is called as a method of the store', async () => {
    const store = new GuardedTokenStore(new MemoryTokenStore());
    expect([await store.claim('name', 1000), await store.claim('name', 1000)]).toEqual([
      true,
      false,
    ]);
  });

  it('fails where reading it throws', async () => {
    const get = () => {
      throw new Error(SECRET);
    };
    const store = Object.defineProperty(new PlainStore(), 'claim', { get });
    const error = await rejection(new GuardedTokenStore(store).claim('name', 1000));
    expect(error.code).toBe('store_unavailable');
  });
});

describe('the option tokenStore', () => {
  it('takes any object with the methods, with "claim" or without', () => {
    for (const store of [new PlainStore(), new MemoryTokenStore()]) {
      expect(checkTokenStore('loadUser', store)).toBe(store);
    }
  });

  it.each<[object, string]>([
    [{ get: undefined }, 'must be a token store'],
    [{ set: 'x' }, '"set" is missing'],
    [{ delete: null }, '"delete" is missing'],
    ...[true, null, 'x', {}].map((claim): [object, string] => [{ claim }, 'has a "claim"']),
  ])('refuses one with %j in a TypeError that names it', (broken, words) => {
    const store = Object.assign(new PlainStore(), broken) as unknown as TokenStore;
    const check = () => checkTokenStore('loadUser', store);
    expect(check).toThrow(TypeError);
    expect(check).toThrow('loadUser: option "tokenStore"');
    expect(check).toThrow(words);
  });
});

it('an encrypted store passes the failure of its store on', async () => {
  const error = new Error('down');
  const fail = () => Promise.reject(error);
  const inner = { get: fail, set: fail, delete: fail, claim: fail };
  const store = new EncryptedTokenStore(inner, { keys: [Buffer.alloc(32, 7)] });
  await expect(store.get('anna')).rejects.toBe(error);
  await expect(store.set('anna', tokenOf())).rejects.toBe(error);
  await expect(store.delete('anna')).rejects.toBe(error);
  await expect(store.claim?.('name', 1)).rejects.toBe(error);
});
