import { randomUUID } from 'node:crypto';
import { RedisCache, RedisHolderStore, RedisTokenStore } from 'marketgate/redis';
import { describeHolderStore, describeSharedCache, describeTokenStore } from 'marketgate/testing';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import {
  CLIENT_KINDS,
  CLIENTS,
  isClusterKind,
  type RedisServer,
  redisIsMissing,
  SOON,
  sharedRedis,
} from '../../support/redis-server.js';

// Enough for a machine that is busy with other tests.
const timeout = 10_000;
const HOUR = 3_600_000;

describe.skipIf(redisIsMissing()).each(CLIENT_KINDS)('with %s', (kind) => {
  const prefix = `test:${randomUUID()}:`;
  let server: RedisServer;
  let here: Awaited<ReturnType<(typeof CLIENTS)[typeof kind]>>;
  let there: typeof here;
  let passed = 0;
  const time = {
    clock: () => Date.now() + passed,
    advance: async (milliseconds: number) => {
      passed += milliseconds;
      await server.pass(milliseconds);
    },
  };

  beforeAll(async () => {
    server = await sharedRedis({ cluster: isClusterKind(kind) });
    [here, there] = await Promise.all([CLIENTS[kind](server.url), CLIENTS[kind](server.url)]);
  });
  afterAll(() => {
    here?.close();
    there?.close();
  });

  const storeOf = ({ client }: typeof here) =>
    new RedisTokenStore({ client, prefix, timeout, clock: time.clock });
  const holdersOf = ({ client }: typeof here) =>
    new RedisHolderStore({ client, prefix, timeout, secret: 'x'.repeat(32) });
  const cacheOf = ({ client }: typeof here) => new RedisCache({ client, prefix, timeout });

  describeTokenStore('RedisTokenStore', () => ({ store: storeOf(here), ...time }), {
    describe,
    it,
  });
  describeHolderStore(
    'RedisHolderStore',
    () => ({ store: holdersOf(here), peer: holdersOf(there) }),
    { describe, it },
  );
  describeSharedCache(
    'RedisCache',
    () => ({ cache: cacheOf(here), peer: cacheOf(there), ...time }),
    { describe, it },
  );

  it('expires values, locks, tokens and claims by the time of Redis', async () => {
    const store = new RedisTokenStore({ client: here.client, prefix, timeout, clock: () => 0 });
    const [cache, peer] = [cacheOf(here), cacheOf(there)];
    const key = randomUUID();
    const late = await cache.lock(key, 40);
    await cache.set(key, 'value', 40);
    await store.set('anna', { value: 'token', issuedAt: 0, expiresAt: 40 });
    await store.claim(key, 40);
    const taken = await vi.waitFor(async () => {
      const unlock = await peer.lock(key, HOUR);
      expect(unlock).toBeDefined();
      return unlock;
    }, SOON);
    await vi.waitFor(async () => {
      expect(await peer.get(key)).toBeUndefined();
      expect(await store.get('anna')).toBeUndefined();
      expect(await store.claim(key, HOUR)).toBe(true);
    }, SOON);
    // The holder that was too slow does not free the lock of the next one.
    await late?.();
    expect(await cache.lock(key, HOUR)).toBeUndefined();
    await taken?.();
    expect(await cache.lock(key, HOUR)).toBeDefined();
  });
});
