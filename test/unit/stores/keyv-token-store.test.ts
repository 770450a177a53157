import { EventEmitter } from 'node:events';
import { inspect } from 'node:util';
import Keyv from 'keyv';
import { type KeyvLike, KeyvTokenStore } from 'marketgate/keyv';
import { describe, expect, it, vi } from 'vitest';
import { deferred } from '../../support/deferred.js';
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

/** One that catches its errors and tells them by an event, as @keyv/redis does. */
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

const METHODS: Record<string, (store: KeyvTokenStore) => Promise<unknown>> = {
  get: (store) => store.get('anna'),
  set: (store) => store.set('anna', tokenOf()),
  delete: (store) => store.delete('anna'),
};

describe('a backend that is down', () => {
  const adapters = { 'an adapter that throws': Adapter, 'one that swallows': SwallowingAdapter };
  const settings = {
    'the default': {},
    'throwOnErrors: true': { throwOnErrors: true },
    'emitErrors: false': { emitErrors: false },
  };
  for (const [what, Kind] of Object.entries(adapters)) {
    for (const [which, options] of Object.entries(settings)) {
      it.each(Object.keys(METHODS))(
        `behind ${what}, with ${which}, makes %s reject and not say "no token"`,
        async (method) => {
          const adapter = new Kind();
          const store = new KeyvTokenStore({
            keyv: new Keyv({ store: adapter, ...options }),
            clock,
          });
          await store.set('anna', tokenOf());
          adapter.before = down;
          const error = await rejection(METHODS[method]?.(store) ?? Promise.resolve());
          expect(error.code).toBe('store_unavailable');
          // Keyv can keep even the kind of error to itself, and say nothing but `false`.
          expect(error.message).toMatch(
            new RegExp(
              `^KeyvTokenStore.${method} (failed .Error, ECONNREFUSED.|was refused by Keyv);`,
            ),
          );
          expect(everythingOf(error)).not.toContain(SECRET);
          adapter.before = async () => {};
          expect(await store.get('anna')).toEqual(tokenOf());
        },
      );
    }
  }

  it('fails a delete that could not be looked after, although Keyv says only false', async () => {
    const keyv = { ...EMPTY, get: async () => '{}', delete: async () => false };
    const error = await rejection(new KeyvTokenStore({ keyv, clock }).delete('anna'));
    expect(error.message).toContain('KeyvTokenStore.delete was refused by Keyv');
  });

  it('fails a set to which Keyv says false', async () => {
    const keyv = { ...EMPTY, set: async () => false };
    const error = await rejection(new KeyvTokenStore({ keyv, clock }).set('anna', tokenOf()));
    expect(error.message).toContain('KeyvTokenStore.set was refused by Keyv');
  });

  it('is a rejection also where a method throws at once', async () => {
    const bang = (): never => {
      throw new Error(SECRET);
    };
    const store = new KeyvTokenStore({ keyv: { get: bang, set: bang, delete: bang }, clock });
    for (const run of Object.values(METHODS)) {
      expect(everythingOf(await rejection(run(store)))).not.toContain(SECRET);
    }
  });

  it('does not make a value that was read unbelievable', async () => {
    const adapter = new Adapter();
    const store = new KeyvTokenStore({ keyv: new Keyv({ store: adapter }), clock });
    await store.set('anna', tokenOf());
    adapter.before = async () => void adapter.emit('error', new Error('a connection was lost'));
    expect(await store.get('anna')).toEqual(tokenOf());
    expect((await rejection(store.get('bert'))).code).toBe('store_unavailable');
  });
});

