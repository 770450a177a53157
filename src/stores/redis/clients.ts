import { wrongOption } from '../../options.js';

/** What a client does with a command. */
export type RedisState =
  /** It sends the command at once. */
  | 'ready'
  /** It queues the command until it is connected. */
  | 'waiting'
  /** It was never opened, or is closed for good. */
  | 'closed';

/**
 * The commands that the stores use, for every kind of client. Each has one key, because a cluster can have
 * keys on different servers. Replies are those of Redis.
 */
export interface RedisCommands {
  readonly state: RedisState;
  /** Calls the listener once, when the state can have changed to `ready`. Opens a client that waits to be used. */
  onceReady(listener: () => void): void;
  get(key: string): Promise<unknown>;
  /** Replies `OK`, or `null` when the key must be absent and is not. */
  set(key: string, value: string, milliseconds: number, mustBeAbsent?: true): Promise<unknown>;
  delete(key: string): Promise<unknown>;
  /** Runs a Lua script on one key. */
  run(script: string, key: string, args: readonly string[]): Promise<unknown>;
  publish(channel: string, message: string): Promise<unknown>;
  /** A separate connection, not yet open, because one that subscribes can do nothing else. */
  subscriber(onMessage: (message: string) => void, onLost: () => void): Promise<RedisSubscriber>;
}

/**
 * One connection to one server. It does not reconnect by itself, because its owner must know that messages
 * can have been missed.
 */
export interface RedisSubscriber {
  /** Connects and subscribes. */
  open(channel: string): Promise<unknown>;
  /** Settles when the server has answered. */
  ping(): Promise<unknown>;
  /** Ends the connection in any state. Never throws. */
  close(): void;
}

/** Methods of both libraries. Not `duplicate`: sentinels of node-redis 5 have none, but those of their servers do. */
const COMMON = ['get', 'set', 'del', 'eval', 'publish', 'subscribe', 'connect', 'on'] as const;

/** An object with these methods and others, whatever their overloads. */
type Methods<Other extends string> = {
  readonly [name in (typeof COMMON)[number] | Other]: (...args: never[]) => unknown;
};

/**
 * A client of `redis` (node-redis) 4.6 to 6: of `createClient()`, `createCluster()` or `createSentinel()`.
 * Declared here by what distinguishes it, so that neither the package nor its types need `redis`.
 */
export type NodeRedisClient = Methods<'pTTL'> & {
  /** Whether `connect()` was called. */
  readonly isOpen: boolean;
};

/**
 * A client of `ioredis` 5 or 6, or of `iovalkey`: `new Redis()`, also with `sentinels`, or `new Cluster()`.
 * Declared here by what distinguishes it, so that neither the package nor its types need them.
 */
export type IoRedisClient = Methods<'defineCommand'> & {
  /** The state of its connection, as in `ready`. */
  readonly status: string;
};

/**
 * The client that the app has made and connected. The package neither closes it nor changes its settings. The
 * app must listen to its `error` events, as both libraries require: otherwise Node ends the process with the
 * first lost connection.
 */
export type RedisClient = NodeRedisClient | IoRedisClient;

/** The members that are used of both libraries. */
interface Client {
  get(key: string): Promise<unknown>;
  del(key: string): Promise<unknown>;
  publish(channel: string, message: string): Promise<unknown>;
  ping(): Promise<unknown>;
  on(event: string, listener: (...args: string[]) => void): unknown;
  once(event: string, listener: () => void): unknown;
  connect(): Promise<unknown>;
}

interface NodeRedis extends Client {
  readonly isOpen: boolean;
  /** Absent in a cluster before version 6. */
  readonly isReady?: boolean;
  readonly options?: { readonly socket?: object };
  set(key: string, value: string, options: { PX: number; NX?: true }): Promise<unknown>;
  eval(script: string, options: { keys: string[]; arguments: string[] }): Promise<unknown>;
  subscribe(channel: string, listener: (message: string) => void): Promise<unknown>;
  duplicate(overrides: object): NodeRedis;
  unref?(): unknown;
  /** From version 5 on. */
  withCommandOptions?(options: object): NodeRedis;
  destroy?(): unknown;
  /** Up to version 4. */
  disconnect(): Promise<unknown>;
  /** Of a cluster. */
  readonly masters?: readonly unknown[];
  nodeClient?(node: unknown): NodeRedis | Promise<NodeRedis>;
  /** Of a sentinel: calls `run` with the client of the current master. */
  _execute?<T>(isReadonly: boolean, run: (master: NodeRedis) => Promise<T>): Promise<T>;
}

interface IoRedis extends Client {
  readonly status: string;
  set(key: string, value: string, ...options: (string | number)[]): Promise<unknown>;
  eval(script: string, keys: number, ...keysAndArgs: string[]): Promise<unknown>;
  subscribe(channel: string): Promise<unknown>;
  duplicate(overrides: object): IoRedis;
  disconnect(): void;
  /** The socket of a connection. */
  readonly stream?: { unref(): unknown };
  /** Of a cluster, whose own `duplicate` takes other arguments. */
  nodes?(role: 'master'): readonly IoRedis[];
}

/** Any node of a cluster will do to listen, because each forwards messages to all. */
const randomOf = <T>(nodes: readonly T[]): T | undefined =>
  nodes[Math.floor(Math.random() * nodes.length)];

