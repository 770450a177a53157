import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { REDIS_SERVER } from '../support/redis-server.js';

const MASTER_NAME = 'shop';
const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** How long a frozen master still believes to be one, at most, before it goes on. */
const FROZEN = 3000;

class Server {
  private constructor(
    readonly port: number,
    readonly child: ChildProcess,
  ) {}

  static async start(folder: string, port: number, args: readonly string[]): Promise<Server> {
    const own = join(folder, `${port}`);
    await mkdir(own);
    await writeFile(join(own, 'conf'), `port ${port}\nbind 127.0.0.1\ndir ${own}\n`);
    const all = [join(own, 'conf'), ...args];
    const child = spawn(REDIS_SERVER ?? 'redis-server', all, {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    let log = '';
    child.stdout.on('data', (chunk) => {
      log += chunk;
    });
    const server = new Server(port, child);
    for (let i = 0; (await server.ask('PING')) !== 'PONG'; i++) {
      if (i > 200 || child.exitCode !== null) throw new Error(`redis-server: ${log}`);
      await sleep(20);
    }
    return server;
  }

  /** The answer, or `undefined` when there is none in time. */
  async ask(name: string, ...args: string[]): Promise<unknown> {
    const options = { lazyConnect: true, retryStrategy: () => null, commandTimeout: 500 };
    const client = new Redis(this.port, { ...options, connectTimeout: 500 });
    client.on('error', () => {});
    try {
      return await client.call(name, ...args);
    } catch {
      return undefined;
    } finally {
      client.disconnect();
    }
  }

  async is(wanted: 'master' | 'slave'): Promise<boolean> {
    const role = await this.ask('ROLE');
    return Array.isArray(role) && role[0] === wanted;
  }

  signal(signal: NodeJS.Signals): void {
    this.child.kill(signal);
  }

  async end(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    this.child.kill('SIGKILL');
    await once(this.child, 'exit');
  }
}

/** Servers of Redis that take over for each other: of a cluster, or data servers with sentinels. */
export class Topology {
  /** From when until when a frozen master went on that had been replaced: what it acknowledged, Redis drops. */
  readonly stale: (readonly [from: number, to: number])[] = [];

  constructor(
    readonly folder: string,
    readonly servers: Server[],
    readonly others: readonly Server[] = [],
  ) {}

  /** Ports that an app is told: all nodes of the cluster, or the sentinels. */
  get ports(): readonly number[] {
    return (this.others.length > 0 ? this.others : this.servers).map(({ port }) => port);
  }

  /** Ends a master for good, and waits until another server is one. */
  async kill(): Promise<void> {
    const [master, replicas] = await this.#roles();
    await master.end();
    await this.#oneOf(replicas);
    this.servers.splice(this.servers.indexOf(master), 1);
  }

  /**
   * Stops a master until another server is one, and for a while after; then lets it go on, and waits until it is
   * a replica.
   */
  async freeze(): Promise<void> {
    const [master, replicas] = await this.#roles();
    master.signal('SIGSTOP');
    await this.#oneOf(replicas);
    await sleep(FROZEN);
    const from = Date.now();
    master.signal('SIGCONT');
    while (!(await master.is('slave'))) await sleep(50);
    this.stale.push([from, Date.now()]);
  }

  async stop(): Promise<void> {
    await Promise.all([...this.servers, ...this.others].map((server) => server.end()));
    await rm(this.folder, { recursive: true, force: true });
  }

  /** A master that has a replica, and all replicas, once none is on its way to another master. */
  async #roles(): Promise<[master: Server, replicas: Server[]]> {
    for (;;) {
      const roles = await Promise.all(
        this.servers.map(async (server) => ({ server, role: await server.ask('ROLE') })),
      );
      const lists = roles.map(({ server, role }) => ({ server, role: role as unknown[] }));
      const masters = lists.filter(({ role }) => role?.[0] === 'master');
      const master = masters.find(({ role }) => String(role[2]) !== '');
      const replicas = lists.filter(({ role }) => role?.[0] === 'slave' && role[3] === 'connected');
      const isCalm = masters.length + replicas.length === lists.length;
      // Sentinels watch one master. While there are two, they are in the middle of a failover.
      const isOnly = this.others.length === 0 || masters.length === 1;
      if (master !== undefined && replicas.length > 0 && isCalm && isOnly) {
        return [master.server, replicas.map(({ server }) => server)];
      }
      await sleep(100);
    }
  }

  async #oneOf(replicas: readonly Server[]): Promise<void> {
    for (;;) {
      const areMasters = await Promise.all(replicas.map((replica) => replica.is('master')));
      if (areMasters.includes(true)) return;
      await sleep(50);
    }
  }
}

