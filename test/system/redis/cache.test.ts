import { randomUUID } from 'node:crypto';
import { RedisCache, RedisTokenStore } from 'marketgate/redis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { redisIsMissing, TROUBLES } from '../../support/redis-server.js';
import { HOUR, NOW, tokenOf } from '../../unit/stores/support.js';
import { EveryClient } from './support/every-client.js';

describe.skipIf(redisIsMissing())('RedisCache, with all kinds of clients', () => {
  let clients: EveryClient;
  beforeAll(async () => {
    clients = await EveryClient.open();
  });
  afterAll(() => clients?.close());

  it('takes a row that it has not written for none, and writes over it', () =>
    clients.each(async ({ client, subscriber }) => {
      const prefix = `${randomUUID()}:`;
      const cache = new RedisCache({ client, subscriber, prefix });
      for (const row of [[''], ['text', 'PX', '1000'], [':1:text', 'PX', '1000'], [':9:9:text']]) {
        await clients.onServers((server) => server.command('SET', `${prefix}key`, ...row));
        const { value, lease } = await cache.read('key');
        expect(value, row[0]).toBeUndefined();
        expect(await cache.write('key', 'value', 0, HOUR, lease)).toBe(true);
        expect((await cache.read('key')).value).toBe('value');
      }
    }));

  it('withdraws a row and ends its lease on a full Redis, too', async () => {
    const caches = await clients.each(async ({ client, subscriber }, kind) => {
      const cache = new RedisCache({ client, subscriber, prefix: `${kind}:${randomUUID()}:` });
      await cache.write('key', 'value', 0, HOUR, '');
      return cache;
    });
    await clients.onServers(TROUBLES.full.begin);
    try {
      for (const cache of caches) {
        await cache.withdraw('key', 'no', HOUR);
        expect((await cache.read('key')).value).toBe('no');
        expect(await cache.write('key', 'value', 0, HOUR, '')).toBe(false);
      }
    } finally {
      await clients.onServers(TROUBLES.full.end);
    }
  });

  it('stores rows and tokens under the prefix, apart, and with an expiry', async () => {
    const prefix = randomUUID();
    await clients.each(async ({ client, subscriber }, kind) => {
      const options = { client, prefix: `${prefix}:${kind}:` };
      const cache = new RedisCache({ ...options, subscriber });
      await cache.withdraw('key', 'value', HOUR);
      const store = new RedisTokenStore({ ...options, clock: () => NOW });
      await store.set('anna', tokenOf());
      // Redis takes no time as long as that.
      await store.set('bert', { ...tokenOf(), expiresAt: Number.MAX_VALUE });
      expect(await store.get('bert')).toMatchObject({ expiresAt: Number.MAX_VALUE });
    });
    await clients.onServers(async (server) => {
      const keys = (await server.command('KEYS', `${prefix}*`)) as string[];
      expect(keys).toHaveLength(6);
      for (const key of keys) {
        expect(key).toMatch(/:(key|anna|bert)$/);
        const life = Number(await server.command('PTTL', key));
        expect(life).toBeGreaterThan(HOUR - 60_000);
        if (!key.endsWith('bert')) expect(life).toBeLessThanOrEqual(HOUR);
      }
    });
  });
});
