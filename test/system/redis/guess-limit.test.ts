import { randomUUID } from 'node:crypto';
import { redisGuessLimit } from 'marketgate/redis';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { type RedisServer, redisIsMissing, SOON } from '../../support/redis-server.js';
import { EveryClient, type Opened } from './support/every-client.js';

const WHO = '203.0.113.7';
const MINUTE = 60_000;

describe.skipIf(redisIsMissing())('redisGuessLimit, with all kinds of clients', () => {
  let clients: EveryClient;
  let prefix: string;
  beforeAll(async () => {
    clients = await EveryClient.open();
  });
  beforeEach(() => {
    prefix = `${randomUUID()}:`;
  });
  afterAll(() => clients?.close());

  /** A limit as one process has it; each kind of client is a fleet of its own. */
  const limitOf = ({ client }: Opened, kind: string, timeout = 10_000) =>
    redisGuessLimit({ client, timeout, limit: 4, window: MINUTE, prefix: `${prefix}${kind}:` });

  async function keysOn(server: RedisServer): Promise<string[]> {
    return (await server.command('KEYS', `${prefix}*`)) as string[];
  }

  it('counts the failed attempts of all processes, in windows', async () => {
    await clients.each(async (opened, kind) => {
      const [here, there] = [limitOf(opened, kind), limitOf(opened, kind)];
      expect(await here.left(WHO)).toEqual({ left: 4, retryAfter: 0 });
      await Promise.all([here.count(WHO), there.count(WHO), there.count(WHO)]);
      for (const limit of [here, there]) expect((await limit.left(WHO)).left).toBe(1);
      await there.count(WHO);
      const { left, retryAfter } = await here.left(WHO);
      expect(left).toBe(0);
      expect(retryAfter).toBeGreaterThan(30);
      expect(retryAfter).toBeLessThanOrEqual(60);
      expect((await here.left('198.51.100.1')).left).toBe(4);
    });
    await clients.onServers((server) => server.pass(MINUTE));
    await clients.each(async (opened, kind) => {
      const limit = limitOf(opened, kind);
      expect((await limit.left(WHO)).left).toBe(4);
      await limit.count(WHO);
      expect((await limitOf(opened, kind).left(WHO)).left).toBe(3);
    });
  });

  it('repairs a count that does not expire or is not a number', async () => {
    await clients.each((opened, kind) => limitOf(opened, kind).count(WHO));
    await clients.onServers(async (server) => {
      const keys = await keysOn(server);
      expect(keys).toHaveLength(2);
      for (const key of keys) expect(await server.command('PERSIST', key)).toBe(1);
    });
    await clients.each((opened, kind) => limitOf(opened, kind).count(WHO));
    await clients.onServers(async (server) => {
      for (const key of await keysOn(server)) {
        expect(Number(await server.command('PTTL', key))).toBeGreaterThan(0);
        await server.command('SET', key, 'x');
      }
    });
    await clients.each(async (opened, kind) => {
      expect((await limitOf(opened, kind).left(WHO)).left).toBe(4);
    });
  });

  it.each([
    ['killed', (s: RedisServer) => s.kill(), (s: RedisServer) => s.restart()],
    ['frozen', (s: RedisServer) => s.freeze(), (s: RedisServer) => s.thaw()],
  ])(
    'counts in each process while Redis is %s, and in all afterwards',
    async (_what, begin, end) => {
      const timeout = 40;
      const all = await clients.each(async (opened, kind) => {
        const [here, there] = [limitOf(opened, kind, timeout), limitOf(opened, kind, timeout)];
        await vi.waitFor(async () => {
          await here.count('somebody else');
          expect((await there.left('somebody else')).left).toBeLessThan(4);
        }, SOON);
        return { here, there };
      });
      await clients.onServers(begin);
      try {
        await Promise.all(
          all.map(async ({ here, there }) => {
            for (let n = 0; n < 3; n++) await here.count(WHO);
            expect((await here.left(WHO)).left).toBe(1);
            // A client that this process has not counted is admitted: an outage refuses nobody.
            expect((await there.left(WHO)).left).toBe(4);
          }),
        );
      } finally {
        await clients.onServers(end);
      }
      await Promise.all(
        all.map(async ({ here, there }) => {
          await vi.waitFor(async () => {
            await there.count('a third');
            expect((await here.left('a third')).left).toBeLessThan(4);
          }, SOON);
          // Redis came back empty, but what was counted here still holds.
          expect((await here.left(WHO)).left).toBe(1);
        }),
      );
    },
  );
});
