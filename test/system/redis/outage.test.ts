import { randomUUID } from 'node:crypto';
import { RedisCache, RedisHolderStore, RedisTokenStore } from 'marketgate/redis';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { everythingOf, rejection } from '../../support/errors.js';
import { redisIsMissing, SOON, TROUBLES } from '../../support/redis-server.js';
import { HOUR, SECRET, tokenOf } from '../../unit/stores/support.js';
import { EveryClient, type Opened } from './support/every-client.js';

/** Milliseconds: the deadline of a store while Redis is in trouble, and one that nothing misses. */
const SHORT = 40;
const LONG = 15_000;

const KEY = `key-${SECRET}`;
const BIG = `${SECRET}${'x'.repeat(50_000)}`;
const token = { ...tokenOf(SECRET), expiresAt: Date.now() + HOUR };

/** Stores and a cache, whose calls take that many milliseconds at most. */
const storesOf = ({ client }: Opened, timeout: number) => ({
  store: new RedisTokenStore({ client, timeout }),
  cache: new RedisCache({ client, timeout }),
  holders: new RedisHolderStore({ client, timeout, secret: 'x'.repeat(32) }),
});

function callsOn({ store, cache, holders }: ReturnType<typeof storesOf>) {
  const odd = `${KEY}${randomUUID()}`;
  const writes = [
    () => store.set(KEY, token),
    () => store.claim(odd, HOUR),
    () => cache.write(KEY, BIG, HOUR, 2),
    () => cache.lock(odd, HOUR),
    () => holders.take(odd, SECRET, 1),
  ];
  const others = [
    () => store.delete(odd),
    () => cache.delete(odd),
    () => cache.publish(KEY),
    () => cache.read(KEY),
    () => holders.holders(KEY),
    () => holders.release(odd),
  ];
  return { writes, others, all: [() => store.get(KEY), ...writes, ...others] };
}

describe.skipIf(redisIsMissing())('with all kinds of clients', () => {
  let clients: EveryClient;
  beforeEach(async () => {
    clients = await EveryClient.open();
  });
  afterEach(() => clients?.close());

  it.each<[keyof typeof TROUBLES, 'all' | 'writes', RegExp, number]>([
    ['killed', 'all', /was not sent|did not answer|failed/, SHORT],
    ['frozen', 'all', /did not answer|failed/, SHORT],
    ['full', 'writes', /\(OOM\)/, LONG],
  ])(
    '%s: %s fail without a secret, and all is well afterwards',
    async (what, failing, words, timeout) => {
      await clients.each(async (opened) => {
        const { store, cache } = storesOf(opened, LONG);
        await cache.write(KEY, 'before', HOUR, 1);
        await store.set(KEY, token);
      });
      await clients.onServers(TROUBLES[what].begin);
      try {
        await clients.each(async (opened) => {
          const stores = storesOf(opened, timeout);
          const calls = callsOn(stores);
          if (failing === 'writes') {
            expect((await stores.cache.read(KEY)).value).toBe('before');
            expect(await stores.store.get(KEY)).toEqual(token);
            await Promise.all(calls.others.map((call) => call()));
          }
          // The second time the client knows already that something is wrong.
          for (const _round of [1, 2]) {
            for (const error of await Promise.all(
              calls[failing].map((call) => rejection(call())),
            )) {
              expect(error.code).toBe('store_unavailable');
              expect(error.message).toMatch(words);
              expect(everythingOf(error)).not.toContain(SECRET);
            }
          }
        });
      } finally {
        await clients.onServers(TROUBLES[what].end);
      }
      await clients.each(async (opened, kind) => {
        const { store, cache } = storesOf(opened, LONG);
        await vi.waitFor(async () => {
          await cache.write(kind, 'after', HOUR, 3);
          expect((await cache.read(kind)).value).toBe('after');
          expect(await store.claim(randomUUID(), HOUR)).toBe(true);
        }, SOON);
      });
    },
  );

  it('a client that was closed fails at once, and says so', async () => {
    clients.close();
    await clients.each(async (opened) => {
      const { store, cache } = storesOf(opened, SHORT);
      await vi.waitFor(
        () => expect(store.get(KEY)).rejects.toThrow('the client is not connected'),
        SOON,
      );
      await expect(cache.read(KEY)).rejects.toThrow('RedisCache.read was not sent');
    });
  });
});
