import type { RedisCommands, RedisListener, RedisState } from './redis-commands.js';

/** What is used of a client of ioredis. */
interface Client {
  readonly status: string;
  get(key: string): Promise<unknown>;
  set(key: string, value: string, ...options: (string | number)[]): Promise<unknown>;
  del(key: string): Promise<unknown>;
  eval(script: string, keys: number, ...keysAndArgs: string[]): Promise<unknown>;
  publish(channel: string, message: string): Promise<unknown>;
  subscribe(channel: string): Promise<unknown>;
  ping(): Promise<unknown>;
  on(event: string, listener: (...args: string[]) => void): unknown;
  once(event: string, listener: () => void): unknown;
  connect(): Promise<unknown>;
  duplicate(overrides: object): Client;
  disconnect(): void;
  /** The socket of a connection. */
  readonly stream?: { unref(): unknown };
}

/** What a cluster has beside that; its own `duplicate` takes other arguments. */
interface Cluster extends Client {
  nodes(role: 'master'): readonly Client[];
}

/** {@link RedisCommands} on ioredis. */
export class IoRedisCommands implements RedisCommands {
  readonly #client: Client;

  /** @param client known to be a client of ioredis, by its shape. */
  constructor(client: unknown) {
    this.#client = client as Client;
  }

  get state(): RedisState {
    const { status } = this.#client;
    if (status === 'ready') return 'ready';
    return status === 'end' ? 'closed' : 'waiting';
  }

  wake(): void {
    // With `lazyConnect`. It goes on trying by itself, so this one failure says nothing.
    if (this.#client.status === 'wait') this.#client.connect().catch(() => {});
  }

  onceReady(listener: () => void): void {
    this.#client.once('ready', listener);
  }

  get(key: string): Promise<unknown> {
    return this.#client.get(key);
  }

  set(key: string, value: string, milliseconds: number): Promise<unknown> {
    return this.#client.set(key, value, 'PX', milliseconds);
  }

  setIfAbsent(key: string, value: string, milliseconds: number): Promise<unknown> {
    return this.#client.set(key, value, 'PX', milliseconds, 'NX');
  }

  delete(key: string): Promise<unknown> {
    return this.#client.del(key);
  }

  run(script: string, key: string, args: readonly string[]): Promise<unknown> {
    return this.#client.eval(script, 1, key, ...args);
  }

  publish(channel: string, message: string): Promise<unknown> {
    return this.#client.publish(channel, message);
  }

  async listener(onMessage: (message: string) => void, onLost: () => void): Promise<RedisListener> {
    this.wake();
    const client = this.#anyNode().duplicate({
      lazyConnect: true,
      retryStrategy: () => null,
      reconnectOnError: null,
      autoResubscribe: false,
    });
    client.on('error', onLost);
    client.on('end', onLost);
    client.on('message', (_channel, message) => onMessage(message ?? ''));
    return {
      async open(channel) {
        await client.connect();
        await client.subscribe(channel);
        // The app's own client holds the process, and when that is closed nothing does.
        client.stream?.unref();
      },
      ping: () => client.ping(),
      close: () => client.disconnect(),
    };
  }

  /** A node of a cluster: what is published on one is heard on all. */
  #anyNode(): Client {
    const cluster = this.#client as Partial<Cluster>;
    if (typeof cluster.nodes !== 'function') return this.#client;
    const nodes = cluster.nodes('master');
    const node = nodes[Math.floor(Math.random() * nodes.length)];
    if (node === undefined) throw new Error('no node of the cluster is known');
    return node;
  }
}
