import { Cluster, Redis } from 'ioredis';
import { type RedisClient, RedisTokenStore } from 'marketgate/redis';
import { createClient, createCluster } from 'redis';
import { vi } from 'vitest';
import { type RedisServer, SOON, sharedRedis } from '../../../support/redis-server.js';

/** A client as an app makes it, a second connection that subscribes, and what closes both. */
export interface Opened {
  readonly client: RedisClient;
  readonly subscriber: RedisClient;
  close(): unknown;
}

/** As much of a client of node-redis as its app needs. */
type NodeRedis = RedisClient & {
  on(event: 'error', listener: () => void): unknown;
  connect(): Promise<unknown>;
  duplicate(): NodeRedis;
  destroy(): unknown;
};

const quiet = () => {};
// The libraries wait longer and longer before they reconnect; what is tested does not depend on it.
const soon = () => 20;

/** A client of node-redis and its duplicate, both connected. */
export async function nodeRedis(client: NodeRedis): Promise<Opened> {
  const subscriber = client.duplicate();
  for (const each of [client, subscriber]) {
    each.on('error', quiet);
    await each.connect();
  }
  return { client, subscriber, close: () => [client, subscriber].map((each) => each.destroy()) };
}

/** Two clients of ioredis, which connect by themselves. */
export function ioRedis(
  make: () => Redis | Cluster,
  makeSubscriber: () => Redis | Cluster = make,
): Opened {
  const [client, subscriber] = [make(), makeSubscriber()];
  for (const each of [client, subscriber]) each.on('error', quiet);
  return { client, subscriber, close: () => [client, subscriber].map((each) => each.disconnect()) };
}

// ioredis handles no rejection where it subscribes again by itself. RedisCache does that, too.
const single = (url: string) => () =>
  new Redis(url, { retryStrategy: soon, autoResubscribe: false });

/** The clients whose connections differ. */
export const CLIENTS = {
  'node-redis': (url: string) =>
    nodeRedis(createClient({ url, socket: { reconnectStrategy: soon } })),
  ioredis: (url: string) => ioRedis(single(url)),
  'node-redis cluster': (url: string) =>
    nodeRedis(
      createCluster({
        rootNodes: [{ url }],
        defaults: { socket: { reconnectStrategy: soon } },
      }),
    ),
  // One node subscribes, as the guide says.
  'ioredis cluster': (url: string) =>
    ioRedis(() => new Cluster([url], { clusterRetryStrategy: soon }), single(url)),
};

type ClientKind = keyof typeof CLIENTS;

/** A client of each kind, so that all kinds go through one outage together. */
export class EveryClient {
  private constructor(
    readonly servers: readonly RedisServer[],
    readonly opened: readonly (Opened & { kind: ClientKind })[],
  ) {}

  /** Connected to the shared servers of this worker, which are empty then. */
  static async open(): Promise<EveryClient> {
    const servers = await Promise.all([sharedRedis(), sharedRedis({ cluster: true })]);
    const opened = (Object.keys(CLIENTS) as ClientKind[]).map(async (kind) => {
      const { url } = servers[kind.includes('cluster') ? 1 : 0];
      const each = await CLIENTS[kind](url);
      await untilReady(each);
      return { ...each, kind };
    });
    return new EveryClient(servers, await Promise.all(opened));
  }

  /** Runs with all clients side by side; a failure names the kind of client. */
  async each<T>(run: (opened: Opened, kind: ClientKind) => Promise<T>): Promise<T[]> {
    const runs = this.opened.map(async (opened) => {
      try {
        return await run(opened, opened.kind);
      } catch (error) {
        throw new Error(`with ${opened.kind}: ${error}`, { cause: error });
      }
    });
    return Promise.all(runs);
  }

  async onServers(run: (server: RedisServer) => unknown): Promise<void> {
    await Promise.all(this.servers.map(run));
  }

  close(): void {
    for (const { close } of this.opened) close();
  }
}

/** A client of a cluster can still be learning which node has what, and a user its permissions. */
export async function untilReady({ client }: Opened): Promise<void> {
  const store = new RedisTokenStore({ client });
  await vi.waitFor(() => store.get('any'), SOON);
}
