import { Cluster, Redis } from 'ioredis';
import { RedisCache, RedisHolderStore, RedisTokenStore } from 'marketgate/redis';
import { describeHolderStore, describeTokenStore } from 'marketgate/testing';
import { createClient, RESP_TYPES } from 'redis';
import { afterAll, beforeAll, describe, it, onTestFinished } from 'vitest';
import { describeSharedCache } from '../../support/describe-shared-cache.js';
import { type RedisServer, redisIsMissing, sharedRedis } from '../../support/redis-server.js';
import { CLIENTS, ioRedis, nodeRedis, type Opened } from './support/clients.js';
import { expectStoresToWork } from './support/every-store.js';

const LIBRARIES = ['node-redis', 'ioredis'] as const;

describe.skipIf(redisIsMissing())('the contract of the stores, on a real Redis', () => {
  let server: RedisServer;
  const opened: Record<string, readonly [here: Opened, there: Opened]> = {};
  const clients = (library: string) => opened[library] as (typeof opened)[string];
  beforeAll(async () => {
    server = await sharedRedis();
    for (const library of LIBRARIES) {
      const open = CLIENTS[library];
      opened[library] = [await open(server.url), await open(server.url)];
    }
  });
  afterAll(() => {
    for (const { close } of Object.values(opened).flat()) close();
  });

  // One test of it waits for real time.
  describe.concurrent('RedisTokenStore', () => {
    for (const library of LIBRARIES) {
      const setup = () => {
        const [{ client }] = clients(library);
        return { store: new RedisTokenStore({ client, prefix: library }) };
      };
      describeTokenStore(`with ${library}`, setup, { describe, it });
    }
  });

  for (const library of LIBRARIES) {
    const holders = ({ client }: Opened) =>
      new RedisHolderStore({ client, secret: 'x'.repeat(32) });
    const setup = () => {
      const [here, there] = clients(library);
      return { store: holders(here), peer: holders(there) };
    };
    describeHolderStore(`RedisHolderStore with ${library}`, setup, { describe, it });

    const cache = ({ client, subscriber }: Opened) => new RedisCache({ client, subscriber });
    describeSharedCache(`RedisCache with ${library}`, () => {
      const [here, there] = clients(library);
      return {
        ...{ cache: cache(here), peer: cache(there) },
        advance: (milliseconds) => server.pass(milliseconds),
      };
    });
  }
});

const BUFFERS = { [RESP_TYPES.BLOB_STRING]: Buffer, [RESP_TYPES.SIMPLE_STRING]: Buffer };

/** Clusters, and settings of an app's client that change what is sent, what is returned, or when. */
const OTHERS: Record<string, (url: string) => Opened | Promise<Opened>> = {
  'a cluster of node-redis': CLIENTS['node-redis cluster'],
  'a cluster of ioredis, also as subscriber': (url) => ioRedis(() => new Cluster([url])),
  'node-redis, a key prefix': (url) => nodeRedis(createClient({ url, keyPrefix: 'app:' })),
  'node-redis, replies as buffers': (url) =>
    nodeRedis(createClient({ url, commandOptions: { typeMapping: BUFFERS } })),
  'node-redis, no offline queue, no reconnecting': (url) =>
    nodeRedis(
      createClient({ url, disableOfflineQueue: true, socket: { reconnectStrategy: false } }),
    ),
  'ioredis, a key prefix': (url) => ioRedis(() => new Redis(url, { keyPrefix: 'app:' })),
  'ioredis, numbers as strings': (url) => ioRedis(() => new Redis(url, { stringNumbers: true })),
  'ioredis, no offline queue': (url) =>
    ioRedis(() => new Redis(url, { enableOfflineQueue: false })),
  'ioredis, connected by the first command': (url) =>
    ioRedis(() => new Redis(url, { lazyConnect: true })),
};

it.skipIf(redisIsMissing()).each(Object.entries(OTHERS))(
  'every store works with %s',
  async (kind, open) => {
    const { url } = await sharedRedis({ cluster: kind.includes('cluster') });
    const opened = [await open(url), await open(url)] as const;
    onTestFinished(() => {
      for (const { close } of opened) close();
    });
    await expectStoresToWork(...opened);
  },
);
