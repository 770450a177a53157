import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { accessSync, constants, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { Cluster, Redis } from 'ioredis';
import { createClient, createCluster } from 'redis';

/** A redis-server of the tests' own, on a loopback port, empty and without a disk. */
export interface RedisServer {
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  /** Ends it for good. */
  stop(): Promise<void>;
  /** SIGKILL: connections are cut, and everything is forgotten. */
  kill(): Promise<void>;
  /** Starts it again after {@link kill}: empty, on the same port. */
  restart(): Promise<void>;
  /** SIGSTOP: it takes connections and commands, and answers nothing. */
  freeze(): void;
  thaw(): void;
  flush(): Promise<void>;
  configSet(name: string, value: string): Promise<void>;
  /** Sends any command, on a connection of its own. */
  command(...words: string[]): Promise<unknown>;
}

const PROGRAM = (process.env.PATH ?? '')
  .split(delimiter)
  .filter(Boolean)
  .map((folder) => join(folder, 'redis-server'))
  .find(isProgram);

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** For `describe.skipIf`. Says how to get a server, so that a skip is not silent. */
export function redisIsMissing(): boolean {
  if (PROGRAM !== undefined) return false;
  console.warn(
    'Redis tests are skipped: no redis-server on PATH. Get one with "apt-get install redis-server".',
  );
  return true;
}

/** Where no control of the process is needed: the Redis of REDIS_URL, or else one of our own. */
export async function anyRedis(): Promise<{ url: string; stop(): Promise<void> }> {
  const { REDIS_URL: url } = process.env;
  return url ? { url, stop: async () => {} } : startRedis();
}

/** @param cluster as a cluster of one node, that has all slots. */
export async function startRedis({ cluster = false } = {}): Promise<RedisServer> {
  for (let attempt = 1; ; attempt++) {
    // Somebody else can take a port between looking for it and using it.
    const [port, busPort] = [await freePort(), await freePort()];
    const server = new OwnServer(port, cluster ? busPort : undefined);
    try {
      await server.restart();
      return server;
    } catch (error) {
      await server.stop();
      if (attempt === 3) throw error;
    }
  }
}

class OwnServer implements RedisServer {
  readonly #folder = mkdtempSync(join(tmpdir(), 'marketgate-redis-'));
  #process: ChildProcess | undefined;
  #watchdog: ChildProcess | undefined;

  constructor(
    readonly port: number,
    readonly busPort: number | undefined,
  ) {}

  get url(): string {
    return `redis://127.0.0.1:${this.port}`;
  }

  get pid(): number {
    return this.#process?.pid ?? 0;
  }

  async restart(): Promise<void> {
    const args = ['--port', `${this.port}`, '--bind', '127.0.0.1', '--dir', this.#folder];
    args.push('--save', '', '--appendonly', 'no', '--daemonize', 'no');
    if (this.busPort !== undefined) {
      args.push('--cluster-enabled', 'yes', '--cluster-port', `${this.busPort}`);
      args.push('--cluster-announce-ip', '127.0.0.1');
    }
    const child = spawn(PROGRAM ?? 'redis-server', args, { stdio: ['ignore', 'pipe', 'ignore'] });
    this.#process = child;
    // Its input ends when this process does, however that comes: then the server goes as well.
    const dog = ['-c', 'cat >/dev/null; kill -9 "$0"; rm -rf "$1"', `${child.pid}`, this.#folder];
    this.#watchdog = spawn('sh', dog, { stdio: ['pipe', 'ignore', 'ignore'] });
    let log = '';
    await new Promise<void>((resolve, reject) => {
      child.stdout?.on('data', (chunk) => {
        log += chunk;
        if (log.includes('Ready to accept connections')) resolve();
      });
      child.once('exit', () => reject(new Error(`redis-server did not start: ${log}`)));
      child.once('error', reject);
    });
    if (this.busPort !== undefined) await this.#beCluster();
  }

  async #beCluster(): Promise<void> {
    const slots = `${await this.command('CLUSTER', 'INFO')}`;
    if (slots.includes('cluster_slots_assigned:0')) {
      await this.command('CLUSTER', 'ADDSLOTSRANGE', '0', '16383');
    }
    // After a restart a node waits two seconds before it serves.
    while (!`${await this.command('CLUSTER', 'INFO')}`.includes('cluster_state:ok')) {
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  async kill(): Promise<void> {
    const child = this.#process;
    this.#watchdog?.kill('SIGKILL');
    if (child?.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'exit');
  }

  async stop(): Promise<void> {
    await this.kill();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  freeze(): void {
    this.#process?.kill('SIGSTOP');
  }

  thaw(): void {
    this.#process?.kill('SIGCONT');
  }

  async flush(): Promise<void> {
    await this.command('FLUSHALL');
  }

  async configSet(name: string, value: string): Promise<void> {
    await this.command('CONFIG', 'SET', name, value);
  }

  async command(name: string, ...args: string[]): Promise<unknown> {
    const client = new Redis(this.port, '127.0.0.1', { retryStrategy: () => null });
    client.on('error', () => {});
    try {
      return await client.call(name, ...args);
    } finally {
      client.disconnect();
    }
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  return typeof address === 'object' && address !== null ? address.port : 0;
}

const quiet = () => {};

/** One connected client of each kind, as an app makes it: with what it is, and how to end it. */
export const CLIENTS = {
  'node-redis': async (url: string) => {
    const client = createClient({ url }).on('error', quiet);
    await client.connect();
    return { client, close: () => client.destroy() };
  },
  ioredis: async (url: string) => {
    const client = new Redis(url).on('error', quiet);
    return { client, close: () => client.disconnect() };
  },
  'node-redis cluster': async (url: string) => {
    const client = createCluster({ rootNodes: [{ url }] }).on('error', quiet);
    await client.connect();
    return { client, close: () => client.destroy() };
  },
  'ioredis cluster': async (url: string) => {
    const client = new Cluster([url]).on('error', quiet);
    return { client, close: () => client.disconnect() };
  },
};

export type ClientKind = keyof typeof CLIENTS;

export const isClusterKind = (kind: ClientKind): boolean => kind.endsWith('cluster');
export const CLIENT_KINDS = Object.keys(CLIENTS) as ClientKind[];
