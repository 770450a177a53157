import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import {
  RedisCache,
  type RedisClient,
  RedisGuessLimit,
  RedisHolderStore,
  RedisTokenStore,
} from 'marketgate/redis';
import { createClient, RESP_TYPES } from 'redis';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { type RedisServer, redisIsMissing, SOON, sharedRedis } from '../../support/redis-server.js';
import { hearWarnings } from '../../support/warnings.js';
import { HOUR, tokenOf } from '../../unit/stores/support.js';

interface Opened {
  client: RedisClient;
  close(): unknown;
}

const quiet = () => {};

async function nodeRedis(settings: Parameters<typeof createClient>[0]): Promise<Opened> {
  const client = createClient(settings).on('error', quiet);
  await client.connect();
  return { client, close: () => client.destroy() };
}

function ioRedis(url: string, settings: object): Opened {
  const client = new Redis(url, settings).on('error', quiet);
  return { client, close: () => client.disconnect() };
}

/** Settings of an app's client that change what is sent, what comes back, or when. */
const SETTINGS: Record<string, (url: string) => Opened | Promise<Opened>> = {
  'node-redis, a key prefix': (url) => nodeRedis({ url, keyPrefix: 'app:' }),
  'node-redis, replies as buffers': (url) =>
    nodeRedis({
      url,
      commandOptions: {
        typeMapping: { [RESP_TYPES.BLOB_STRING]: Buffer, [RESP_TYPES.SIMPLE_STRING]: Buffer },
      },
    }),
  'node-redis, no offline queue, no reconnecting': (url) =>
    nodeRedis({ url, disableOfflineQueue: true, socket: { reconnectStrategy: false } }),
  'node-redis, its own cache': (url) =>
    nodeRedis({ url, RESP: 3, clientSideCache: { ttl: 0, maxEntries: 0, evictPolicy: 'LRU' } }),
  'ioredis, a key prefix': (url) => ioRedis(url, { keyPrefix: 'app:' }),
  'ioredis, numbers as strings': (url) => ioRedis(url, { stringNumbers: true }),
  'ioredis, no offline queue': (url) => ioRedis(url, { enableOfflineQueue: false }),
  'ioredis, connected by the first command': (url) => ioRedis(url, { lazyConnect: true }),
};

describe.skipIf(redisIsMissing())('all of it works with', () => {
  let server: RedisServer;
  beforeAll(async () => {
    server = await sharedRedis();
  });

  it.each(Object.entries(SETTINGS))('%s', async (_what, open) => {
    const { client, close } = await open(server.url);
    const prefix = `${randomUUID()}:`;
    const timeout = 10_000;
    const store = new RedisTokenStore({ client, prefix });
    const token = { ...tokenOf(), expiresAt: Date.now() + HOUR };
    await store.set('anna', token);
    expect(await store.get('anna')).toEqual(token);
    expect(await store.claim('name', HOUR)).toBe(true);
    expect(await store.claim('name', HOUR)).toBe(false);

    const holders = new RedisHolderStore({ client, prefix, timeout, secret: 'x'.repeat(32) });
    const taken = ['anna', 'bert', 'anna', 'é carl'].map((each) => holders.take('a code', each, 2));
    expect(await Promise.all(taken)).toEqual([true, true, true, false]);
    expect((await holders.holders('a code')).sort()).toEqual(['anna', 'bert']);
    await holders.release('a code', 'anna');
    expect(await holders.take('a code', 'é carl', 2)).toBe(true);
    expect((await holders.holders('a code')).sort()).toEqual(['bert', 'é carl']);

    const cache = new RedisCache({ client, prefix, timeout });
    const heard: (string | boolean)[] = [];
    const end = await cache.subscribe(
      (message) => heard.push(message),
      (isListening) => heard.push(isListening),
    );
    const hears = (...expected: (string | boolean)[]) =>
      vi.waitFor(() => expect(heard).toEqual(expected), SOON);
    await hears(false, true);
    expect(await cache.read('key')).toMatchObject({ value: undefined, order: 0 });
    expect(await cache.write('key', 'é value', HOUR, 1_800_000_000_000_000)).toBe(true);
    expect(await cache.write('key', 'earlier', HOUR, 1_799_999_999_999_999)).toBe(false);
    const row = { value: 'é value', order: 1_800_000_000_000_000 };
    expect(await cache.read('key')).toEqual({ ...row, now: expect.any(Number) });
    const release = await cache.lock('key', HOUR);
    expect(await cache.lock('key', HOUR)).toBeUndefined();
    await release?.();
    expect(await cache.lock('key', HOUR)).toBeDefined();
    await cache.publish('é message');
    await hears(false, true, 'é message');
    // Reconnecting is our own, whatever the app has set for its client.
    await server.command('CLIENT', 'KILL', 'TYPE', 'pubsub');
    await hears(false, true, 'é message', false, true);
    await end();

    const warnings = hearWarnings();
    const limits = [1, 2].map(() => new RedisGuessLimit({ client, prefix, timeout, limit: 2 }));
    const counts = [];
    for (const { limiter } of [...limits, ...limits]) {
      counts.push(await limiter.consume('who').catch((over: object) => over));
    }
    expect(counts).toEqual([1, 2, 3, 4].map((n) => expect.objectContaining({ consumedPoints: n })));
    expect(warnings).toEqual([]);
    close();
  });
});
