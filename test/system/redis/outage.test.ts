import { randomUUID } from 'node:crypto';
import { RedisCache, RedisHolderStore, RedisTokenStore } from 'marketgate/redis';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { guardHolderStore } from '../../../src/stores/holder-store.js';
import { GuardedTokenStore } from '../../../src/stores/token-store.js';
import { everythingOf, rejection } from '../../support/errors.js';
import { redisIsMissing, SOON, TROUBLES } from '../../support/redis-server.js';
import { HOUR, SECRET, tokenOf } from '../../unit/stores/support.js';
import { EveryClient, type Opened } from './support/every-client.js';

const KEY = `key-${SECRET}`;
const BIG = `${SECRET}${'x'.repeat(50_000)}`;
const token = { ...tokenOf(SECRET), expiresAt: Date.now() + HOUR };

const storesOf = ({ client, subscriber }: Opened) => ({
  store: new RedisTokenStore({ client }),
  cache: new RedisCache({ client, subscriber }),
  holders: new RedisHolderStore({ client, secret: 'x'.repeat(32) }),
});

/** Calls to the stores themselves, which have no deadline. */
function callsOn({ store, cache, holders }: ReturnType<typeof storesOf>) {
  const odd = `${KEY}${randomUUID()}`;
  return {
    writes: [
      () => store.set(KEY, token),
      () => cache.write(KEY, BIG, 0, HOUR, ''),
      () => holders.take(odd, SECRET, 1),
    ],
    others: [
      () => store.delete(odd),
      () => cache.withdraw(odd, 'no', HOUR),
      () => cache.publish(KEY),
      () => cache.read(KEY),
      () => holders.holders(KEY),
      () => holders.release(odd),
    ],
  };
}

/** Calls as the package makes them. */
function guardedCallsOn({ store, holders }: ReturnType<typeof storesOf>) {
  const [tokens, holding] = [new GuardedTokenStore(store), guardHolderStore('test', holders)];
  return [() => tokens.get(KEY), () => tokens.set(KEY, token), () => holding.take(KEY, SECRET, 1)];
}

describe.skipIf(redisIsMissing())('with all kinds of clients', () => {
  let clients: EveryClient;
  beforeEach(async () => {
    clients = await EveryClient.open();
  });
  afterEach(() => clients?.close());

  /** Everything works again. */
  const allIsWell = () =>
    clients.each(async (opened, kind) => {
      const { store, cache } = storesOf(opened);
      await vi.waitFor(async () => {
        await cache.write(kind, 'after', 0, HOUR, (await cache.read(kind)).lease);
        expect((await cache.read(kind)).value).toBe('after');
        await store.set(KEY, token);
      }, SOON);
    });

  it.each(['killed', 'frozen'] as const)(
    '%s: calls fail within the deadline of who makes them, without a secret, and all is well afterwards',
    async (what) => {
      await clients.onServers(TROUBLES[what].begin);
      try {
        await clients.each(async (opened) => {
          const calls = guardedCallsOn(storesOf(opened));
          const failing = calls.map((call) => rejection(call()));
          // The second time the client knows already that something is wrong.
          await new Promise((resolve) => setTimeout(resolve, 300));
          failing.push(...calls.map((call) => rejection(call())));
          for (const error of await Promise.all(failing)) {
            expect(error.code).toBe('store_unavailable');
            expect(error.message).toMatch(/did not answer within 2000 ms|failed/);
            expect(everythingOf(error)).not.toContain(SECRET);
          }
        });
      } finally {
        await clients.onServers(TROUBLES[what].end);
      }
      await allIsWell();
    },
  );

  it('full: writes fail without a secret and say why, and all is well afterwards', async () => {
    await clients.each(async (opened) => {
      const { store, cache } = storesOf(opened);
      await cache.write(KEY, 'before', 0, HOUR, '');
      await store.set(KEY, token);
    });
    await clients.onServers(TROUBLES.full.begin);
    try {
      await clients.each(async (opened) => {
        const stores = storesOf(opened);
        const { writes, others } = callsOn(stores);
        expect((await stores.cache.read(KEY)).value).toBe('before');
        expect(await stores.store.get(KEY)).toEqual(token);
        await Promise.all(others.map((call) => call()));
        for (const error of await Promise.all(writes.map((call) => rejection(call())))) {
          expect(error.message).toContain('failed (OOM)');
          expect(everythingOf(error)).not.toContain(SECRET);
        }
      });
    } finally {
      await clients.onServers(TROUBLES.full.end);
    }
    await allIsWell();
  });

  it('a client that was closed fails at once', async () => {
    clients.close();
    await clients.each(async (opened) => {
      const { store, cache } = storesOf(opened);
      for (const call of [() => store.get(KEY), () => cache.read(KEY)]) {
        expect((await rejection(call())).message).toMatch(/^Redis\w+\.(get|read) failed \(/);
      }
    });
  });
});
