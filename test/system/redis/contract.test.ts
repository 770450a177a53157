import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import { RedisCache, type RedisClient, RedisHolderStore, RedisTokenStore } from 'marketgate/redis';
import { describeHolderStore, describeSharedCache, describeTokenStore } from 'marketgate/testing';
import { createClient, RESP_TYPES } from 'redis';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import {
  CLIENTS,
  type RedisServer,
  redisIsMissing,
  SOON,
  sharedRedis,
} from '../../support/redis-server.js';

// Enough for a machine that is busy with other tests.
const timeout = 10_000;

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

/** Each kind of client, and settings of an app's client that change what is sent, what comes back, or when. */
const OPEN: Record<string, (url: string) => Opened | Promise<Opened>> = {
  ...CLIENTS,
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

describe.skipIf(redisIsMissing()).each(Object.entries(OPEN))('with %s', (kind, open) => {
  const prefix = `test:${randomUUID()}:`;
  let server: RedisServer;
  let here: Opened;
  let there: Opened;
  let passed = 0;
  const time = {
    clock: () => Date.now() + passed,
    advance: async (milliseconds: number) => {
      passed += milliseconds;
      await server.pass(milliseconds);
    },
  };

  beforeAll(async () => {
    server = await sharedRedis({ cluster: kind.endsWith('cluster') });
    [here, there] = await Promise.all([open(server.url), open(server.url)]);
  });
  afterAll(() => {
    here?.close();
    there?.close();
  });

  const storeOf = ({ client }: Opened) =>
    new RedisTokenStore({ client, prefix, timeout, clock: time.clock });
  const holdersOf = ({ client }: Opened, cooldown?: number) =>
    new RedisHolderStore({ client, prefix, timeout, secret: 'x'.repeat(32), cooldown });
  const cacheOf = ({ client }: Opened) => new RedisCache({ client, prefix, timeout });

  describeTokenStore('RedisTokenStore', () => ({ store: storeOf(here), ...time }), {
    describe,
    it,
  });
  describeHolderStore(
    'RedisHolderStore',
    () => ({
      store: holdersOf(here),
      peer: holdersOf(there),
      cooldown: { store: holdersOf(here, 1000), milliseconds: 1000 },
    }),
    { describe, it },
  );
  describeSharedCache(
    'RedisCache',
    () => ({ cache: cacheOf(here), peer: cacheOf(there), ...time }),
    { describe, it },
  );

  it('a subscription reconnects by itself, whatever the app has set for its client', async () => {
    const cache = cacheOf(here);
    const heard: (string | boolean)[] = [];
    const end = await cache.subscribe(
      (message) => heard.push(message),
      (isListening) => heard.push(isListening),
    );
    await vi.waitFor(() => expect(heard).toEqual([false, true]), SOON);
    await server.command('CLIENT', 'KILL', 'TYPE', 'pubsub');
    await vi.waitFor(() => expect(heard).toEqual([false, true, false, true]), SOON);
    await cache.publish('é message');
    await vi.waitFor(() => expect(heard.at(-1)).toBe('é message'), SOON);
    await end();
  });
});
