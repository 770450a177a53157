import { randomUUID } from 'node:crypto';
import { RedisTokenStore } from 'marketgate/redis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  CLIENTS,
  type RedisServer,
  redisIsMissing,
  sharedRedis,
} from '../../support/redis-server.js';
import { HOUR, NOW, SECRET, tokenOf } from '../../unit/stores/support.js';

describe.skipIf(redisIsMissing())('RedisTokenStore', () => {
  let server: RedisServer;
  let one: Awaited<ReturnType<(typeof CLIENTS)['node-redis']>>;
  let two: Awaited<ReturnType<(typeof CLIENTS)['ioredis']>>;
  const clock = () => NOW;

  beforeAll(async () => {
    server = await sharedRedis();
    [one, two] = await Promise.all([
      CLIENTS['node-redis'](server.url),
      CLIENTS.ioredis(server.url),
    ]);
  });
  afterAll(() => {
    one?.close();
    two?.close();
  });

  it('shares tokens between processes, whatever their clients', async () => {
    const [here, there] = [one, two].map(({ client }) => new RedisTokenStore({ client, clock }));
    await here?.set('anna', tokenOf());
    expect(await there?.get('anna')).toEqual(tokenOf());
    await there?.delete('anna');
    expect(await here?.get('anna')).toBeUndefined();
  });

  it('lets a row end with its token', async () => {
    const store = new RedisTokenStore({ client: one.client, clock });
    await store.set('anna', tokenOf());
    const life = Number(await server.command('PTTL', 'marketgate:token:anna'));
    expect(life).toBeGreaterThan(HOUR - 60_000);
    expect(life).toBeLessThanOrEqual(HOUR);
  });

  it('takes a token that ends in a far future', async () => {
    const store = new RedisTokenStore({ client: two.client, clock });
    const token = { ...tokenOf(), expiresAt: Number.MAX_VALUE };
    await store.set('anna', token);
    expect(await store.get('anna')).toEqual(token);
  });

  it('rejects when the key is of another type, and does not show it', async () => {
    await server.command('LPUSH', 'marketgate:token:dora', SECRET);
    const store = new RedisTokenStore({ client: two.client, clock });
    await expect(store.get('dora')).rejects.toMatchObject({
      code: 'store_unavailable',
      message:
        'RedisTokenStore.get failed (WRONGTYPE); look at the store and its connection (npx marketgate explain store_unavailable)',
    });
  });

  it('gives a claim to exactly one of two processes that ask at once', async () => {
    const stores = [one, two].map(({ client }) => new RedisTokenStore({ client }));
    for (let round = 0; round < 20; round++) {
      const name = randomUUID();
      const tries = Array.from({ length: 20 }, (_, i) => stores[i % 2]?.claim(name, HOUR));
      const won = (await Promise.all(tries)).filter((answer) => answer === true);
      expect(won).toHaveLength(1);
    }
  });
});
