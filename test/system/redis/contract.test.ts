import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { Redis, type RedisOptions } from 'ioredis';
import { RedisCache, type RedisClient, RedisHolderStore, RedisTokenStore } from 'marketgate/redis';
import { describeHolderStore, describeTokenStore } from 'marketgate/testing';
import { createClient, RESP_TYPES } from 'redis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { describeSharedCache } from '../../support/describe-shared-cache.js';
import {
  CLIENTS,
  type RedisServer,
  redisIsMissing,
  sharedRedis,
} from '../../support/redis-server.js';

interface Opened {
  client: RedisClient;
  subscriber: RedisClient;
  close(): unknown;
}

const quiet = () => {};

async function nodeRedis(settings: Parameters<typeof createClient>[0]): Promise<Opened> {
  const client = createClient(settings).on('error', quiet);
  const subscriber = client.duplicate().on('error', quiet);
  await Promise.all([client.connect(), subscriber.connect()]);
  return { client, subscriber, close: () => [client, subscriber].map((each) => each.destroy()) };
}

async function ioRedis(url: string, settings: RedisOptions): Promise<Opened> {
  const client = new Redis(url, settings).on('error', quiet);
  const subscriber = client.duplicate().on('error', quiet);
  // Without a queue, an app waits until its clients are ready.
  if (!settings.lazyConnect) await Promise.all([once(client, 'ready'), once(subscriber, 'ready')]);
  return {
    ...{ client, subscriber },
    close: () => [client, subscriber].map((each) => each.disconnect()),
  };
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

type Test = () => Promise<void>;

/** What waits for real time, of all kinds of clients: it waits for all of them at once. */
const waiting: [kind: string, test: Test][] = [];
const WAITS = 'forgets a token when it expires';

describe.skipIf(redisIsMissing())('with all kinds of clients', () => {
  const prefix = `test:${randomUUID()}:`;
  const servers: Partial<Record<'single' | 'cluster', RedisServer>> = {};
  const opened: Opened[] = [];
  beforeAll(async () => {
    servers.single = await sharedRedis();
    servers.cluster = await sharedRedis({ cluster: true });
  });
  afterAll(() => {
    for (const { close } of opened) close();
  });

  describe.each(Object.entries(OPEN))('with %s', (kind, open) => {
    const server = () => servers[kind.endsWith('cluster') ? 'cluster' : 'single'] as RedisServer;
    let here: Opened;
    let there: Opened;

    beforeAll(async () => {
      [here, there] = await Promise.all([open(server().url), open(server().url)]);
      opened.push(here, there);
    });

    const storeOf = ({ client }: Opened) => new RedisTokenStore({ client, prefix });
    const holdersOf = ({ client }: Opened) =>
      new RedisHolderStore({ client, prefix, secret: 'x'.repeat(32) });
    const cacheOf = ({ client, subscriber }: Opened) =>
      new RedisCache({ client, subscriber, prefix });

    describeTokenStore('RedisTokenStore', () => ({ store: storeOf(here) }), {
      describe,
      it: (title: string, test: Test) =>
        title === WAITS ? waiting.push([kind, test]) : it(title, test),
    });
    describeHolderStore(
      'RedisHolderStore',
      () => ({ store: holdersOf(here), peer: holdersOf(there) }),
      { describe, it },
    );
    describeSharedCache('RedisCache', () => ({
      cache: cacheOf(here),
      peer: cacheOf(there),
      advance: (milliseconds) => server().pass(milliseconds),
    }));
  });

  it(`RedisTokenStore ${WAITS}`, async () => {
    expect(waiting).toHaveLength(Object.keys(OPEN).length);
    const tests = waiting.map(async ([kind, test]) => [kind, await test().catch((error) => error)]);
    expect(await Promise.all(tests)).toEqual(waiting.map(([kind]) => [kind, undefined]));
  });
});
