import { inspect } from 'node:util';
import { RedisCache, type RedisClient, RedisHolderStore, RedisTokenStore } from 'marketgate/redis';
import { beforeEach, describe, expect, it } from 'vitest';
import { type RedisServer, redisIsMissing, sharedRedis } from '../../support/redis-server.js';
import { HOUR, NOW, tokenOf } from '../../unit/stores/support.js';
import { CLIENTS } from './support/clients.js';

const SECRET = 'holder-secret-of-at-least-32-characters';
const CODE = 'ab12cd34-0000-4000-8000-000000000001';

describe.skipIf(redisIsMissing())('what the stores keep in Redis', () => {
  let server: RedisServer;
  let client: RedisClient;
  let subscriber: RedisClient;
  beforeEach(async () => {
    server = await sharedRedis();
    const opened = CLIENTS.ioredis(server.url);
    ({ client, subscriber } = opened);
    return () => void opened.close();
  });
  const keys = async () => (await server.command('KEYS', '*')) as string[];

  it('expires, under the prefix: answers and tokens', async () => {
    const cache = new RedisCache({ client, subscriber, prefix: 'shop:' });
    await cache.withdraw('key', 'value', HOUR);
    const store = new RedisTokenStore({ client, prefix: 'shop:', clock: () => NOW });
    await store.set('anna', tokenOf());
    for (const key of ['shop:key', 'shop:anna']) {
      const life = Number(await server.command('PTTL', key));
      expect(life).toBeGreaterThan(HOUR - 60_000);
      expect(life).toBeLessThanOrEqual(HOUR);
    }
    // Redis takes no time as long as that.
    await store.set('bert', { ...tokenOf(), expiresAt: Number.MAX_VALUE });
    expect(await store.get('bert')).toMatchObject({ expiresAt: Number.MAX_VALUE });
    expect((await keys()).sort()).toEqual(['shop:anna', 'shop:bert', 'shop:key']);
  });

  it('shows no code, and never expires: holders', async () => {
    const store = new RedisHolderStore({ client, secret: SECRET });
    await store.take(` ${CODE.toUpperCase()}\u200b`, 'anna', 1);
    const [key = ''] = await keys();
    expect(key).toMatch(/^marketgate:holder:[\w-]{43}$/);
    expect(await server.command('PTTL', key)).toBe(-1);
    expect(await server.command('SMEMBERS', key)).toEqual(['anna']);
    expect(inspect(store, { depth: 9, showHidden: true })).not.toContain(SECRET);
    const other = new RedisHolderStore({ client, secret: `${SECRET}!` });
    expect(await other.holders(CODE)).toEqual([]);
    // A key of another kind is no holder, and is not overwritten.
    await server.command('SET', key, 'x');
    await expect(store.take(CODE, 'bert', 2)).rejects.toThrow('(WRONGTYPE)');
    await store.release(CODE);
    expect(await keys()).toEqual([]);
  });
});
