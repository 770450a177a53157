import { EncryptedTokenStore, MarketgateError } from 'marketgate';
import { KeyvTokenStore } from 'marketgate/keyv';
import { describe, expect, it, vi } from 'vitest';
import { GuardedTokenStore } from '../../../src/stores/token-store.js';
import { deferred } from '../../support/deferred.js';
import { everythingOf, rejection } from '../../support/errors.js';
import { unhandledRejections } from '../../support/hear.js';
import { PlainStore, SECRET, tokenOf } from './support.js';

/** A guarded store whose every method does the same. */
function guarded(behave: () => unknown): GuardedTokenStore {
  const method = behave as () => Promise<never>;
  return new GuardedTokenStore({ get: method, set: method, delete: method });
}

/** The errors of all calls to a store. */
async function failuresOf(store: GuardedTokenStore) {
  const calls = [store.get('anna'), store.set('anna', tokenOf()), store.delete('anna')];
  const [get, set, deleted] = await Promise.all(calls.map(rejection));
  return Object.entries({ get, set, delete: deleted }) as [string, MarketgateError][];
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
  ])('and %s makes each call store_unavailable, without its words', async (_what, behave) => {
    for (const [method, error] of await failuresOf(guarded(behave))) {
      expect(error).toMatchObject({ code: 'store_unavailable', status: 503 });
      expect(error.message).toContain(`tokenStore.${method} failed (Error); look at the store`);
      expect(everythingOf(error)).not.toContain(SECRET);
    }
  });

  it('inside an encrypted store is named by its own store_unavailable', async () => {
    const refuse = () => Promise.reject(Object.assign(new Error('x'), { code: 'ECONNREFUSED' }));
    const inner = new KeyvTokenStore({ keyv: { get: refuse, set: refuse, delete: refuse } });
    const encrypted = new EncryptedTokenStore(inner, { keys: [Buffer.alloc(32, 7)] });
    for (const [method, { message }] of await failuresOf(new GuardedTokenStore(encrypted))) {
      expect(message).toContain(`KeyvTokenStore.${method} failed (Error, ECONNREFUSED);`);
    }
  });

  it.each<[object, string]>([
    [Object.assign(new TypeError('x'), { code: 11000 }), 'failed (TypeError, 11000)'],
    [{ code: 'token-1 ABC' }, 'failed (Error)'],
    [{ code: 'ABC token-1' }, 'failed (Error)'],
    [{ name: 'SET token-1 Error' }, 'failed (Error)'],
    [{ name: 'RedisError: SET token-1' }, 'failed (Error)'],
    [new MarketgateError('login_required', SECRET), 'failed (MarketgateError)'],
  ])('with %j is named by its code or its class, and by no more', async (error, words) => {
    const { message } = await rejection(guarded(() => Promise.reject(error)).get('anna'));
    expect(message).toContain(`tokenStore.get ${words};`);
  });

  it('and never answers makes each call store_unavailable after two seconds', async () => {
    vi.useFakeTimers();
    const unhandled = unhandledRejections();
    const { promise, reject } = deferred();
    const outcome = failuresOf(guarded(() => promise));
    await vi.advanceTimersByTimeAsync(2001);
    for (const [method, { message }] of await outcome) {
      expect(message).toContain(`tokenStore.${method} did not answer within 2000 ms`);
    }
    reject(new Error(SECRET));
    expect(vi.getTimerCount()).toBe(0);
    vi.useRealTimers();
    await new Promise(setImmediate);
    expect(unhandled).not.toHaveBeenCalled();
  });
});

describe('what a token store gives', () => {
  it.each([
    null,
    'a token',
    { value: SECRET },
    { ...tokenOf(), value: '' },
    { ...tokenOf(), expiresAt: '2030' },
  ])('is no token when it is %j', async (answer) => {
    expect(await guarded(() => answer).get('anna')).toBeUndefined();
  });

  it('is copied, and so is what it is given', async () => {
    const [inner, token] = [new PlainStore(), tokenOf()];
    const store = new GuardedTokenStore(inner);
    await store.set('anna', token);
    token.value = 'changed';
    const got = await store.get('anna');
    expect(got).toEqual(tokenOf());
    expect(got).not.toBe(inner.rows.get('anna'));
  });
});
