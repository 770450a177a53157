import { randomUUID } from 'node:crypto';
import { RedisCache } from 'marketgate/redis';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import {
  type ClientKind,
  type RedisServer,
  redisIsMissing,
  SOON,
} from '../../support/redis-server.js';
import { EveryClient, type Opened } from './support/every-client.js';

const timeout = 10_000;

async function subscribersOf(server: RedisServer): Promise<number> {
  const list = await server.command('CLIENT', 'LIST', 'TYPE', 'pubsub');
  return `${list}`.split('\n').filter(Boolean).length;
}

/** A subscription, with what it has heard, and what it has reported since it was last looked at. */
async function listen(cache: RedisCache) {
  const heard: string[] = [];
  const reported: boolean[] = [];
  const end = await cache.subscribe(
    (message) => heard.push(message),
    (isListening) => reported.push(isListening),
  );
  const hears = (...expected: string[]) => vi.waitFor(() => expect(heard).toEqual(expected), SOON);
  const reports = async (...expected: boolean[]) => {
    await vi.waitFor(() => expect(reported).toEqual(expected), SOON);
    reported.length = 0;
  };
  return { heard, hears, reported, reports, end };
}

describe.skipIf(redisIsMissing()).each([
  ['a connection of its own', false],
  ["the app's subscriber", true],
])('a subscription on %s, with all kinds of clients', (_what, isGiven) => {
  let clients: EveryClient;
  let subscribers: EveryClient;
  let prefix: string;
  beforeAll(async () => {
    clients = await EveryClient.open();
    if (isGiven) subscribers = await EveryClient.open();
  });
  beforeEach(() => {
    prefix = `${randomUUID()}:`;
  });
  afterAll(() => {
    clients?.close();
    subscribers?.close();
  });

  const cacheOf = ({ client }: Opened, kind: ClientKind) => {
    const subscriber = isGiven ? subscribers.of(kind).client : undefined;
    return new RedisCache({ client, subscriber, prefix: `${prefix}${kind}:`, timeout });
  };

  const listenAll = () =>
    clients.each(async (opened, kind) => {
      const cache = cacheOf(opened, kind);
      const subscription = await listen(cache);
      await subscription.reports(false, true);
      return { cache, ...subscription };
    });

  /** Its own connections are closed. */
  const closed = async () => {
    if (isGiven) return;
    await clients.onServers((server) =>
      vi.waitFor(async () => expect(await subscribersOf(server)).toBe(0), SOON),
    );
  };

  it('goes on after an outage, and can begin and end during one', async () => {
    const before = await listenAll();
    const ending = await listenAll();
    await clients.onServers((server) => server.kill());
    const later = await clients.each(async (opened, kind) => listen(cacheOf(opened, kind)));
    for (const { end, heard, reported } of ending) {
      await end();
      await end();
      heard.length = 0;
      reported.length = 0;
    }
    for (const { reports } of [...before, ...later]) await reports(false);
    await clients.onServers((server) => server.restart());
    for (const { reports } of [...before, ...later]) await reports(true);
    for (const { cache } of before) await vi.waitFor(() => cache.publish('after'), SOON);
    for (const { hears } of [...before, ...later]) await hears('after');
    for (const { heard, reported } of ending) expect([...heard, ...reported]).toEqual([]);
    await Promise.all([...before, ...later].map(({ end }) => end()));
    await closed();
  });

  it('reports that the server answers nothing any more, although it is connected', async () => {
    const all = await listenAll();
    await clients.onServers((server) => server.freeze());
    try {
      for (const { reports } of all) await reports(false);
    } finally {
      await clients.onServers((server) => server.thaw());
    }
    for (const { reports } of all) await reports(true);
    for (const { cache } of all) await vi.waitFor(() => cache.publish('after'), SOON);
    for (const { hears } of all) await hears('after');
    await Promise.all(all.map(({ end }) => end()));
    await closed();
  });
});
