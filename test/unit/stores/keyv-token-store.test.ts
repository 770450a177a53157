import { EventEmitter } from 'node:events';
import Keyv from 'keyv';
import { KeyvTokenStore } from 'marketgate/keyv';
import { describe, expect, it } from 'vitest';
import { everythingOf, rejection } from '../../support/errors.js';
import { hear } from '../../support/hear.js';
import { HOUR, NOW, SECRET, tokenOf } from './support.js';

const clock = () => NOW;

/** An adapter like those on npm. `swallows`: it catches its errors and only emits them, as @keyv/redis does. */
class Adapter extends EventEmitter {
  readonly opts = {};
  readonly rows = new Map<string, string>();
  readonly ttls: (number | undefined)[] = [];
  namespace?: string;
  isDown = false;

  constructor(readonly swallows = false) {
    super();
  }

  get(key: string) {
    return this.#do(() => this.rows.get(key), undefined);
  }
  set(key: string, value: string, ttl?: number) {
    this.ttls.push(ttl);
    return this.#do(() => void this.rows.set(key, value), undefined);
  }
  delete(key: string) {
    return this.#do(() => this.rows.delete(key), false);
  }
  async clear() {}

  async #do<T>(call: () => T, instead: T): Promise<T> {
    if (!this.isDown) return call();
    const failure = { code: 'ECONNREFUSED', args: [SECRET] };
    const error = Object.assign(new Error(`SET ${SECRET}`), failure);
    if (!this.swallows) throw error;
    this.emit('error', error);
    return instead;
  }
}

/** A store on an adapter, and the key and the row of a token in it. */
async function stored(userId: string, adapter = new Adapter(), options = {}) {
  const keyv = new Keyv({ store: adapter, ...options });
  const store = new KeyvTokenStore({ keyv, clock });
  await store.set(userId, tokenOf());
  const [[key, row] = ['', '']] = adapter.rows;
  return { adapter, keyv, store, key, row };
}

describe('a backend of Keyv that is down', () => {
  const cases = [false, true].flatMap((swallows) =>
    [{}, { throwOnErrors: true }, { emitErrors: false }].map((options) => [swallows, options]),
  ) as [boolean, object][];
  it.each(cases)(
    'rejects, and never says "no token": it swallows its errors: %s, with %j',
    async (swallows, options) => {
      const { adapter, keyv, store } = await stored('anna', new Adapter(swallows), options);
      for (const [method, call] of Object.entries({
        get: () => store.get('anna'),
        set: () => store.set('anna', tokenOf()),
        delete: () => store.delete('anna'),
      })) {
        adapter.isDown = true;
        const error = await rejection(call());
        expect(error.code).toBe('store_unavailable');
        // Keyv can keep even the kind of error to itself, and say nothing but `false`.
        const words = '(failed .Error, ECONNREFUSED.|was refused by Keyv);';
        expect(error.message).toMatch(new RegExp(`^KeyvTokenStore.${method} ${words}`));
        expect(everythingOf(error)).not.toContain(SECRET);
        adapter.isDown = false;
        expect(await store.get('anna')).toEqual(tokenOf());
      }
      expect(keyv.throwOnErrors, 'a setting of the app').toBe('throwOnErrors' in options);
    },
  );

  it('rejects a read of Keyv 6, which tells its failure by an event only', async () => {
    const keyv = Object.assign(new EventEmitter(), {
      get: async () => undefined,
      set: async () => true,
      delete: async () => true,
      getRaw: async () => ({ value: keyv.emit('error', new Error(SECRET)) ? null : SECRET }),
    });
    const error = await rejection(new KeyvTokenStore({ keyv, clock }).get('anna'));
    expect(error.message).toContain('KeyvTokenStore.get failed (Error)');
  });
});

describe('a row of KeyvTokenStore', () => {
  it('is versioned JSON under the prefix and the user id, for as long as the token lasts', async () => {
    const { adapter, keyv, key, row } = await stored('1042');
    expect(key).toBe('keyv:marketgate:token:1042');
    expect(JSON.parse(JSON.parse(row).value)).toEqual({ v: 1, user: '1042', ...tokenOf() });
    expect(adapter.ttls).toEqual([HOUR]);
    // A backend can keep it longer.
    const later = new KeyvTokenStore({ keyv, clock: () => NOW + HOUR });
    expect(await later.get('1042')).toBeUndefined();
  });

  it.each(['Anna', 'a:b', 'x'.repeat(65), '~'])(
    'has a hash for an id that a backend could mix up with another: %s',
    async (userId) => {
      const { key, store } = await stored(userId);
      expect(key).toMatch(/^keyv:marketgate:token:~[0-9a-f]{64}$/);
      const messages = hear('drift');
      expect(await store.get(userId)).toEqual(tokenOf());
      expect(await store.get('bert')).toBeUndefined();
      expect(messages).toEqual([]);
    },
  );

  const token = { v: 1, user: 'anna', ...tokenOf() };
  it.each<[what: string, value: unknown]>([
    ['not JSON', 'not JSON'],
    ['null', 'null'],
    ['no text', tokenOf()],
    ['of a newer version', JSON.stringify({ ...token, v: 2 })],
    ['without its times', JSON.stringify({ v: 1, user: 'anna', value: SECRET })],
    ['of another user', JSON.stringify({ ...token, user: 'bert' })],
  ])('that is %s is no token, is reported, and stays', async (_what, value) => {
    const { adapter, key, store } = await stored('anna');
    const row = JSON.stringify({ value });
    adapter.rows.set(key, row);
    const messages = hear('drift');
    expect(await store.get('anna')).toBeUndefined();
    const expected = 'a token of this user, as this store writes it';
    expect(messages).toEqual([
      { endpoint: 'KeyvTokenStore.get', kind: 'unreadable', path: 'value', expected },
    ]);
    expect(adapter.rows.get(key)).toBe(row);
    await store.set('anna', tokenOf());
    expect(await store.get('anna')).toEqual(tokenOf());
  });
});