describe("the app's own Keyv", () => {
  it('keeps its settings and listeners', async () => {
    const adapter = new Adapter();
    const keyv = new Keyv({ store: adapter });
    const before = { keyv: keyv.listeners('error').length, store: adapter.listenerCount('error') };
    const store = new KeyvTokenStore({ keyv, clock });
    await store.set('anna', tokenOf());
    adapter.before = down;
    await Promise.all(Array.from({ length: 200 }, () => rejection(store.get('anna'))));
    expect(keyv.throwOnErrors).toBe(false);
    expect(await keyv.get('other')).toBeUndefined();
    expect(keyv.listeners('error')).toHaveLength(before.keyv);
    expect(adapter.listenerCount('error')).toBe(before.store);
  });

  it('sees no warning about listeners, however many calls there are at once', async () => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => {});
    const keyv = new Keyv();
    const on = vi.spyOn(keyv, 'on');
    const store = new KeyvTokenStore({ keyv, clock });
    await Promise.all(Array.from({ length: 500 }, (_, user) => store.get(`${user}`)));
    expect(on).toHaveBeenCalledTimes(1);
    expect(warn).not.toHaveBeenCalled();
    warn.mockRestore();
  });

  it('goes on throwing what nobody listens to, where it is made to (Keyv 6)', async () => {
    const store = new Adapter();
    const keyv = Object.assign(new Keyv({ store }), { throwOnEmptyListeners: true });
    const [on, onStore] = [vi.spyOn(keyv, 'on'), vi.spyOn(store, 'on')];
    await new KeyvTokenStore({ keyv, clock }).get('anna');
    expect(on).not.toHaveBeenCalled();
    expect(onStore).toHaveBeenCalledTimes(1);
    keyv.on('error', () => {});
    await new KeyvTokenStore({ keyv, clock }).get('anna');
    expect(on).toHaveBeenCalledTimes(2);
    expect(keyv.listeners('error')).toHaveLength(1);
  });

  it.each<[string, unknown]>([
    ['is missing', undefined],
    ['is null', null],
    ['is a Map', new Map()],
    ['could not be left again', { on: vi.fn() }],
    ['cannot be listened to', { off: vi.fn() }],
  ])('is not needed as an emitter: its adapter %s', async (_what, store) => {
    const keyv = { ...EMPTY, store } as KeyvLike;
    expect(await new KeyvTokenStore({ keyv, clock }).get('anna')).toBeUndefined();
  });

  it('is listened to for one call when another has ended, and no longer', async () => {
    const ended = deferred();
    const get = async (key: string) => (key.endsWith('slow') ? ended.promise : undefined);
    const keyv = Object.assign(new EventEmitter(), EMPTY, { get });
    const store = new KeyvTokenStore({ keyv, clock });
    const slow = rejection(store.get('slow'));
    await store.get('quick');
    expect(keyv.listenerCount('error')).toBe(1);
    for (const name of ['SyntaxError', 'RangeError', 'TypeError']) {
      keyv.emit('error', Object.assign(new Error('x'), { name }));
    }
    ended.resolve();
    expect((await slow).message).toContain('KeyvTokenStore.get failed (RangeError)');
    expect(keyv.listenerCount('error')).toBe(0);
  });

  it('that cannot parse a row has none, also where SyntaxError is another class (jest)', async () => {
    const garbled = async (): Promise<never> => Promise.reject({ name: 'SyntaxError' });
    const keyv = { ...EMPTY, get: garbled, delete: async () => false };
    const store = new KeyvTokenStore({ keyv, clock });
    const messages = hear('drift');
    expect(await store.get('anna')).toBeUndefined();
    expect(messages).toHaveLength(1);
    expect((await rejection(store.delete('anna'))).message).toContain('refused by Keyv');
  });

  it('of version 6, which tells a failed read by an event only, is understood', async () => {
    const keyv = Object.assign(new EventEmitter(), EMPTY, {
      throwOnEmptyListeners: true,
      getRaw: async () => ({ value: keyv.emit('error', new Error(SECRET)) ? null : SECRET }),
    });
    keyv.on('error', () => {});
    const error = await rejection(new KeyvTokenStore({ keyv, clock }).get('anna'));
    expect(error.message).toContain('KeyvTokenStore.get failed (Error)');
  });
});

