import { wrongOption } from '../../options.js';

/**
 * The commands that the stores use, for every kind of client. Each has one key, because a cluster can have
 * keys on different servers. Replies are those of Redis.
 */
export interface RedisCommands {
  /** A client that is `waiting` queues its commands until it is connected. A `closed` one is closed for good. */
  readonly state: 'ready' | 'waiting' | 'closed';
  /** Calls the listener once, when the state can have changed to `ready`. Opens a client that waits to be used. */
  onceReady(listener: () => void): void;
  get(key: string): Promise<unknown>;
  /** Replies `OK`, or `null` when the key must be absent and is not. */
  set(key: string, value: string, milliseconds: number, mustBeAbsent?: true): Promise<unknown>;
  delete(key: string): Promise<unknown>;
  /** Runs a Lua script on one key. */
  run(script: string, key: string, args: readonly string[]): Promise<unknown>;
  publish(channel: string, message: string): Promise<unknown>;
  /**
   * Prepares to subscribe to channels. Not on the client's own connection, which could then do nothing else, unless
   * `isGiven`: the app has made it to subscribe.
   *
   * @param listeners by channel. The same ones can be given again.
   * @param onLost is called when messages can have been missed, more than once too.
   */
  subscriber(
    listeners: ReadonlyMap<string, (message: string) => void>,
    isGiven: boolean,
    onLost: () => void,
  ): Promise<RedisSubscriber>;
}

/** A connection that subscribes. */
export interface RedisSubscriber {
  /** Subscribes, and connects first if the connection is the package's own. */
  open(): Promise<unknown>;
  /** Ends the connection if it is the package's own. Otherwise it unsubscribes if `isFinal`. Never throws. */
  close(isFinal: boolean): void;
}

/** Methods of both libraries. Not `duplicate`: sentinels of node-redis 5 have none, and need none. */
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

/** The members that are used of both libraries. All are public there. */
interface Client {
  get(key: string): Promise<unknown>;
  del(key: string): Promise<unknown>;
  publish(channel: string, message: string): Promise<unknown>;
  on(event: string, listener: (...args: string[]) => void): unknown;
  off(event: string, listener: (...args: string[]) => void): unknown;
  once(event: string, listener: () => void): unknown;
  connect(): Promise<unknown>;
}

interface NodeRedis extends Client {
  readonly isOpen: boolean;
  /** Absent in a cluster before version 6. */
  readonly isReady?: boolean;
  set(key: string, value: string, options: { PX: number; NX?: true }): Promise<unknown>;
  eval(script: string, options: { keys: string[]; arguments: string[] }): Promise<unknown>;
  subscribe(channel: string, listener: (message: string) => void): Promise<unknown>;
  unsubscribe(channel: string, listener: (message: string) => void): Promise<unknown>;
  duplicate(overrides: object): NodeRedis;
  /** From version 5 on. */
  withCommandOptions?(options: object): NodeRedis;
  destroy?(): unknown;
  /** Up to version 4. */
  disconnect(): Promise<unknown>;
  /** Of a cluster. */
  readonly masters?: readonly unknown[];
  nodeClient?(node: unknown): NodeRedis | Promise<NodeRedis>;
  /** Of a sentinel. */
  acquire?(): unknown;
}

interface IoRedis extends Client {
  readonly status: string;
  set(key: string, value: string, ...options: (string | number)[]): Promise<unknown>;
  eval(script: string, keys: number, ...keysAndArgs: string[]): Promise<unknown>;
  subscribe(...channels: string[]): Promise<unknown>;
  duplicate(overrides: object): IoRedis;
  disconnect(): void;
  /** Of a cluster, whose own `duplicate` takes other arguments. */
  nodes?(role: 'master'): readonly IoRedis[];
}

/** The events of both libraries after which messages can have been missed. */
const LOST = ['error', 'close', 'end', 'topology-change'];

/**
 * Any node of a cluster will do to subscribe, because each forwards messages to all. Clusters can subscribe too, but that
 * of ioredis does not report that it has changed its node.
 */
