import { EncryptedTokenStore, MarketgateError } from 'marketgate';
import { KeyvTokenStore } from 'marketgate/keyv';
import { describe, expect, it, vi } from 'vitest';
import { GuardedTokenStore } from '../../../src/stores/token-store.js';
import { everythingOf, rejection } from '../../support/errors.js';
import { unhandledRejections } from '../../support/hear.js';
import { PlainStore, SECRET, tokenOf } from './support.js';

const CALLS: Record<string, (store: GuardedTokenStore) => Promise<unknown>> = {
  get: (store) => store.get('anna'),
  set: (store) => store.set('anna', tokenOf()),
  delete: (store) => store.delete('anna'),
};

/** A guarded store whose every method does the same. */
function guarded(behave: () => unknown): GuardedTokenStore {
  const method = behave as () => Promise<never>;
  return new GuardedTokenStore({ get: method, set: method, delete: method });
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
    for (const [method, call] of Object.entries(CALLS)) {
      const error = await rejection(call(guarded(behave)));
      expect(error).toMatchObject({ code: 'store_unavailable', status: 503 });
      expect(error.message).toContain(`tokenStore.${method} failed`);
      expect(everythingOf(error)).not.toContain(SECRET);
    }
  });

  it('with a store_unavailable of its own is named by that, and an encrypted store passes it on', async () => {
    const refuse = () => Promise.reject(Object.assign(new Error('x'), { code: 'ECONNREFUSED' }));
    const inner = new KeyvTokenStore({ keyv: { get: refuse, set: refuse, delete: refuse } });
    const encrypted = new EncryptedTokenStore(inner, { keys: [Buffer.alloc(32, 7)] });
    for (const method of ['get', 'set', 'delete']) {
      const error = await rejection(CALLS[method]?.(new GuardedTokenStore(encrypted)) as never);
      expect(error.message).toBe(
        `KeyvTokenStore.${method} failed (Error, ECONNREFUSED); look at the store and its connection (npx marketgate explain store_unavailable)`,
      );
    }
  });

  const withCode = (code: unknown) => Object.assign(new TypeError('x'), { code });
  it.each<[unknown, string]>([
    [new Error('SECRET the rest'), 'failed (Error)'],
    [withCode('57P01'), 'failed (TypeError, 57P01)'],
    [withCode(11000), 'failed (TypeError, 11000)'],
    [withCode('token-1 ABC'), 'failed (TypeError)'],
    [withCode('ABC token-1'), 'failed (TypeError)'],
    [Object.assign(new Error('x'), { name: 'SET token-1 Error' }), 'failed (Error)'],
    [Object.assign(new Error('x'), { name: 'RedisError: SET token-1' }), 'failed (Error)'],
    [new MarketgateError('login_required', SECRET), 'failed (MarketgateError)'],
  ])('with %j is named by its code or its class, and by no more', async (error, words) => {
    const { message } = await rejection(guarded(() => Promise.reject(error)).get('anna'));
    expect(message).toContain(`tokenStore.get ${words};`);
  });

  it('and never answers makes each call store_unavailable after two seconds', async () => {
    vi.useFakeTimers();
    const unhandled = unhandledRejections();
    let fail = (_error: Error): void => {};
    const store = guarded(
      () =>
        new Promise((_resolve, reject) => {
          fail = reject;
        }),
    );
    for (const [method, call] of Object.entries(CALLS)) {
      const outcome = rejection(call(store));
      await vi.advanceTimersByTimeAsync(2001);
      expect((await outcome).message).toContain(
        `tokenStore.${method} did not answer within 2000 ms`,
      );
      fail(new Error(SECRET));
    }
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
    { ...tokenOf(), expiresAt: Number.NaN },
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