describe('what is stored', () => {
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

  it.each(['Anna', 'a b', 'a:b', '', 'ä', 'x'.repeat(65), '~', 'a--b', '../a'])(
    'is under a hash where the id is %j',
    async (userId) => {
      const { key, store } = await stored(userId);
      expect(key).toMatch(/^keyv:marketgate:token:~[0-9a-f]{64}$/);
      expect(await store.get(userId)).toEqual(tokenOf());
    },
  );

  it('serves no other user, should a backend mix up keys', async () => {
    const { adapter, store, row } = await stored('anna');
    adapter.rows.set('keyv:marketgate:token:bert', row);
    const messages = hear('drift');
    expect(await store.get('bert')).toBeUndefined();
    expect(messages).toEqual([
      {
        endpoint: 'KeyvTokenStore.get',
        kind: 'unreadable',
        path: 'value',
        expected: 'a token of this user, as this store writes it',
      },
    ]);
  });

  it.each([
    'not JSON',
    '{"v":1',
    JSON.stringify({ value: 'not JSON either' }),
    JSON.stringify({ value: 42 }),
    JSON.stringify({ value: { ...tokenOf() } }),
    JSON.stringify({ value: 'null' }),
    JSON.stringify({ value: '[]' }),
    JSON.stringify({ value: JSON.stringify({ v: 2, user: 'anna', ...tokenOf() }) }),
    JSON.stringify({ value: JSON.stringify({ v: 1, user: 'anna', value: SECRET }) }),
    JSON.stringify({ value: JSON.stringify({ v: 1, ...tokenOf() }) }),
    JSON.stringify({ value: JSON.stringify({ user: 'anna', ...tokenOf() }) }),
  ])('counts as no token and is reported when it is %s', async (row) => {
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

  it('is not reported when there is nothing, or a row in order', async () => {
    const { store } = await stored('anna');
    const messages = hear('drift');
    expect(await store.get('anna')).toEqual(tokenOf());
    expect(await store.get('bert')).toBeUndefined();
    expect(messages).toEqual([]);
  });

  it.each([
    [HOUR - 1, tokenOf()],
    [HOUR, undefined],
  ])('is read until expiresAt by the clock: after %d ms', async (elapsed, expected) => {
    const { adapter } = await stored('anna');
    const keyv = new Keyv({ store: adapter });
    const later = new KeyvTokenStore({ keyv, clock: () => NOW + elapsed });
    expect(await later.get('anna')).toEqual(expected);
  });

  it('is deleted, not stored for ever, where the token is over to the millisecond', async () => {
    const { adapter, store } = await stored('anna');
    await store.set('anna', tokenOf(SECRET, NOW - HOUR));
    expect(adapter.rows.size).toBe(0);
  });

  it('is not shown by inspect or JSON of the store', async () => {
    const { store } = await stored('anna');
    expect(inspect(store, { showHidden: true, depth: 9 }) + JSON.stringify(store)).not.toContain(
      SECRET,
    );
  });
});

describe('options of KeyvTokenStore', () => {
  it('claims are left out, for Keyv cannot make them', () => {
    expect('claim' in new KeyvTokenStore({ keyv: new Keyv() })).toBe(false);
  });

  it.each<[string, unknown, string]>([
    ['none', undefined, 'option "keyv" must be a Keyv'],
    ['no keyv', {}, 'option "keyv" must be a Keyv'],
    ['a URL', { keyv: 'postgres://x' }, 'option "keyv" must be a Keyv'],
    ['half a keyv', { keyv: { ...EMPTY, delete: undefined } }, '"delete" is missing'],
    ['a Map', { keyv: new Map() }, 'option "keyv" must be a Keyv'],
    ['a Keyv 5.4', { keyv: { ...EMPTY, throwOnErrors: false } }, 'option "keyv" is of a version'],
    ['a prefix that is no text', { keyv: EMPTY, prefix: 5 }, 'option "prefix" must be'],
    ['a blank prefix', { keyv: EMPTY, prefix: ' ' }, 'option "prefix" must be'],
    ['a wrong clock', { keyv: EMPTY, clock: 7 }, 'option "clock"'],
    ['a typing error', { keyv: EMPTY, prefx: 'x' }, 'unknown option "prefx"'],
  ])('that are wrong (%s) are a TypeError that says so', (_what, options, message) => {
    const make = () => new KeyvTokenStore(options as { keyv: KeyvLike });
    expect(make).toThrow(TypeError);
    expect(make).toThrow(message);
  });

  it('take a Keyv 5.4 that is told to throw', () => {
    const keyv = { ...EMPTY, throwOnErrors: true } as KeyvLike;
    expect(() => new KeyvTokenStore({ keyv })).not.toThrow();
  });
});
