import { Cluster } from 'ioredis';
import { type RedisClient, RedisTokenStore } from 'marketgate/redis';
import { createCluster } from 'redis';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import {
  freePort,
  type RedisServer,
  redisIsMissing,
  SOON,
  startRedis,
} from '../../support/redis-server.js';
import { HOUR, tokenOf } from '../../unit/stores/support.js';

/** A client of a cluster that reads from replicas where it can, and how it reads. */
interface Reading {
  client: RedisClient & { get(key: string): Promise<unknown> };
  close(): unknown;
}

const CLIENTS: [string, (url: string) => Promise<Reading>][] = [
  [
    'ioredis, scaleReads',
    async (url) => {
      const client = new Cluster([url], { scaleReads: 'slave' }).on('error', () => {});
      return { client, close: () => client.disconnect() };
    },
  ],
  [
    'node-redis, useReplicas',
    async (url) => {
      const client = createCluster({ rootNodes: [{ url }], useReplicas: true });
      await client.on('error', () => {}).connect();
      return { client, close: () => client.destroy() };
    },
  ],
];

describe.skipIf(redisIsMissing())('a cluster whose client reads replicas', () => {
  let servers: readonly [primary: RedisServer, replica: RedisServer];
  const start = async () => {
    const bus = `${await freePort()}`;
    const args = ['--cluster-enabled', 'yes', '--cluster-port', bus];
    // Nodes hear of each other as often as this says.
    args.push('--repl-diskless-sync-delay', '0', '--cluster-node-timeout', '500');
    return { server: await startRedis(undefined, undefined, args), bus };
  };
  beforeAll(async () => {
    const [primary, replica] = [await start(), await start()];
    servers = [primary.server, replica.server];
    await primary.server.command('CLUSTER', 'ADDSLOTSRANGE', '0', '16383');
    const { port } = replica.server;
    await primary.server.command('CLUSTER', 'MEET', '127.0.0.1', `${port}`, replica.bus);
    const id = String(await primary.server.command('CLUSTER', 'MYID'));
    // Until they have met, and it has a copy.
    await vi.waitFor(() => replica.server.command('CLUSTER', 'REPLICATE', id), SOON);
    await vi.waitFor(async () => {
      const role = (await replica.server.command('ROLE')) as unknown[];
      expect([role[0], role[3]]).toEqual(['slave', 'connected']);
      const info = String(await primary.server.command('CLUSTER', 'INFO'));
      expect(info).toContain('cluster_state:ok');
      const slots = JSON.stringify(await primary.server.command('CLUSTER', 'SLOTS'));
      expect(slots).toContain(`${port}`);
    }, SOON);
  });
  afterAll(() => Promise.all(servers.map((server) => server.stop())));

  it.each(CLIENTS)('has its tokens read from the primary: %s', async (_kind, open) => {
    const [primary, replica] = servers;
    const { client, close } = await open(primary.url);
    onTestFinished(() => void close());
    const ran = async (command: string) => {
      const stats = String(await replica.command('INFO', 'commandstats'));
      return Number(new RegExp(`cmdstat_${command}:calls=(\\d+)`).exec(stats)?.[1] ?? 0);
    };
    // What the client itself reads comes from the replica.
    const before = await ran('get');
    await vi.waitFor(async () => {
      await client.get('any');
      expect(await ran('get')).toBeGreaterThan(before);
    }, SOON);
    const store = new RedisTokenStore({ client });
    const token = { ...tokenOf(), expiresAt: Date.now() + HOUR };
    await store.set('anna', token);
    for (let n = 0; n < 20; n++) expect(await store.get('anna')).toEqual(token);
    expect(await ran('eval')).toBe(0);
  });
});
