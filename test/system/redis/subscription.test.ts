import { randomUUID } from 'node:crypto';
import { Cluster } from 'ioredis';
import { RedisCache } from 'marketgate/redis';
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import {
  CLIENTS,
  type ClientKind,
  type RedisServer,
  redisIsMissing,
  SOON,
  sharedRedis,
} from '../../support/redis-server.js';
import { hearWarnings } from '../../support/warnings.js';
import { EveryClient, type Opened } from './support/every-client.js';

/** A subscription, with what it has heard, and the changes that it has reported since it was last looked at. */
async function listen(cache: RedisCache) {
  const heard: string[] = [];
  const reported: boolean[] = [];
  let last: boolean | undefined;
  const end = await cache.subscribe(
    (message) => heard.push(message),
    (isListening) => {
      if (isListening !== last) reported.push(isListening);
      last = isListening;
    },
  );
  const hears = (...expected: string[]) => vi.waitFor(() => expect(heard).toEqual(expected), SOON);
  /** The first change and the last one: a client can lose its connection again while a server comes back. */
  const reports = async (...expected: boolean[]) => {
    const ends = (changes: boolean[]) => [changes[0], changes.at(-1)];
    await vi.waitFor(() => expect(ends(reported)).toEqual(ends(expected)), SOON);
    reported.length = 0;
  };
  return { heard, hears, reported, reports, end };
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

  const cacheOf = ({ client, subscriber }: Opened, kind: ClientKind) =>
    new RedisCache({ client, subscriber, prefix: `${prefix}${kind}:` });

  const listenAll = () =>
    clients.each(async (opened, kind) => {
      const cache = cacheOf(opened, kind);
      const subscription = await listen(cache);
      await subscription.reports(false, true);
      return { cache, ...subscription };
    });

  it('goes on after an outage, and can begin and end during one', async () => {
    const before = await listenAll();
    const ending = await listenAll();
    await clients.onServers((server) => server.kill());
    for (const { reports } of before) await reports(false);
    const later = await clients.each(async (opened, kind) => {
      const given = listen(cacheOf(opened, kind));
      return { given };
    });
    for (const { end, heard, reported } of ending) {
      await Promise.race([Promise.all([end(), end()]), new Promise(setImmediate)]);
      heard.length = 0;
      reported.length = 0;
    }
    await clients.onServers((server) => server.restart());
    const begun = await Promise.all(later.map(({ given }) => given));
    for (const { reports } of before) await reports(true);
    for (const { reports } of begun) await reports(false, true);
    // Again until it is heard, for the same reason.
    const hearing = async (): Promise<void> => {
      for (const { cache } of before) await cache.publish('after');
      for (const { heard } of [...before, ...begun]) expect(heard).toContain('after');
    };
    await vi.waitFor(hearing, SOON);
    for (const { heard, reported } of ending) expect([...heard, ...reported]).toEqual([]);
    await Promise.all([...before, ...begun].map(({ end }) => end()));
  });

  it('reports a connection that was cut, receives again, and leaves no other channel behind', async () => {
    const all = await listenAll();
    await clients.onServers((server) => server.command('CLIENT', 'KILL', 'TYPE', 'pubsub'));
    for (const { reports } of all) await reports(false, true);
    await clients.onServers(async (server) => {
      const channels = (await server.command('PUBSUB', 'CHANNELS', `${prefix}*`)) as string[];
      for (const channel of channels) expect(channel).toMatch(/:invalidate$/);
    });
    for (const { cache } of all) await cache.publish('é after');
    for (const { hears } of all) await hears('é after');
    await Promise.all(all.map(({ end }) => end()));
  });

  it('ends without ending another one of the same channel on the same connection', async () => {
    const [ending, staying] = [await listenAll(), await listenAll()];
    await Promise.all(ending.map(({ end }) => end()));
    for (const { cache } of staying) await cache.publish('after');
    for (const { hears } of staying) await hears('after');
    for (const { heard } of ending) expect(heard).toEqual([]);
    await Promise.all(staying.map(({ end }) => end()));
  });
});

describe.skipIf(redisIsMissing())('a subscriber', () => {
  it('can be a cluster of ioredis, which reports an outage', async () => {
    const server = await sharedRedis({ cluster: true });
    const { client, close } = await CLIENTS['ioredis cluster'](server.url);
    const soon = () => 20;
    const subscriber = new Cluster([server.url], { clusterRetryStrategy: soon }).on('error', soon);
    onTestFinished(() => {
      close();
      subscriber.disconnect();
    });
    const cache = new RedisCache({ client, subscriber, prefix: `${randomUUID()}:` });
    const { reports, hears, end } = await listen(cache);
    await reports(false, true);
    await server.cut();
    await reports(false);
    await server.restart();
    await reports(true);
    await cache.publish('after');
    await hears('after');
    await end();
  });
});

/** How many subscriptions a server has refused, and how many connections it has seen. */
async function workOf(server: RedisServer) {
  const text = `${await server.command('INFO', 'everything')}`;
  const count = (pattern: RegExp) => Number(pattern.exec(text)?.[1] ?? 0);
  return {
    refused: count(/cmdstat_subscribe:.*rejected_calls=(\d+)/),
    connections: count(/total_connections_received:(\d+)/),
  };
}

describe.skipIf(redisIsMissing()).each(['node-redis', 'ioredis'] as const)(
  'a subscription that cannot be, with %s',
  (kind) => {
    async function openWith(permissions: string) {
      const server = await sharedRedis();
      const name = `user-${randomUUID()}`;
      const allow = (...rules: string[]) => server.command('ACL', 'SETUSER', name, ...rules);
      await allow('on', '>pw', '~*', '+@all', 'resetchannels', permissions);
      onTestFinished(async () => void (await server.command('ACL', 'DELUSER', name)));
      const url = server.url.replace('//', `//${name}:pw@`);
      const { client, subscriber, close } = await CLIENTS[kind](url);
      onTestFinished(() => void close());
      return { server, allow, client, subscriber, close };
    }

    it('because of its permissions is reported once, neither loops nor connects, and begins when it may', async () => {
      const warnings = hearWarnings();
      const { server, allow, client, subscriber } = await openWith('&elsewhere:*');
      const cache = new RedisCache({ client, subscriber });
      const { reported, heard, end } = await listen(cache);
      await vi.waitFor(() => expect(warnings).toEqual(['MARKETGATE_NO_INVALIDATIONS']), SOON);
      await cache.read('key');
      const before = await workOf(server);
      for (let n = 0; n < 50; n++) await cache.read('key');
      expect(reported).toEqual([false]);
      const after = await workOf(server);
      // Once more, if the connection has just become ready.
      expect(after.refused - before.refused).toBeLessThanOrEqual(1);
      expect(after.connections).toBe(before.connections);
      await allow('&marketgate:*');
      await server.command('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
      await vi.waitFor(() => expect(reported.at(-1)).toBe(true), SOON);
      await vi.waitFor(() => cache.publish('after'), SOON);
      await vi.waitFor(() => expect(heard).toContain('after'), SOON);
      expect(warnings).toHaveLength(1);
      await end();
    });

    it('because the subscriber is closed, or was never connected, is reported once', async () => {
      const warnings = hearWarnings();
      const { client, subscriber, close } = await openWith('&*');
      close();
      const { reported, end } = await listen(new RedisCache({ client, subscriber }));
      await vi.waitFor(() => expect(warnings).toEqual(['MARKETGATE_NO_INVALIDATIONS']), SOON);
      expect(reported).toEqual([false]);
      await end().catch(() => {});
    });
  },
);
