import type { Methods, RedisCommands } from './commands.js';

/**
 * A client of `redis` (node-redis) 4.6 to 6: of `createClient()`, `createCluster()` or `createSentinel()`.
 * Declared here by what distinguishes it, so that neither the package nor its types need `redis`.
 */
export type NodeRedisClient = Methods<'pTTL'> & {
  /** Whether `connect()` was called. */
  readonly isOpen: boolean;
};

/** The members that are used. */
interface Client {
  readonly isOpen: boolean;
  /** Absent in a cluster before version 6. */
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
  /** Of a cluster. */
  readonly masters?: readonly unknown[];
  nodeClient?(node: unknown): Client | Promise<Client>;
  /** Of a sentinel: calls `run` with the client of the current master. */
  _execute?<T>(isReadonly: boolean, run: (master: Client) => Promise<T>): Promise<T>;
}

/** {@link RedisCommands} on a client of node-redis. */
export function nodeRedisCommands(given: unknown, timeout: number): RedisCommands {
  const client = given as Client;
  const isCluster = typeof client.nodeClient === 'function';
  const isSentinel = !isCluster && typeof client._execute === 'function';
  // The client's own timeout costs more than the command, and does not end one that was sent. But with several
  // servers, nothing else removes commands from the queue of one that is down.
  const settings = { timeout: isCluster || isSentinel ? timeout : 0, typeMapping: {} };
  const sender = client.withCommandOptions?.(settings) ?? client;

  /** A client of one server. In a cluster any will do, because each server forwards messages to all. */
  const server = async (): Promise<Client> => {
    if (isSentinel && client._execute) return client._execute(false, async (master) => master);
    if (!client.nodeClient || !client.masters) return client;
    return client.nodeClient(client.masters[Math.floor(Math.random() * client.masters.length)]);
  };

  return {
    get state() {
      if (!client.isOpen) return 'closed';
      return client.isReady === false ? 'waiting' : 'ready';
    },
    onceReady: (listener) => void client.once(isCluster ? 'connect' : 'ready', listener),
    get: (key) => sender.get(key),
    set: (key, value, milliseconds) => sender.set(key, value, { PX: milliseconds }),
    setIfAbsent: (key, value, milliseconds) =>
      sender.set(key, value, { PX: milliseconds, NX: true }),
    delete: (key) => sender.del(key),
    run: (script, key, args) => sender.eval(script, { keys: [key], arguments: [...args] }),
    publish: (channel, message) => sender.publish(channel, message),
    async listener(onMessage, onLost) {
      const base = await server();
      const connection = base.duplicate({
        socket: { ...base.options?.socket, reconnectStrategy: false },
        clientSideCache: undefined,
      });
      // Without a listener for `error`, Node ends the process.
      connection.on('error', onLost);
      connection.on('end', onLost);
      return {
        async open(channel) {
          await connection.connect();
          await connection.subscribe(channel, onMessage);
          // Only the app's own client keeps the process alive.
          connection.unref?.();
        },
        ping: () => connection.ping(),
        close() {
          try {
            if (connection.destroy) connection.destroy();
            else connection.disconnect().catch(() => {});
          } catch {
            // It is closed already.
          }
        },
      };
    },
  };
}
