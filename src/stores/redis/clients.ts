import { wrongOption } from '../../options.js';

/**
 * The commands that the stores use, for every kind of client. Each has one key, because a cluster can have
 * keys on different servers. Replies are those of Redis.
 */
export interface RedisCommands {
  /** Whether it sends a command now. It would queue one while it connects. */
  readonly isReady: boolean;
  /** Whether it is closed for good, or was never opened. */
  readonly isClosed: boolean;
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

type Call<Reply = Promise<unknown>> = (...args: unknown[]) => Reply;

/** The members that are used of both libraries. All are public there. */
interface Client extends Record<Exclude<(typeof COMMON)[number], 'on'>, Call> {
  on(event: string, listener: (...args: string[]) => void): unknown;
  off(event: string, listener: (...args: string[]) => void): unknown;
}

interface NodeRedis extends Client {
  readonly isOpen: boolean;
  /** Absent in a cluster before version 6. */
  readonly isReady?: boolean;
  readonly unsubscribe: Call;
  readonly duplicate: Call<NodeRedis>;
  /** From version 5 on. */
  readonly withCommandOptions?: Call<NodeRedis>;
  readonly destroy?: Call<unknown>;
  /** Up to version 4. */
  readonly disconnect: Call;
  /** Of a cluster. */
  readonly masters?: readonly unknown[];
  readonly nodeClient?: Call<NodeRedis | Promise<NodeRedis>>;
  /** Of a sentinel. */
  readonly acquire?: Call;
}

interface IoRedis extends Client {
  readonly status: string;
  readonly duplicate: Call<IoRedis>;
  readonly disconnect: Call<void>;
  /** Of a cluster, whose own `duplicate` takes other arguments. */
  readonly nodes?: Call<readonly IoRedis[]>;
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
    get isReady() {
      return client.isOpen && client.isReady !== false;
    },
    get isClosed() {
      return !client.isOpen;
    },
    get: (key) => sender.get(key),
    set: (key, value, milliseconds, mustBeAbsent) =>
      sender.set(key, value, { PX: milliseconds, ...(mustBeAbsent && { NX: true }) }),
    delete: (key) => sender.del(key),
    run: (script, key, args) => sender.eval(script, { keys: [key], arguments: args }),
    publish: (channel, message) => sender.publish(channel, message),
    async subscriber(listeners, isGiven, onLost) {
      // A sentinel opens a separate connection to subscribe by itself.
      const isOwn = !isSentinel && (isCluster || !isGiven);
      const node = isCluster ? await client.nodeClient?.(randomOf(client.masters ?? [])) : client;
      const connection = isOwn && node ? node.duplicate({ clientSideCache: undefined }) : client;
      const end = async () => (connection.destroy ? connection.destroy() : connection.disconnect());
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
    get isReady() {
      // `wait` is the state of a `lazyConnect` client, which its first command connects.
      return client.status === 'ready' || client.status === 'wait';
    },
    get isClosed() {
      return client.status === 'end';
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
  const client = Object(value) as Readonly<Record<string, unknown>>;
  const has = (...names: string[]) => names.every((name) => typeof client[name] === 'function');
  const wrong = (problem: string) => wrongOption(owner, option, EXPECTED + problem);
  if (has('then')) throw wrong('; this is a Promise of one: await it');
  if (typeof value === 'string' || value instanceof URL) throw wrong('; this is a URL');
  // Of node-redis 4: its methods take callbacks then.
  const { legacyMode } = Object(client.options) as { legacyMode?: unknown };
  if (legacyMode === true) throw wrong('; this one is in legacyMode');
  if (has(...COMMON, 'pTTL') && typeof client.isOpen === 'boolean') {
    return nodeRedisCommands(value as NodeRedis, timeout);
  }
  if (has(...COMMON, 'defineCommand', 'pttl') && typeof client.status === 'string') {
    return ioRedisCommands(value as IoRedis);
  }
  throw wrong('');
}
