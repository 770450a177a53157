import type { RedisCommands, RedisListener, RedisState } from './redis-commands.js';

/** What is used of a client of node-redis, of all its versions. */
interface Client {
  readonly isOpen: boolean;
  /** A cluster has it from version 6 on. */
  readonly isReady?: boolean;
  readonly options?: { readonly socket?: object };
  get(key: string): Promise<unknown>;
  set(key: string, value: string, options: { PX: number; NX?: true }): Promise<unknown>;
  del(key: string): Promise<unknown>;
  eval(script: string, options: { keys: string[]; arguments: string[] }): Promise<unknown>;
  publish(channel: string, message: string): Promise<unknown>;
  subscribe(channel: string, listener: (message: string) => void): Promise<unknown>;
  ping(): Promise<unknown>;
  on(event: string, listener: () => void): unknown;
  once(event: string, listener: () => void): unknown;
  connect(): Promise<unknown>;
  duplicate(overrides: object): Client;
  unref?(): unknown;
  /** From version 5 on. */
  withCommandOptions?(options: object): Client;
  destroy?(): unknown;
  /** Up to version 4. */
  disconnect(): Promise<unknown>;
}

/** What a cluster has beside that. */
interface Cluster extends Client {
  readonly masters: readonly unknown[];
  nodeClient(node: unknown): Client | Promise<Client>;
}

/** {@link RedisCommands} on node-redis. */
export class NodeRedisCommands implements RedisCommands {
  readonly #client: Client;
  readonly #sender: Client;

  /** @param client known to be a client of node-redis, by its shape. */
  constructor(client: unknown, timeout: number) {
    this.#client = client as Client;
    // Its own timer per command costs more than the command, and does not end one that was sent. But
    // in a cluster it is all that takes commands out of the queue of a node that is down.
    const settings = { timeout: isCluster(this.#client) ? timeout : 0, typeMapping: {} };
    this.#sender = this.#client.withCommandOptions?.(settings) ?? this.#client;
  }

  get state(): RedisState {
    if (!this.#client.isOpen) return 'closed';
    return this.#client.isReady === false ? 'waiting' : 'ready';
  }

  wake(): void {}

  onceReady(listener: () => void): void {
    this.#client.once(isCluster(this.#client) ? 'connect' : 'ready', listener);
  }

  get(key: string): Promise<unknown> {
    return this.#sender.get(key);
  }

  set(key: string, value: string, milliseconds: number): Promise<unknown> {
    return this.#sender.set(key, value, { PX: milliseconds });
  }

  setIfAbsent(key: string, value: string, milliseconds: number): Promise<unknown> {
    return this.#sender.set(key, value, { PX: milliseconds, NX: true });
  }

  delete(key: string): Promise<unknown> {
    return this.#sender.del(key);
  }

  run(script: string, key: string, args: readonly string[]): Promise<unknown> {
    return this.#sender.eval(script, { keys: [key], arguments: [...args] });
  }

  publish(channel: string, message: string): Promise<unknown> {
    return this.#sender.publish(channel, message);
  }

  async listener(onMessage: (message: string) => void, onLost: () => void): Promise<RedisListener> {
    const base = await this.#anyNode();
    const client = base.duplicate({
      socket: { ...base.options?.socket, reconnectStrategy: false },
      clientSideCache: undefined,
    });
    // Must be listened to in any case, or Node takes the process down.
    client.on('error', onLost);
    client.on('end', onLost);
    return {
      async open(channel) {
        await client.connect();
        await client.subscribe(channel, onMessage);
        // The app's own client holds the process, and when that is closed nothing does.
        client.unref?.();
      },
      ping: () => client.ping(),
      close: () => closeAnyhow(client),
    };
  }

  /** A node of a cluster: what is published on one is heard on all. */
  async #anyNode(): Promise<Client> {
    if (!isCluster(this.#client)) return this.#client;
    const { masters } = this.#client;
    return this.#client.nodeClient(masters[Math.floor(Math.random() * masters.length)]);
  }
}

const isCluster = (client: Client): client is Cluster =>
  typeof (client as Partial<Cluster>).nodeClient === 'function';

function closeAnyhow(client: Client): void {
  try {
    if (client.destroy) client.destroy();
    else client.disconnect().catch(() => {});
  } catch {
    // It throws when it is closed already.
  }
}
