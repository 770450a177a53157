import type { Methods, RedisCommands } from './commands.js';

/**
 * A client of `ioredis` 5 or 6, or of `iovalkey`: `new Redis()`, also with `sentinels`, or `new Cluster()`.
 * Declared here by what distinguishes it, so that neither the package nor its types need them.
 */
export type IoRedisClient = Methods<'defineCommand'> & {
  /** The state of its connection, as in `ready`. */
  readonly status: string;
};

/** The members that are used. */
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
  /** Of a cluster, whose own `duplicate` takes other arguments. */
  nodes?(role: 'master'): readonly Client[];
}

/** {@link RedisCommands} on a client of ioredis or iovalkey. */
export function ioRedisCommands(given: unknown): RedisCommands {
  const client = given as Client;

  /** A client of one server. In a cluster any will do, because each server forwards messages to all. */
  const server = (): Client => {
    const nodes = client.nodes?.('master') ?? [client];
    const node = nodes[Math.floor(Math.random() * nodes.length)];
    if (node === undefined) throw new Error('no node of the cluster is known');
    return node;
  };

  const wake = (): void => {
    // `wait` is the state of a `lazyConnect` client before its first command. It retries by itself.
    if (client.status === 'wait') client.connect().catch(() => {});
  };

  return {
    get state() {
      if (client.status === 'ready') return 'ready';
      return client.status === 'end' ? 'closed' : 'waiting';
    },
    onceReady(listener) {
      client.once('ready', listener);
      wake();
    },
    get: (key) => client.get(key),
    set: (key, value, milliseconds) => client.set(key, value, 'PX', milliseconds),
    setIfAbsent: (key, value, milliseconds) => client.set(key, value, 'PX', milliseconds, 'NX'),
    delete: (key) => client.del(key),
    run: (script, key, args) => client.eval(script, 1, key, ...args),
    publish: (channel, message) => client.publish(channel, message),
    async listener(onMessage, onLost) {
      wake();
      const connection = server().duplicate({
        lazyConnect: true,
        retryStrategy: () => null,
        reconnectOnError: null,
        autoResubscribe: false,
      });
      connection.on('error', onLost);
      connection.on('end', onLost);
      connection.on('message', (_channel, message) => onMessage(message ?? ''));
      return {
        async open(channel) {
          await connection.connect();
          await connection.subscribe(channel);
          // Only the app's own client keeps the process alive.
          connection.stream?.unref();
        },
        ping: () => connection.ping(),
        close: () => connection.disconnect(),
      };
    },
  };
}
