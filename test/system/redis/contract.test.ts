import { randomUUID } from 'node:crypto';
import { RedisCache, RedisHolderStore, RedisTokenStore } from 'marketgate/redis';
import { describeHolderStore, describeSharedCache, describeTokenStore } from 'marketgate/testing';
import { afterAll, beforeAll, describe, it } from 'vitest';
import {
  CLIENT_KINDS,
  CLIENTS,
  isClusterKind,
  type RedisServer,
  redisIsMissing,
  sharedRedis,
} from '../../support/redis-server.js';

// Enough for a machine that is busy with other tests.
const timeout = 10_000;

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
  const holdersOf = ({ client }: typeof here, cooldown?: number) =>
    new RedisHolderStore({ client, prefix, timeout, secret: 'x'.repeat(32), cooldown });
  const cacheOf = ({ client }: typeof here) => new RedisCache({ client, prefix, timeout });

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
});
