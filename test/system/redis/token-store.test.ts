import { randomUUID } from 'node:crypto';
import { RedisTokenStore } from 'marketgate/redis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  CLIENTS,
  type RedisServer,
  redisIsMissing,
  sharedRedis,
} from '../../support/redis-server.js';
import { driftDuring, HandClock, HOUR, NOW, SECRET, tokenOf } from '../../unit/stores/support.js';

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

  it('lets a row end with its token, by the clock it was given and in Redis', async () => {
    const time = new HandClock();
    const store = new RedisTokenStore({ client: one.client, clock: time.clock });
    await store.set('anna', tokenOf());
    const life = Number(await server.command('PTTL', 'marketgate:token:anna'));
    expect(life).toBeGreaterThan(HOUR - 60_000);
    expect(life).toBeLessThanOrEqual(HOUR);
    time.advance(HOUR - 1);
    expect(await store.get('anna')).toEqual(tokenOf());
    time.advance(1);
    expect(await store.get('anna')).toBeUndefined();
    // Over already: it is not kept for a moment either.
    await store.set('anna', tokenOf());
    expect(await server.command('EXISTS', 'marketgate:token:anna')).toBe(0);
  });

  it('takes a token that ends in a far future', async () => {
    const store = new RedisTokenStore({ client: two.client, clock });
    const token = { ...tokenOf(), expiresAt: Number.MAX_VALUE };
    await store.set('anna', token);
    expect(await store.get('anna')).toEqual(token);
  });

  it('takes a row of a newer version for none, reports it, and leaves it', async () => {
    const row = JSON.stringify({ v: 2, user: 'carl', ...tokenOf() });
    const key = 'marketgate:token:carl';
    const store = new RedisTokenStore({ client: one.client, clock });
    await server.command('SET', key, row);
    const drift = await driftDuring(async () => {
      expect(await store.get('carl')).toBeUndefined();
    });
    expect(drift).toEqual([
      expect.objectContaining({ endpoint: 'RedisTokenStore.get', kind: 'unreadable' }),
    ]);
    expect(JSON.stringify(drift)).not.toContain(SECRET);
    expect(await server.command('GET', key)).toBe(row);
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

  it('keeps stores with other prefixes apart', async () => {
    const a = new RedisTokenStore({ client: one.client, clock, prefix: 'a:' });
    const b = new RedisTokenStore({ client: one.client, clock, prefix: 'b:' });
    await a.set('anna', tokenOf());
    expect(await b.get('anna')).toBeUndefined();
    expect(await a.claim('name', HOUR)).toBe(true);
    expect(await b.claim('name', HOUR)).toBe(true);
  });
});
