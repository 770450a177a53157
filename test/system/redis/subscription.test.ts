import { randomUUID } from 'node:crypto';
import { RedisCache } from 'marketgate/redis';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { redisCommands } from '../../../src/stores/redis/clients.js';
import { Subscription } from '../../../src/stores/redis/subscription.js';
import { type RedisServer, redisIsMissing, SOON } from '../../support/redis-server.js';
import { EveryClient, type Opened } from './support/every-client.js';

const timeout = 10_000;

async function subscribersOf(server: RedisServer): Promise<number> {
  const list = await server.command('CLIENT', 'LIST', 'TYPE', 'pubsub');
  return `${list}`.split('\n').filter(Boolean).length;
}

describe.skipIf(redisIsMissing())('a subscription, with all kinds of clients', () => {
  let clients: EveryClient;
  let prefix: string;
  beforeAll(async () => {
    clients = await EveryClient.open();
  });
  beforeEach(() => {
    prefix = `${randomUUID()}:`;
  });
  afterAll(() => clients?.close());

  const cacheOf = ({ client }: Opened, kind: string) =>
    new RedisCache({ client, prefix: `${prefix}${kind}:`, timeout });

  /** A subscription, with what it has heard. */
  async function listen(cache: RedisCache) {
    const heard: unknown[] = [];
    const end = await cache.subscribe((key) => heard.push(key));
    const hears = (...expected: unknown[]) =>
      vi.waitFor(() => expect(heard).toEqual(expected), SOON);
    return { heard, hears, end };
  }

  const closed = () =>
    clients.onServers((server) =>
      vi.waitFor(async () => expect(await subscribersOf(server)).toBe(0), SOON),
    );

  it('hears any key of its own cache, and an empty message as all keys', () =>
    clients.each(async (opened, kind) => {
      const cache = cacheOf(opened, kind);
      const { hears, end } = await listen(cache);
      await cacheOf(opened, 'other').publish('not this');
      const keys = ['undefined', ' ', '"a"\n', 'é日本🔑', undefined];
      for (const key of keys) await cache.publish(key);
      await hears(...keys);
      await end();
    }));

  it('invalidates all keys each time its connection was lost, and hears again', async () => {
    const all = await clients.each(async (opened, kind) => {
      const cache = cacheOf(opened, kind);
      return { cache, ...(await listen(cache)) };
    });
    for (const time of [1, 2]) {
      await clients.onServers((server) => server.command('CLIENT', 'KILL', 'TYPE', 'pubsub'));
      await Promise.all(
        all.map(async ({ cache, heard, hears }) => {
          await hears(undefined);
          await cache.publish(`after ${time}`);
          await hears(undefined, `after ${time}`);
          heard.length = 0;
        }),
      );
      await clients.onServers(async (server) => expect(await subscribersOf(server)).toBe(2));
    }
    await Promise.all(all.map(({ end }) => end()));
    await closed();
  });

  it('goes on after an outage, and can begin and end during one', async () => {
    const before = await clients.each(async (opened, kind) => {
      const cache = cacheOf(opened, kind);
      return { cache, earlier: await listen(cache), ending: await listen(cache) };
    });
    await clients.onServers((server) => server.kill());
    const all = await Promise.all(
      before.map(async ({ cache, earlier, ending }) => {
        const [later] = await Promise.all([listen(cache), ending.end(), ending.end()]);
        expect(later.heard).toEqual([]);
        return { cache, ending, both: [earlier, later] };
      }),
    );
    await clients.onServers((server) => server.restart());
    await Promise.all(
      all.map(async ({ cache, both, ending }) => {
        await Promise.all(both.map(({ hears }) => hears(undefined)));
        await vi.waitFor(() => cache.publish('after'), SOON);
        await Promise.all(both.map(({ hears }) => hears(undefined, 'after')));
        expect(ending.heard).toEqual([]);
      }),
    );
    // Of two kinds of clients on each server.
    await clients.onServers(async (server) => expect(await subscribersOf(server)).toBe(4));
    await Promise.all(all.flatMap(({ both }) => both.map(({ end }) => end())));
    await closed();
  });

  it('notices a connection on which nothing is answered any more', async () => {
    const times = { pingInterval: 20 };
    const all = await clients.each(async ({ client }, kind) => {
      const heard: unknown[] = [];
      const commands = redisCommands('test', client, timeout);
      const connect = commands.subscriber.bind(commands);
      const seen = { connections: 0, pings: 0 };
      commands.subscriber = async (...args) => {
        seen.connections++;
        const listener = await connect(...args);
        const ping = () => {
          seen.pings++;
          return listener.ping();
        };
        return { ...listener, ping };
      };
      const onInvalidate = (key: unknown) => heard.push(key);
      const channel = `${prefix}${kind}`;
      const subscription = new Subscription(commands, channel, onInvalidate, undefined, times);
      await subscription.listening;
      return { subscription, seen, heard };
    });
    // One that lives is kept, over many pings.
    for (const { seen } of all) {
      await vi.waitFor(() => expect(seen.pings).toBeGreaterThan(5), SOON);
      expect(seen.connections).toBe(1);
    }
    await clients.onServers((server) => server.freeze());
    try {
      for (const { seen } of all) {
        await vi.waitFor(() => expect(seen.connections).toBeGreaterThan(1), SOON);
      }
    } finally {
      await clients.onServers((server) => server.thaw());
    }
    for (const { heard } of all) await vi.waitFor(() => expect(heard).toEqual([undefined]), SOON);
    for (const { subscription } of all) subscription.close();
    await closed();
  });
});
