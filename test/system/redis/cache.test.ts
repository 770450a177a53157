import { randomUUID } from 'node:crypto';
import { RedisCache, RedisTokenStore } from 'marketgate/redis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { redisIsMissing } from '../../support/redis-server.js';
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
      const foreign = [
        ...['', 'text', ':text', '-1:text', `${'9'.repeat(17)}:text`, `${'9'.repeat(400)}:text`],
        // Above 2^53, where no order can be.
        ...['9999999999999999:text', '9007199254740992:text'],
      ].map((row) => ['SET', `${prefix}row:key`, row] as const);
      for (const [command, ...args] of [...foreign, ['RPUSH', `${prefix}row:key`, 'x'] as const]) {
        await clients.onServers(async (server) => {
          await server.command('DEL', `${prefix}row:key`);
          await server.command(command, ...args);
        });
        expect(await cache.read('key')).toMatchObject({ value: undefined, order: 0 });
        expect(await cache.write('key', 'value', HOUR, 0), args[1]).toBe(true);
        expect(await cache.read('key')).toMatchObject({ value: 'value', order: 0 });
      }
      await clients.onServers(async (server) => {
        const life = Number(await server.command('PTTL', `${prefix}row:key`));
        expect(life).toBeLessThanOrEqual(HOUR);
      });
    }));

  it('takes a lock that no process of ours can hold, because it does not expire in time', () =>
    clients.each(async ({ client, subscriber }) => {
      const prefix = `${randomUUID()}:`;
      const cache = new RedisCache({ client, subscriber, prefix });
      const name = `${prefix}lock:key`;
      for (const command of [
        ['SET', name, 'x'],
        ['SET', name, 'x', 'PX', `${2 * HOUR}`],
        ['RPUSH', name, 'x'],
      ]) {
        await clients.onServers(async (server) => {
          await server.command('DEL', name);
          await server.command(...(command as [string]));
        });
        const release = await cache.lock('key', HOUR);
        expect(release, command.join(' ')).toBeDefined();
        expect(await cache.lock('key', HOUR)).toBeUndefined();
        await release?.();
      }
    }));

  it('stores rows, locks and tokens under the prefix, apart, and with an expiry', async () => {
    const prefix = randomUUID();
    await clients.each(async ({ client, subscriber }, kind) => {
      const options = { client, prefix: `${prefix}:${kind}:` };
      const cache = new RedisCache({ ...options, subscriber });
      await cache.write('key', 'value', HOUR, 1);
      await cache.lock('key', HOUR);
      const store = new RedisTokenStore({ ...options, clock: () => NOW });
      await store.set('anna', tokenOf());
      // Redis takes no time as long as that.
      await store.set('bert', { ...tokenOf(), expiresAt: Number.MAX_VALUE });
      expect(await store.get('bert')).toMatchObject({ expiresAt: Number.MAX_VALUE });
    });
    await clients.onServers(async (server) => {
      const keys = (await server.command('KEYS', `${prefix}*`)) as string[];
      expect(keys).toHaveLength(8);
      for (const key of keys) {
        expect(key).toMatch(/:(row:key|lock:key|anna|bert)$/);
        const life = Number(await server.command('PTTL', key));
        expect(life).toBeGreaterThan(HOUR - 60_000);
        if (!key.endsWith('bert')) expect(life).toBeLessThanOrEqual(HOUR);
      }
    });
  });
});