/**
 * A master and three replicas, so that each of two failovers leaves a master with a replica. As the Redis guide says, a
 * master that has lost its replicas takes no writes: sentinels need about ten seconds to demote one that comes back. And
 * a master counts as down only after a time that no sentinel stands still for: one that did would start a second
 * failover, and for a second both new masters would take writes.
 */
export async function startSentinels(): Promise<Topology> {
  const folder = await mkdtemp(join(tmpdir(), 'marketgate-sentinel-'));
  const [master = 0, ...ports] = await freePorts(7);
  const data = ['--save', '', '--repl-diskless-sync-delay', '0'];
  data.push('--min-replicas-to-write', '1', '--min-replicas-max-lag', '2');
  const servers = [await Server.start(folder, master, data)];
  for (const port of ports.splice(0, 3)) {
    servers.push(await Server.start(folder, port, [...data, '--replicaof', `127.0.0.1 ${master}`]));
  }
  const sentinels: Server[] = [];
  for (const port of ports) {
    const watch = [
      `sentinel monitor ${MASTER_NAME} 127.0.0.1 ${master} 2`,
      `sentinel down-after-milliseconds ${MASTER_NAME} 3000`,
      `sentinel failover-timeout ${MASTER_NAME} 5000`,
    ];
    const own = join(folder, `${port}-watch`);
    await writeFile(own, `${watch.join('\n')}\n`);
    const include = ['--include', own, '--sentinel'];
    sentinels.push(await Server.start(folder, port, include));
  }
  return new Topology(folder, servers, sentinels);
}

/** Three masters with a replica each. */
export async function startCluster(): Promise<Topology> {
  const folder = await mkdtemp(join(tmpdir(), 'marketgate-cluster-'));
  const servers: Server[] = [];
  for (const port of await freePorts(6)) {
    const args = ['--cluster-enabled', 'yes', '--cluster-node-timeout', '1500', '--save', ''];
    args.push('--cluster-port', `${port + 1}`, '--repl-diskless-sync-delay', '0');
    servers.push(await Server.start(folder, port, args));
  }
  const [first, ...others] = servers as [Server, ...Server[]];
  for (const { port } of others) {
    await first.ask('CLUSTER', 'MEET', '127.0.0.1', `${port}`, `${port + 1}`);
  }
  const SLOTS = [
    ['0', '5460'],
    ['5461', '10922'],
    ['10923', '16383'],
  ];
  const masters = servers.slice(0, 3);
  for (const [i, master] of masters.entries()) {
    await master.ask('CLUSTER', 'ADDSLOTSRANGE', ...(SLOTS[i] ?? []));
  }
  for (const [i, replica] of servers.slice(3).entries()) {
    const id = String(await masters[i]?.ask('CLUSTER', 'MYID'));
    while ((await replica.ask('CLUSTER', 'REPLICATE', id)) !== 'OK') await sleep(100);
  }
  for (const server of servers) {
    while (!String(await server.ask('CLUSTER', 'INFO')).includes('cluster_state:ok')) {
      await sleep(100);
    }
  }
  return new Topology(folder, servers);
}

/** Ports in pairs, for the bus of a cluster is next to its node. */
async function freePorts(count: number): Promise<number[]> {
  const ports: number[] = [];
  while (ports.length < count) {
    const port = 10_000 + 2 * Math.floor(Math.random() * 10_000);
    if (!ports.includes(port) && (await isFree(port)) && (await isFree(port + 1))) ports.push(port);
  }
  return ports;
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, '127.0.0.1');
  const free = await once(server, 'listening').then(
    () => true,
    () => false,
  );
  server.close();
  return free;
}
