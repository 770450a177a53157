import { randomUUID } from 'node:crypto';
import { RedisCache } from 'marketgate/redis';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import {
  CLIENT_KINDS,
  CLIENTS,
  type ClientKind,
  isClusterKind,
  type RedisServer,
  redisIsMissing,
  startRedis,
} from '../../support/redis-server.js';

const HOUR = 3_600_000;
const SINGLE = CLIENT_KINDS.filter((kind) => !isClusterKind(kind));

describe.skipIf(redisIsMissing()).each(SINGLE)('RedisCache with %s', (kind) => {
  let server: RedisServer;
  beforeAll(async () => {
    server = await startRedis();
  });
  afterAll(() => server?.stop());

  async function open(of: ClientKind = kind, timeout = 2000) {
    const { client, close } = await CLIENTS[of](server.url);
    return { cache: new RedisCache({ client, timeout }), close };
  }

  it('keeps nothing whose time is over, and refuses a time without an end', async () => {
    const { cache, close } = await open();
    await cache.set('key', 'old', HOUR);
    await cache.set('key', 'new', 0);
    expect(await cache.get('key')).toBeUndefined();
    await cache.set('key', 'value', 0.5);
    await expect(cache.set('key', 'value', Number.POSITIVE_INFINITY)).rejects.toThrow(TypeError);
    await expect(cache.set('key', 5 as never, HOUR)).rejects.toThrow(TypeError);
    await expect(cache.lock('key', 0)).rejects.toThrow(TypeError);
    await expect(cache.lock('key', Number.NaN)).rejects.toThrow(TypeError);
    close();
  });

  it('lets the lock of a holder that died lapse', async () => {
    const [dies, waits] = [await open(), await open()];
    const key = randomUUID();
    expect(await dies.cache.lock(key, 300)).toBeTypeOf('function');
    dies.close();
    expect(await waits.cache.lock(key, HOUR)).toBeUndefined();
    await vi.waitFor(async () => expect(await waits.cache.lock(key, HOUR)).toBeDefined());
    waits.close();
  });

  it('does not free the lock of another, when it is given back too late', async () => {
    const [slow, quick] = [await open(), await open()];
    const key = randomUUID();
    const late = await slow.cache.lock(key, 20);
    const release = await vi.waitFor(async () => {
      const taken = await quick.cache.lock(key, HOUR);
      expect(taken).toBeDefined();
      return taken;
    });
    await late?.();
    expect(await slow.cache.lock(key, HOUR)).toBeUndefined();
    await release?.();
    expect(await slow.cache.lock(key, HOUR)).toBeDefined();
    slow.close();
    quick.close();
  });

  it('gives back a lock that it got only when nobody waited any more', async () => {
    const [hasty, patient] = [await open(kind, 20), await open()];
    const key = randomUUID();
    await vi.waitFor(() => hasty.cache.get(key));
    server.freeze();
    await expect(hasty.cache.lock(key, HOUR)).rejects.toThrow('did not answer within 20 ms');
    server.thaw();
    // Taken by the one who gave up, and free again all the same.
    await vi.waitFor(async () => expect(await patient.cache.lock(key, HOUR)).toBeDefined());
    hasty.close();
    patient.close();
  });

  it('holds locks apart from values in Redis, under the prefix', async () => {
    const { client, close } = await CLIENTS[kind](server.url);
    const prefix = `${randomUUID()}:`;
    const cache = new RedisCache({ client, prefix, timeout: 2000 });
    await cache.set('key', 'value', HOUR);
    await cache.lock('key', HOUR);
    const keys = await server.command('KEYS', `${prefix}*`);
    expect(keys).toHaveLength(2);
    expect(keys).toEqual(expect.arrayContaining([`${prefix}value:key`, `${prefix}lock:key`]));
    for (const key of [`${prefix}value:key`, `${prefix}lock:key`]) {
      expect(Number(await server.command('PTTL', key))).toBeGreaterThan(0);
    }
    close();
  });
});
