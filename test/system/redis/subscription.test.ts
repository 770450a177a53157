import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { RedisCache } from 'marketgate/redis';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { redisCommands } from '../../../src/stores/redis/redis-client.js';
import { Subscription } from '../../../src/stores/redis/subscription.js';
import {
  CLIENT_KINDS,
  CLIENTS,
  isClusterKind,
  type RedisServer,
  redisIsMissing,
  startRedis,
} from '../../support/redis-server.js';
import { driftDuring } from '../../unit/stores/support.js';

const SOON = { timeout: 15_000, interval: 20 };
const CHANNEL = 'marketgate:cache:invalidate';

describe.skipIf(redisIsMissing()).each(CLIENT_KINDS)('a subscription with %s', (kind) => {
  let server: RedisServer;
  beforeAll(async () => {
    server = await startRedis({ cluster: isClusterKind(kind) });
  });
  afterAll(() => server?.stop());

  async function open() {
    const { client, close } = await CLIENTS[kind](server.url);
    const cache = new RedisCache({ client, timeout: 2000 });
    await vi.waitFor(() => cache.get('any'), SOON);
    return { client, cache, close };
  }

  const subscribers = async () =>
    `${await server.command('CLIENT', 'LIST', 'TYPE', 'pubsub')}`.split('\n').filter(Boolean);

  it('hears what another process publishes, and nothing that is another cache’s', async () => {
    const [here, there] = [await open(), await open()];
    const heard: unknown[] = [];
    const end = await here.cache.subscribe((key) => heard.push(key));
    const { client } = there;
    await new RedisCache({ client, prefix: 'other:', timeout: 2000 }).publish('not this');
    const key = randomUUID();
    await there.cache.publish(key);
    await there.cache.publish(undefined);
    await vi.waitFor(() => expect(heard).toEqual([key, undefined]), SOON);
    await end();
    here.close();
    there.close();
  });

  it('takes a message of a newer version for all keys, and ignores rubbish', async () => {
    const { cache, close } = await open();
    const heard: unknown[] = [];
    const end = await cache.subscribe((key) => heard.push(key));
    const drift = await driftDuring(async () => {
      for (const message of ['', '{', 'null', '"x"', '{"v":"1"}', '{"v":1,"key":5}']) {
        await server.command('PUBLISH', CHANNEL, message);
      }
      await server.command('PUBLISH', CHANNEL, JSON.stringify({ v: 2, keys: ['a', 'b'] }));
      await vi.waitFor(() => expect(heard).toEqual([undefined]), SOON);
    });
    // Once an hour is enough to know that somebody puts rubbish there.
    expect(drift).toHaveLength(1);
    await end();
    close();
  });

  it('invalidates all keys when the connection was away, and hears again', async () => {
    const { cache, close } = await open();
    const heard: unknown[] = [];
    const end = await cache.subscribe((key) => heard.push(key));
    for (const _time of [1, 2]) {
      heard.length = 0;
      await server.command('CLIENT', 'KILL', 'TYPE', 'pubsub');
      await vi.waitFor(() => expect(heard).toEqual([undefined]), SOON);
      await cache.publish('after');
      await vi.waitFor(() => expect(heard).toEqual([undefined, 'after']), SOON);
      expect(await subscribers()).toHaveLength(1);
    }
    await end();
    close();
  });

  it('goes on when Redis was killed and comes back', async () => {
    const { cache, close } = await open();
    const heard: unknown[] = [];
    const end = await cache.subscribe((key) => heard.push(key));
    await server.kill();
    await server.restart();
    await vi.waitFor(() => expect(heard).toEqual([undefined]), SOON);
    await vi.waitFor(() => cache.publish('after'), SOON);
    await vi.waitFor(() => expect(heard).toContain('after'), SOON);
    await end();
    close();
  });

  it('can begin while Redis is down', async () => {
    const { cache, close } = await open();
    const heard: unknown[] = [];
    await server.kill();
    const end = await cache.subscribe((key) => heard.push(key));
    expect(heard).toEqual([]);
    await server.restart();
    await vi.waitFor(() => expect(heard).toEqual([undefined]), SOON);
    await vi.waitFor(() => cache.publish('after'), SOON);
    await vi.waitFor(() => expect(heard).toContain('after'), SOON);
    await end();
    close();
  });

  it('closes its connection at the end, also in the middle of an outage', async () => {
    const { cache, close } = await open();
    const ends = [await cache.subscribe(() => {}), await cache.subscribe(() => {})];
    expect(await subscribers()).toHaveLength(2);
    await ends[0]?.();
    await vi.waitFor(async () => expect(await subscribers()).toHaveLength(1), SOON);
    await server.kill();
    await ends[1]?.();
    await ends[1]?.();
    await server.restart();
    await vi.waitFor(() => cache.get('any'), SOON);
    expect(await subscribers()).toHaveLength(0);
    close();
  });

  it('notices a connection on which nothing is answered any more', async () => {
    const { client, close } = await open();
    const heard: unknown[] = [];
    const commands = redisCommands('test', client, 2000);
    const connections = vi.spyOn(commands, 'listener');
    const times = { heartbeat: 30, patience: 200 };
    const subscription = new Subscription(commands, CHANNEL, (key) => heard.push(key), times);
    await subscription.listening;
    // A living one is kept, over many heartbeats.
    const pings = async () =>
      Number(
        `${await server.command('INFO', 'commandstats')}`.match(/cmdstat_ping:calls=(\d+)/)?.[1],
      );
    await vi.waitFor(async () => expect(await pings()).toBeGreaterThan(5), SOON);
    expect(connections).toHaveBeenCalledTimes(1);
    server.freeze();
    await vi.waitFor(() => expect(connections.mock.calls.length).toBeGreaterThan(1), SOON);
    server.thaw();
    await vi.waitFor(() => expect(heard).toEqual([undefined]), SOON);
    await vi.waitFor(async () => expect(await subscribers()).toHaveLength(1), SOON);
    subscription.close();
    close();
  });
});

it.skipIf(redisIsMissing())('hears what a real other process publishes', async () => {
  const server = await startRedis();
  const { client, close } = await CLIENTS['node-redis'](server.url);
  const cache = new RedisCache({ client, timeout: 2000 });
  const heard: unknown[] = [];
  const end = await cache.subscribe((key) => heard.push(key));
  const script = `
    import { Redis } from 'ioredis';
    import { RedisCache } from './src/stores/redis/index.ts';
    const client = new Redis(process.argv[1]);
    await new RedisCache({ client, timeout: 5000 }).publish('from afar');
    client.disconnect();`;
  await new Promise<void>((resolve, reject) => {
    const args = ['--import', 'tsx', '--input-type=module', '-e', script, server.url];
    execFile(process.execPath, args, (error) => (error ? reject(error) : resolve()));
  });
  await vi.waitFor(() => expect(heard).toEqual(['from afar']), SOON);
  await end();
  close();
  await server.stop();
});
