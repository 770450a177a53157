import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { Redis } from 'ioredis';
import { RedisCache, RedisHolderStore, RedisTokenStore } from 'marketgate/redis';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { redisIsMissing, sharedRedis } from '../../support/redis-server.js';
import { HOUR } from '../../unit/stores/support.js';

// A connection that ends after Redis has run a command and before it has answered. By default ioredis sends the command
// again then, so Redis runs it twice, and the store gets the second answer.
describe.skipIf(redisIsMissing())('an answer of Redis that is lost, with ioredis', () => {
  let isCut: boolean;
  let proxy: Server;
  let client: Redis;
  const subscriber = new Redis({ lazyConnect: true });

  beforeEach(async () => {
    const { port } = await sharedRedis();
    isCut = false;
    proxy = createServer((near) => {
      const far = connect(port, '127.0.0.1');
      const end = () => [near, far].forEach((each: Socket) => void each.destroy());
      for (const each of [near, far]) each.on('error', end).on('close', end);
      near.pipe(far);
      far.on('data', (answer) => {
        if (!isCut) return void near.write(answer);
        isCut = false;
        end();
      });
    }).listen(0, '127.0.0.1');
    await once(proxy, 'listening');
    client = new Redis((proxy.address() as AddressInfo).port, { retryStrategy: () => 20 });
    await client.on('error', () => {}).ping();
    isCut = true;
  });
  afterEach(() => {
    client.disconnect();
    proxy.close();
  });

  it('makes a claim no second one', async () => {
    const store = new RedisTokenStore({ client });
    expect(await store.claim('name', HOUR)).toBe(true);
    expect([isCut, await store.claim('name', HOUR)]).toEqual([false, false]);
  });

  it('makes a lock no other process’s', async () => {
    const cache = new RedisCache({ client, subscriber });
    const release = await cache.lock('key', HOUR);
    expect(release).toBeTypeOf('function');
    expect([isCut, await cache.lock('key', HOUR)]).toEqual([false, undefined]);
    await release?.();
    expect(await cache.lock('key', HOUR)).toBeTypeOf('function');
  });

  // With false, a negative answer would count as stored by another process, and nobody would be told of it.
  it('makes a row no other process’s', async () => {
    const cache = new RedisCache({ client, subscriber });
    expect(await cache.write('key', 'sealed', HOUR, 7)).toBe(true);
    expect([isCut, await cache.write('key', 'other', HOUR, 7)]).toEqual([false, false]);
    expect(await cache.read('key')).toMatchObject({ value: 'sealed', order: 7 });
  });

  it('makes an account no other one, and takes one seat', async () => {
    const store = new RedisHolderStore({ client, secret: 'x'.repeat(32) });
    expect(await store.take('code', 'anna', 2)).toBe(true);
    expect([isCut, await store.holders('code')]).toEqual([false, ['anna']]);
  });
});
