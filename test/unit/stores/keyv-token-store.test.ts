import { EventEmitter } from 'node:events';
import Keyv from 'keyv';
import { KeyvTokenStore } from 'marketgate/keyv';
import { describe, expect, it } from 'vitest';
import { everythingOf, rejection } from '../../support/errors.js';
import { hear } from '../../support/hear.js';
import { HOUR, NOW, SECRET, tokenOf } from './support.js';

const clock = () => NOW;

/** As much of a Keyv as is needed, with nothing in it. */
const EMPTY = { get: async () => undefined, set: async () => true, delete: async () => true };

/** An adapter like those on npm, whose calls can be made to fail. */
class Adapter extends EventEmitter {
  readonly opts = {};
  readonly rows = new Map<string, string>();
  readonly ttls: (number | undefined)[] = [];
  namespace?: string;
  /** What each call does before it does anything. */
  before = async (): Promise<void> => {};

  async get(key: string): Promise<string | undefined> {
    await this.before();
    return this.rows.get(key);
  }
  async set(key: string, value: string, ttl?: number): Promise<void> {
    await this.before();
    this.ttls.push(ttl);
    this.rows.set(key, value);
  }
  async delete(key: string): Promise<boolean> {
    await this.before();
    return this.rows.delete(key);
  }
  async clear(): Promise<void> {
    this.rows.clear();
  }
}

/** One that catches its errors and only emits them, as @keyv/redis does. */
class SwallowingAdapter extends Adapter {
  override get(key: string): Promise<string | undefined> {
    return this.#swallow(super.get(key), undefined);
  }
  override set(key: string, value: string, ttl?: number): Promise<void> {
    return this.#swallow(super.set(key, value, ttl), undefined);
  }
  override delete(key: string): Promise<boolean> {
    return this.#swallow(super.delete(key), false);
  }
  #swallow<T>(call: Promise<T>, instead: T): Promise<T> {
    return call.catch((error: unknown) => {
      this.emit('error', error);
      return instead;
    });
  }
}

const down = async () => {
  throw Object.assign(new Error(`SET ${SECRET}`), { code: 'ECONNREFUSED', args: [SECRET] });
};

const CALLS: Record<string, (store: KeyvTokenStore) => Promise<unknown>> = {
  get: (store) => store.get('anna'),
  set: (store) => store.set('anna', tokenOf()),
  delete: (store) => store.delete('anna'),
};

describe('a backend of Keyv that is down', () => {
  const cases = [Adapter, SwallowingAdapter].flatMap((Kind) =>
    [{}, { throwOnErrors: true }, { emitErrors: false }].map((options) => [Kind, options] as const),
  );
  it.each(cases)('rejects, and never says "no token": behind %o with %j', async (Kind, options) => {
    const adapter = new Kind();
    const store = new KeyvTokenStore({ keyv: new Keyv({ store: adapter, ...options }), clock });
    await store.set('anna', tokenOf());
    for (const [method, call] of Object.entries(CALLS)) {
      adapter.before = down;
      const error = await rejection(call(store));
      expect(error.code).toBe('store_unavailable');
      // Keyv can keep even the kind of error to itself, and say nothing but `false`.
      const words = '(failed .Error, ECONNREFUSED.|was refused by Keyv);';
      expect(error.message).toMatch(new RegExp(`^KeyvTokenStore.${method} ${words}`));
      expect(everythingOf(error)).not.toContain(SECRET);
      adapter.before = async () => {};
      expect(await store.get('anna')).toEqual(tokenOf());
    }
  });

  it('rejects a read of Keyv 6, which tells its failure by an event only', async () => {
    const keyv = Object.assign(new EventEmitter(), EMPTY, {
      getRaw: async () => ({ value: keyv.emit('error', new Error(SECRET)) ? null : SECRET }),
    });
    const error = await rejection(new KeyvTokenStore({ keyv, clock }).get('anna'));
    expect(error.message).toContain('KeyvTokenStore.get failed (Error)');
  });
});

it('the Keyv of the app keeps its settings', async () => {
  const adapter = new Adapter();
  const keyv = new Keyv({ store: adapter });
  const store = new KeyvTokenStore({ keyv, clock });
  adapter.before = down;
  await rejection(store.get('anna'));
  expect(keyv.throwOnErrors).toBe(false);
  expect(await keyv.get('other')).toBeUndefined();
});

describe('a row of KeyvTokenStore', () => {
  async function stored(userId: string) {
    const adapter = new Adapter();
    const store = new KeyvTokenStore({ keyv: new Keyv({ store: adapter }), clock });
    await store.set(userId, tokenOf());
    const [[key, row] = ['', '']] = adapter.rows;
    return { adapter, store, key, row };
  }

  it('is versioned JSON under the prefix and the user id, for as long as the token lasts', async () => {
    const { adapter, key, row } = await stored('1042');
    expect(key).toBe('keyv:marketgate:token:1042');
    expect(JSON.parse(JSON.parse(row).value)).toEqual({ v: 1, user: '1042', ...tokenOf() });
    expect(adapter.ttls).toEqual([HOUR]);
  });

  it.each(['Anna', 'a:b', '', 'x'.repeat(65), '~'])(
    'is under a hash where the id is %j',
    async (userId) => {
      const { key, store } = await stored(userId);
      expect(key).toMatch(/^keyv:marketgate:token:~[0-9a-f]{64}$/);
      expect(await store.get(userId)).toEqual(tokenOf());
    },
  );

  it('is not reported where it is in order, or not there', async () => {
    const { store } = await stored('anna');
    const messages = hear('drift');
    expect(await store.get('anna')).toEqual(tokenOf());
    expect(await store.get('bert')).toBeUndefined();
    expect(messages).toEqual([]);
  });

  it('serves no other user, should a backend mix up keys', async () => {
    const { adapter, store, row } = await stored('anna');
    adapter.rows.set('keyv:marketgate:token:bert', row);
    const messages = hear('drift');
    expect(await store.get('bert')).toBeUndefined();
    const expected = 'a token of this user, as this store writes it';
    expect(messages).toEqual([
      { endpoint: 'KeyvTokenStore.get', kind: 'unreadable', path: 'value', expected },
    ]);
  });

  it.each([
    ...['not JSON', 42, { ...tokenOf() }, 'null', '[]'].map((value) => JSON.stringify({ value })),
    ...[
      { v: 2, user: 'anna', ...tokenOf() },
      { v: 1, user: 'anna', value: SECRET },
      { v: 1, ...tokenOf() },
      { user: 'anna', ...tokenOf() },
    ].map((row) => JSON.stringify({ value: JSON.stringify(row) })),
  ])('is no token, is reported and stays where it is %s', async (row) => {
    const { adapter, key, store } = await stored('anna');
    adapter.rows.set(key, row);
    const messages = hear('drift');
    expect(await store.get('anna')).toBeUndefined();
    expect(messages).toHaveLength(1);
    expect(JSON.stringify(messages)).not.toContain(SECRET);
    // A newer version can have written it.
    expect(adapter.rows.get(key)).toBe(row);
    await store.set('anna', tokenOf());
    expect(await store.get('anna')).toEqual(tokenOf());
  });
});