function randomOf<T>(nodes: readonly T[]): T {
  const node = nodes[Math.floor(Math.random() * nodes.length)];
  if (node === undefined) throw new Error('no node of the cluster is known');
  return node;
}

function nodeRedisCommands(client: NodeRedis, timeout: number): RedisCommands {
  const isCluster = typeof client.nodeClient === 'function';
  const isSentinel = typeof client.acquire === 'function';
  // The client's own timeout costs more than the command, and does not end one that was sent. But with several
  // servers, nothing else removes commands from the queue of one that is down.
  const settings = { timeout: isCluster || isSentinel ? timeout : 0, typeMapping: {} };
  const sender = client.withCommandOptions?.(settings) ?? client;

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
    async subscriber(listeners, isGiven, onLost) {
      // A sentinel opens a separate connection to subscribe by itself.
      const isOwn = !isSentinel && (isCluster || !isGiven);
      const node = isCluster ? await client.nodeClient?.(randomOf(client.masters ?? [])) : client;
      const connection = isOwn && node ? node.duplicate({ clientSideCache: undefined }) : client;
      const end = async (): Promise<unknown> =>
        connection.destroy ? connection.destroy() : connection.disconnect();
      const onEvent = (): void => {
        // At once, because it reconnects next, and could not be closed while it does. It rejects if it is closed already.
        if (isOwn) end().catch(() => {});
        onLost();
      };
      for (const event of LOST) connection.on(event, onEvent);
      const forAll = (method: 'subscribe' | 'unsubscribe') =>
        Promise.all([...listeners].map(([channel, each]) => connection[method](channel, each)));
      return {
        async open() {
          if (isOwn) await connection.connect();
          await forAll('subscribe');
        },
        close(isFinal) {
          // A connection that is closed can still emit `error`.
          if (isOwn) return void end().catch(() => {});
          for (const event of LOST) connection.off(event, onEvent);
          if (isFinal) forAll('unsubscribe').catch(() => {});
        },
      };
    },
  };
}

function ioRedisCommands(client: IoRedis): RedisCommands {
  return {
    get state() {
      if (client.status === 'ready') return 'ready';
      return client.status === 'end' ? 'closed' : 'waiting';
    },
    onceReady(listener) {
      client.once('ready', listener);
      // `wait` is the state of a `lazyConnect` client before its first command. It retries by itself.
      if (client.status === 'wait') client.connect().catch(() => {});
    },
    get: (key) => client.get(key),
    set: (key, value, milliseconds, mustBeAbsent) =>
      client.set(key, value, 'PX', milliseconds, ...(mustBeAbsent ? ['NX'] : [])),
    delete: (key) => client.del(key),
    run: (script, key, args) => client.eval(script, 1, key, ...args),
    publish: (channel, message) => client.publish(channel, message),
    async subscriber(listeners, isGiven, onLost) {
      const isOwn = client.nodes !== undefined || !isGiven;
      const node = client.nodes ? randomOf(client.nodes('master')) : client;
      const connection = isOwn ? node.duplicate({ lazyConnect: true }) : client;
      const onMessage = (channel = '', message = '') => listeners.get(channel)?.(message);
      connection.on('message', onMessage);
      for (const event of LOST) connection.on(event, onLost);
      return {
        async open() {
          if (isOwn) await connection.connect();
          await connection.subscribe(...listeners.keys());
        },
        close() {
          if (isOwn) return connection.disconnect();
          // The channels stay subscribed, because another subscription of this client can need them.
          connection.off('message', onMessage);
          for (const event of LOST) connection.off(event, onLost);
        },
      };
    },
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
 * @param option - the name of the option that the client was given as.
 * @throws TypeError that names the option and says what to pass.
 */
export function redisCommands(
  owner: string,
  value: unknown,
  timeout: number,
  option = 'client',
): RedisCommands {
  const isObject = (typeof value === 'object' || typeof value === 'function') && value !== null;
  const client = (isObject ? value : {}) as Traits;
  const has = (...names: string[]) => names.every((name) => typeof client[name] === 'function');
  const wrong = (problem: string) => wrongOption(owner, option, `${EXPECTED}${problem}`);
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
