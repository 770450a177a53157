import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { freePort, REDIS_SERVER, type RedisServer, startRedis } from '../support/redis-server.js';

const MASTER_NAME = 'shop';

/** How long a frozen master still believes to be one, at most, before it goes on. */
const FROZEN = 3000;

/** Servers of Redis that take over for each other: of a cluster, or data servers with sentinels. */
export class Topology {
  /** From when until when a frozen master went on that had been replaced: what it acknowledged, Redis drops. */
  readonly stale: (readonly [from: number, to: number])[] = [];

  constructor(
    readonly servers: RedisServer[],
    readonly sentinels: readonly Sentinel[] = [],
  ) {}

  /** Ports that an app is told: all nodes of the cluster, or the sentinels. */
  get ports(): readonly number[] {
    return (this.sentinels.length > 0 ? this.sentinels : this.servers).map(({ port }) => port);
  }

  /** Ends a master for good, and waits until another server is one. */
  async kill(): Promise<void> {
    const [master, replicas] = await this.#roles();
    this.servers.splice(this.servers.indexOf(master), 1);
    await master.stop();
    await oneIsMaster(replicas);
  }

  /** Stops a master until another server is one, and for a while after; then waits until it is a replica. */
  async freeze(): Promise<void> {
    const [master, replicas] = await this.#roles();
    master.freeze();
    await oneIsMaster(replicas);
    await sleep(FROZEN);
    const from = Date.now();
    master.thaw();
    while ((await roleOf(master))[0] !== 'slave') await sleep(50);
    this.stale.push([from, Date.now()]);
  }

  async stop(): Promise<void> {
    await Promise.all([...this.servers, ...this.sentinels].map((server) => server.stop()));
  }

  /** A master that has a replica, and all replicas, once none is on its way to another master. */
  async #roles(): Promise<[master: RedisServer, replicas: RedisServer[]]> {
    for (;;) {
      const masters: [RedisServer, hasReplica: boolean][] = [];
      const replicas: RedisServer[] = [];
      for (const server of this.servers) {
        const role = await roleOf(server);
        if (role[0] === 'master') masters.push([server, String(role[2]) !== '']);
        if (role[0] === 'slave' && role[3] === 'connected') replicas.push(server);
      }
      const [master] = masters.find(([, hasReplica]) => hasReplica) ?? [];
      const isCalm = masters.length + replicas.length === this.servers.length;
      // Sentinels watch one master. While there are two, they are in the middle of a failover.
      const isOnly = this.sentinels.length === 0 || masters.length === 1;
      if (master !== undefined && replicas.length > 0 && isCalm && isOnly) {
        return [master, replicas];
      }
      await sleep(100);
    }
  }
}

const roleOf = async (server: RedisServer) => (await server.command('ROLE')) as unknown[];

async function oneIsMaster(servers: readonly RedisServer[]): Promise<void> {
  for (;;) {
    for (const server of servers) if ((await roleOf(server))[0] === 'master') return;
    await sleep(50);
  }
}

/**
 * A master and three replicas, so that each of two failovers leaves a master with a replica. As the Redis guide says, a
 * master that has lost its replicas takes no writes: sentinels need about ten seconds to demote one that comes back.
 */
export async function startSentinels(): Promise<Topology> {
  const args = ['--repl-diskless-sync-delay', '0'];
  args.push('--min-replicas-to-write', '1', '--min-replicas-max-lag', '2');
  const master = await startRedis(undefined, undefined, args);
  args.push('--replicaof', `127.0.0.1 ${master.port}`);
  const start = () => startRedis(undefined, undefined, args);
  const replicas = await Promise.all([start(), start(), start()]);
  const sentinels = [1, 2, 3].map(() => startSentinel(master.port));
  return new Topology([master, ...replicas], await Promise.all(sentinels));
}

type Sentinel = Awaited<ReturnType<typeof startSentinel>>;

async function startSentinel(master: number) {
  const folder = await mkdtemp(join(tmpdir(), 'marketgate-sentinel-'));
  const port = await freePort();
  const lines = [
    ...[`port ${port}`, 'bind 127.0.0.1', `dir ${folder}`],
    `sentinel monitor ${MASTER_NAME} 127.0.0.1 ${master} 2`,
    // Longer than a sentinel stands still for: it would start a second failover, and for a second both new masters
    // would take writes.
    `sentinel down-after-milliseconds ${MASTER_NAME} 3000`,
    `sentinel failover-timeout ${MASTER_NAME} 5000`,
  ];
  const file = join(folder, 'conf');
  await writeFile(file, `${lines.join('\n')}\n`);
  const child = spawn(REDIS_SERVER ?? 'redis-server', [file, '--sentinel'], { stdio: 'ignore' });
  // It connects again and again until the sentinel has started.
  const probe = new Redis(port, { retryStrategy: () => 20, maxRetriesPerRequest: null });
  await probe.on('error', () => {}).ping();
  probe.disconnect();
  const stop = async () => {
    child.kill('SIGKILL');
    await rm(folder, { recursive: true, force: true });
  };
  return { port, stop };
}

/** Three masters with a replica each. */
export async function startCluster(): Promise<Topology> {
  const servers: RedisServer[] = [];
  for (let i = 0; i < 6; i++) {
    const args = ['--cluster-enabled', 'yes', '--cluster-node-timeout', '1500'];
    args.push('--cluster-port', `${await freePort()}`, '--repl-diskless-sync-delay', '0');
    servers.push(await startRedis(undefined, undefined, args));
  }
  const [first, ...others] = servers as [RedisServer, ...RedisServer[]];
  for (const { port, args } of others) {
    const bus = args[args.indexOf('--cluster-port') + 1] ?? '';
    await first.command('CLUSTER', 'MEET', '127.0.0.1', `${port}`, bus);
  }
  for (const [i, slots] of ['0 5460', '5461 10922', '10923 16383'].entries()) {
    const [master, replica] = [servers[i], servers[i + 3]];
    await master?.command('CLUSTER', 'ADDSLOTSRANGE', ...slots.split(' '));
    const id = String(await master?.command('CLUSTER', 'MYID'));
    const replicate = () => replica?.command('CLUSTER', 'REPLICATE', id).catch(() => undefined);
    // Until it has met its master.
    while ((await replicate()) !== 'OK') await sleep(100);
  }
  for (const server of servers) {
    while (!String(await server.command('CLUSTER', 'INFO')).includes('cluster_state:ok')) {
      await sleep(100);
    }
  }
  return new Topology(servers);
}
