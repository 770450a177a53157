import { vi } from 'vitest';
import {
  CLIENT_KINDS,
  CLIENTS,
  type ClientKind,
  isClusterKind,
  type RedisServer,
  SOON,
  sharedRedis,
} from '../../../support/redis-server.js';

export type Opened = Awaited<ReturnType<(typeof CLIENTS)[ClientKind]>>;

/** A client of each kind, so that all kinds go through one outage together. */
export class EveryClient {
  private constructor(
    readonly servers: readonly RedisServer[],
    readonly opened: readonly (Opened & { kind: ClientKind })[],
  ) {}

  /** Connected to the shared servers of this worker, which are empty then. */
  static async open(): Promise<EveryClient> {
    const [single, cluster] = await Promise.all([sharedRedis(), sharedRedis({ cluster: true })]);
    const opened = CLIENT_KINDS.map(async (kind) => {
      const client = await CLIENTS[kind]((isClusterKind(kind) ? cluster : single).url);
      // A client of a cluster can still be learning which node has what.
      await vi.waitFor(() => client.client.get('any'), SOON);
      return { ...client, kind };
    });
    return new EveryClient([single, cluster], await Promise.all(opened));
  }

  /** The client of one kind. */
  of(kind: ClientKind): Opened {
    const opened = this.opened.find((each) => each.kind === kind);
    if (opened === undefined) throw new Error(`no client of kind ${kind}`);
    return opened;
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
