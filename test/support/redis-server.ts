import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { REDIS_SERVER } from './programs.js';

/** For `describe.skipIf`. The end of the run says how to get a server. */
export const redisIsMissing = (): boolean => REDIS_SERVER === undefined;

/**
 * Where no control of the process is needed: the Redis of REDIS_URL, or else the shared one, with whatever is in it,
 * because tests that run at the same time use it.
 */
export const anyRedis = async (): Promise<string> =>
  process.env.REDIS_URL || (await startedRedis(false)).url;

const shared = new Map<boolean, Promise<RedisServer>>();

function startedRedis(cluster: boolean): Promise<RedisServer> {
  const started = shared.get(cluster) ?? start(cluster);
  shared.set(cluster, started);
  return started;
}

/**
 * The server that all tests of this worker share, in its initial state and empty. It starts with its
 * first use and ends with the worker.
 */
export async function sharedRedis({ cluster = false } = {}): Promise<RedisServer> {
  const server = await startedRedis(cluster);
  await server.reset();
  return server;
}

/**
 * A server of its own, for a test that needs a second one.
 * @param program another server than `redis-server`.
 */
export const startRedis = (program?: string): Promise<RedisServer> => start(false, program);

async function start(cluster: boolean, program?: string): Promise<RedisServer> {
  for (let attempt = 1; ; attempt++) {
    // Another process can take a port between the look and the use.
    const [port, busPort] = [await freePort(), await freePort()];
    const server = new RedisServer(port, cluster ? busPort : undefined, program);
    try {
      await server.restart();
      return server;
    } catch (error) {
      await server.stop();
      if (attempt === 3) throw error;
    }
  }
}

const PASS = `for _, key in ipairs(redis.call('KEYS', '*')) do
  local life = redis.call('PTTL', key)
  if life >= 0 then redis.call('PEXPIRE', key, life - ARGV[1]) end
end`;

/** A redis-server of the tests, on a loopback port, without persistence. */
export class RedisServer {
  readonly #folder = mkdtempSync(join(tmpdir(), 'marketgate-redis-'));
  readonly #socket = join(this.#folder, 'socket');
  #process: ChildProcess | undefined;
  #watchdog: ChildProcess | undefined;
  #control: Redis | undefined;

  /** @param busPort makes it a cluster of one node, which has all slots. */
  constructor(
    readonly port: number,
    readonly busPort: number | undefined,
    readonly program = REDIS_SERVER ?? 'redis-server',
  ) {}

  get url(): string {
    return `redis://127.0.0.1:${this.port}`;
  }

  /** Starts it again after {@link kill}, on the same port, and empty. */
  async restart(): Promise<void> {
    if (this.#control) await this.configSet('port', `${this.port}`);
    else await this.#start();
  }

  async #start(): Promise<void> {
    const args = ['--port', `${this.port}`, '--bind', '127.0.0.1', '--dir', this.#folder];
    args.push('--unixsocket', this.#socket, '--save', '');
    if (this.busPort !== undefined) {
      args.push('--cluster-enabled', 'yes', '--cluster-port', `${this.busPort}`);
      args.push('--cluster-announce-ip', '127.0.0.1', '--cluster-announce-port', `${this.port}`);
    }
    const child = spawn(this.program, args, { stdio: ['ignore', 'pipe', 'pipe'] });
    this.#process = child;
    // Its stdin ends when this process does, for whatever reason: then the server ends as well.
    const dog = ['-c', 'cat >/dev/null; kill -9 "$0"; rm -rf "$1"', `${child.pid}`, this.#folder];
    this.#watchdog = spawn('sh', dog, { stdio: ['pipe', 'ignore', 'ignore'] });
    let log = '';
    await new Promise<void>((resolve, reject) => {
      for (const output of [child.stdout, child.stderr]) {
        output.on('data', (chunk) => {
          log += chunk;
          // The socket is the last to listen: "at PATH" up to Redis 7.0, "unix" in Redis 8 and Valkey.
          if (/ready to accept connections (at|unix)/i.test(log)) resolve();
        });
      }
      child.once('close', () => reject(new Error(`${this.program} did not start: ${log}`)));
      child.once('error', reject);
    });
    // A sentinel ends all connections of the server that it promotes.
    this.#control = new Redis(this.#socket, { retryStrategy: () => 20 }).on('error', () => {});
    await this.#control.ping();
    // None of them keeps the worker from ending.
    for (const each of [child, child.stdout, child.stderr, this.#watchdog, this.#watchdog.stdin]) {
      (each as { unref?(): void } | null)?.unref?.();
    }
    this.#control.stream.unref();
    if (this.busPort !== undefined) await this.#beCluster();
  }

  async #beCluster(): Promise<void> {
    await this.command('CLUSTER', 'ADDSLOTSRANGE', '0', '16383');
    // A node that has just started serves nothing for two seconds.
    while (!`${await this.command('CLUSTER', 'INFO')}`.includes('cluster_state:ok')) {
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  /** Cuts all connections, refuses new ones and loses all data, until {@link restart}. */
  async kill(): Promise<void> {
    if (this.busPort === undefined) return this.#end();
    // For the clients of a cluster the same, without the two seconds of a start.
    await this.configSet('port', '0');
    for (const type of ['normal', 'pubsub']) await this.command('CLIENT', 'KILL', 'TYPE', type);
    await this.command('FLUSHALL');
  }

  async #end(): Promise<void> {
    this.#control?.disconnect();
    this.#control = undefined;
    const child = this.#process;
    this.#watchdog?.kill('SIGKILL');
    if (child?.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGKILL');
    child.ref();
    await once(child, 'exit');
  }

  /** Ends it for good. Not needed for a shared one. */
  async stop(): Promise<void> {
    await this.#end();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  async reset(): Promise<void> {
    this.thaw();
    await this.restart();
    await this.configSet('maxmemory', '0');
    await this.command('FLUSHALL');
  }

  /** SIGSTOP: it accepts connections and commands, and answers nothing. */
  freeze(): void {
    this.#process?.kill('SIGSTOP');
  }

  thaw(): void {
    this.#process?.kill('SIGCONT');
  }

  async configSet(name: string, value: string): Promise<void> {
    await this.command('CONFIG', 'SET', name, value);
  }

  /** Sends any command, on a separate connection. */
  async command(name: string, ...args: string[]): Promise<unknown> {
    return this.#control?.call(name, ...args);
  }

  /** Lets time pass for all keys at once: each ends that many milliseconds earlier. */
  async pass(milliseconds: number): Promise<void> {
    await this.command('EVAL', PASS, '0', `${milliseconds}`);
  }
}

/** What can happen to a server, and how it is undone. */
export const TROUBLES = {
  killed: { begin: (server) => server.kill(), end: (server) => server.restart() },
  frozen: { begin: (server) => server.freeze(), end: (server) => server.thaw() },
  full: {
    begin: (server) => server.configSet('maxmemory', '1'),
    end: (server) => server.configSet('maxmemory', '0'),
  },
} satisfies Record<string, Record<'begin' | 'end', (server: RedisServer) => unknown>>;

/** Below the ports of outgoing connections: a client that reconnects could take one of these itself. */
async function freePort(): Promise<number> {
  for (;;) {
    const port = 10_000 + Math.floor(Math.random() * 20_000);
    const server = createServer().listen(port, '127.0.0.1');
    const isFree = await once(server, 'listening').then(
      () => true,
      () => false,
    );
    if (!isFree) continue;
    server.close();
    await once(server, 'close');
    return port;
  }
}

/** For `vi.waitFor`: what comes at once, on a machine however busy. */
export const SOON = { timeout: 40_000, interval: 10 };
