import { randomUUID } from 'node:crypto';
import { RedisCache, RedisTokenStore } from 'marketgate/redis';
import { describeSharedCache, describeTokenStore } from 'marketgate/testing';
import { afterAll, beforeAll, describe, it } from 'vitest';
import {
  anyRedis,
  CLIENT_KINDS,
  CLIENTS,
  isClusterKind,
  redisIsMissing,
  startRedis,
} from '../../support/redis-server.js';

// Side by side, for some of them wait for Redis to forget.
const runner = { describe, it: it.concurrent };

describe.skipIf(redisIsMissing()).concurrent.each(CLIENT_KINDS)('with %s', (kind) => {
  const prefix = `test:${randomUUID()}:`;
  let server: { url: string; stop(): Promise<void> };

  beforeAll(async () => {
    server = isClusterKind(kind) ? await startRedis({ cluster: true }) : await anyRedis();
  });
  afterAll(() => server?.stop());

  describeTokenStore(
    'RedisTokenStore',
    async () => {
      const { client, close } = await CLIENTS[kind](server.url);
      return { store: new RedisTokenStore({ client, prefix }), close };
    },
    runner,
  );

  describeSharedCache(
    'RedisCache',
    async () => {
      const [one, two] = await Promise.all([CLIENTS[kind](server.url), CLIENTS[kind](server.url)]);
      // Many tests at once, in one process, can make Redis seem slow.
      const cacheOf = ({ client }: typeof one) => new RedisCache({ client, prefix, timeout: 2000 });
      return {
        cache: cacheOf(one),
        peer: cacheOf(two),
        close: () => {
          one.close();
          two.close();
        },
      };
    },
    runner,
  );
});
