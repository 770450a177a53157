import { randomUUID } from 'node:crypto';
import { RedisCache, RedisHolderStore, RedisTokenStore } from 'marketgate/redis';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { guardHolderStore } from '../../../src/stores/holder-store.js';
import { GuardedTokenStore } from '../../../src/stores/token-store.js';
import { everythingOf, rejection } from '../../support/errors.js';
import { redisIsMissing, SOON, TROUBLES } from '../../support/redis-server.js';
import { hearWarnings } from '../../support/warnings.js';
import { HOUR, SECRET, tokenOf } from '../../unit/stores/support.js';
import { EveryClient, type Opened } from './support/clients.js';

const KEY = `key-${SECRET}`;
const BIG = `${SECRET}${'x'.repeat(50_000)}`;
const token = tokenOf(SECRET, Date.now());

const storesOf = ({ client, subscriber }: Opened) => ({
  store: new RedisTokenStore({ client }),
  cache: new RedisCache({ client, subscriber }),
  holders: new RedisHolderStore({ client, secret: 'x'.repeat(32) }),
});

describe.skipIf(redisIsMissing())('while Redis is', () => {
  let clients: EveryClient;
  beforeEach(async () => {
    clients = await EveryClient.open();
  });
  afterEach(() => clients?.close());

  /** Brings a trouble upon the servers; in the end, everything works again. */
  async function during(
    what: keyof typeof TROUBLES,
    run: (opened: Opened, kind: string) => Promise<void>,
  ) {
    const { begin, end } = TROUBLES[what];
    await clients.onServers(begin);
    onTestFinished(() => clients.onServers(end));
    await clients.each(run);
    await clients.onServers(end);
    await clients.each(async (opened, kind) => {
      const { store, cache } = storesOf(opened);
      await vi.waitFor(async () => {
        await cache.write(kind, 'after', 0, HOUR, (await cache.read(kind)).lease);
        expect((await cache.read(kind)).value).toBe('after');
        await store.set(KEY, token);
      }, SOON);
    });
  }

  it.each(['killed', 'frozen'] as const)(
    '%s, calls of the package fail within its deadline, without a secret, and all is well afterwards',
    (what) =>
      during(what, async (opened) => {
        const { store, holders } = storesOf(opened);
        const [tokens, holding] = [new GuardedTokenStore(store), guardHolderStore('test', holders)];
        const calls = [
          () => tokens.get(KEY),
          () => tokens.set(KEY, token),
          () => holding.take(KEY, SECRET, 1),
        ];
        for (const error of await Promise.all(calls.map((call) => rejection(call())))) {
          expect(error.code).toBe('store_unavailable');
          expect(error.message).toMatch(/did not answer within 2000 ms|failed/);
          expect(everythingOf(error)).not.toContain(SECRET);
        }
      }),
  );

  it('full, only writes fail: without a secret, by the reason, with one warning; and all is well afterwards', async () => {
    await clients.each(async (opened, kind) => {
      const { store, cache } = storesOf(opened);
      for (const key of [KEY, kind]) await cache.write(key, 'before', 0, HOUR, '');
      await store.set(KEY, token);
    });
    const warnings = hearWarnings();
    await during('full', async (opened, kind) => {
      const { store, cache, holders } = storesOf(opened);
      const odd = `${KEY}${randomUUID()}`;
      expect((await cache.read(KEY)).value).toBe('before');
      expect(await store.get(KEY)).toEqual(token);
      await store.delete(odd);
      await cache.withdraw(kind, 'no', HOUR);
      expect((await cache.read(kind)).value).toBe('no');
      await cache.publish(KEY);
      await holders.holders(KEY);
      await holders.release(odd);
      const writes = {
        'RedisTokenStore.set': () => store.set(KEY, token),
        'RedisCache.write': () => cache.write(KEY, BIG, 0, HOUR, ''),
        'RedisHolderStore.take': () => holders.take(odd, SECRET, 1),
      };
      for (const [name, write] of Object.entries(writes)) {
        const error = await rejection(write());
        expect(error.message).toContain(`${name} failed (OOM); look at the store`);
        expect(everythingOf(error)).not.toContain(SECRET);
      }
    });
    expect(warnings).toEqual(['MARKETGATE_REDIS_REFUSES']);
  });

  it('not connected any more, each call fails at once', async () => {
    clients.close();
    await clients.each(async (opened) => {
      const { store, cache } = storesOf(opened);
      for (const call of [() => store.get(KEY), () => cache.read(KEY)]) {
        expect((await rejection(call())).message).toMatch(/^Redis\w+\.(get|read) failed \(/);
      }
    });
  });
});