function nodeRedisCommands(client: NodeRedis, timeout: number): RedisCommands {
  const isCluster = typeof client.nodeClient === 'function';
  const isSentinel = !isCluster && typeof client._execute === 'function';
  // The client's own timeout costs more than the command, and does not end one that was sent. But with several
  // servers, nothing else removes commands from the queue of one that is down.
  const settings = { timeout: isCluster || isSentinel ? timeout : 0, typeMapping: {} };
  const sender = client.withCommandOptions?.(settings) ?? client;

  const server = async (): Promise<NodeRedis> => {
    if (isSentinel && client._execute) return client._execute(false, async (master) => master);
    if (!client.nodeClient || !client.masters) return client;
    return client.nodeClient(randomOf(client.masters));
  };

  return {
    get state() {
      if (!client.isOpen) return 'closed';
      return client.isReady === false ? 'waiting' : 'ready';
    },
    onceReady: (listener) => void client.once(isCluster ? 'connect' : 'ready', listener),
    get: (key) => sender.get(key),
    set: (key, value, milliseconds, mustBeAbsent) =>
      sender.set(key, value, { PX: milliseconds, ...(mustBeAbsent && { NX: true }) }),
    delete: (key) => sender.del(key),
    run: (script, key, args) => sender.eval(script, { keys: [key], arguments: [...args] }),
    publish: (channel, message) => sender.publish(channel, message),
    async subscriber(onMessage, onLost) {
      const base = await server();
      const connection = base.duplicate({
        socket: { ...base.options?.socket, reconnectStrategy: false },
        clientSideCache: undefined,
      });
      return subscriberOn(connection, onLost, {
        async open(channel) {
          await connection.connect();
          await connection.subscribe(channel, onMessage);
          connection.unref?.();
        },
        close: async () => (connection.destroy ? connection.destroy() : connection.disconnect()),
      });
    },
  };
}

function ioRedisCommands(client: IoRedis): RedisCommands {
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
    set: (key, value, milliseconds, mustBeAbsent) =>
      client.set(key, value, 'PX', milliseconds, ...(mustBeAbsent ? ['NX'] : [])),
    delete: (key) => client.del(key),
    run: (script, key, args) => client.eval(script, 1, key, ...args),
    publish: (channel, message) => client.publish(channel, message),
    async subscriber(onMessage, onLost) {
      wake();
      const node = randomOf(client.nodes?.('master') ?? [client]);
      if (node === undefined) throw new Error('no node of the cluster is known');
      const connection = node.duplicate({
        lazyConnect: true,
        retryStrategy: () => null,
        reconnectOnError: null,
        autoResubscribe: false,
      });
      connection.on('message', (_channel, message) => onMessage(message ?? ''));
      return subscriberOn(connection, onLost, {
        async open(channel) {
          await connection.connect();
          await connection.subscribe(channel);
          connection.stream?.unref();
        },
        close: async () => connection.disconnect(),
      });
    },
  };
}

/**
 * The parts that both libraries have in common. Only the app's own client keeps the process alive, so `open` unrefs the
 * connection.
 */
function subscriberOn(
  connection: Client,
  onLost: () => void,
  { open, close }: { open: RedisSubscriber['open']; close(): Promise<unknown> },
): RedisSubscriber {
  // Without a listener for `error`, Node ends the process.
  connection.on('error', onLost);
  connection.on('end', onLost);
  return {
    open,
    ping: () => connection.ping(),
    // It rejects when the connection is closed already.
    close: () => void close().catch(() => {}),
  };
}

const EXPECTED =
  'must be a client of redis 4.6 or later (createClient, createCluster, createSentinel) or of ioredis 5 or later or iovalkey (new Redis, new Cluster)';

type Traits = Readonly<Record<string, unknown>> & { options?: { legacyMode?: unknown } };

/**
 * The commands of a client of either library, which is recognised by its shape. Any other client is refused
 * here, because it would fail only with the first customer.
 *
 * @param timeout - the deadline of a command, in milliseconds.
 * @throws TypeError that names the option and says what to pass.
 */
export function redisCommands(owner: string, value: unknown, timeout: number): RedisCommands {
  const isObject = (typeof value === 'object' || typeof value === 'function') && value !== null;
  const client = (isObject ? value : {}) as Traits;
  const has = (...names: string[]) => names.every((name) => typeof client[name] === 'function');
  const wrong = (problem: string) => wrongOption(owner, 'client', `${EXPECTED}${problem}`);
  if (has('then')) throw wrong('; this is a Promise of one: await it');
  if (typeof value === 'string' || value instanceof URL) throw wrong('; this is a URL');
  if (has('internal_send_command')) throw wrong('; this is of redis 3 or earlier');
  if (client.options?.legacyMode === true) throw wrong('; this one is in legacyMode');
  if (has('execute')) throw wrong('; this is a pool of node-redis');
  if (has('customCommand')) throw wrong('; this is of valkey-glide, whose commands differ');
  if (has(...COMMON, 'pTTL') && typeof client.isOpen === 'boolean') {
    return nodeRedisCommands(value as NodeRedis, timeout);
  }
  if (has(...COMMON, 'defineCommand', 'pttl') && typeof client.status === 'string') {
    return ioRedisCommands(value as IoRedis);
  }
  throw wrong('');
}
