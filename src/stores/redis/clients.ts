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
  /** Ends the connection if it is the package's own. The app's stays subscribed, as others can need the channels. */
  close(): void;
}

/** Methods of both libraries. Not `duplicate`: sentinels of node-redis 5 have none, and need none. */
const METHODS = ['get', 'set', 'del', 'eval', 'publish', 'subscribe', 'connect', 'on'] as const;

/** An object with these methods, whatever their overloads. */
type Methods = { readonly [name in (typeof METHODS)[number]]: (...args: never[]) => unknown };

/**
 * A client of `redis` (node-redis) 4.6 to 6: of `createClient()`, `createCluster()` or `createSentinel()`.
 * Declared here by what distinguishes it, so that neither the package nor its types need `redis`.
 */
export type NodeRedisClient = Methods & {
  /** Whether `connect()` was called. */
  readonly isOpen: boolean;
};

/**
 * A client of `ioredis` 5 or 6, or of `iovalkey`: `new Redis()`, also with `sentinels`, or `new Cluster()`.
 * Declared here by what distinguishes it, so that neither the package nor its types need them.
 */
export type IoRedisClient = Methods & {
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

/** The members that are used. All are public. */
interface Client extends Record<Exclude<(typeof METHODS)[number], 'on'>, Call> {
  on(event: string, listener: (...args: string[]) => void): unknown;
  off(event: string, listener: (...args: string[]) => void): unknown;
  /** Not of a sentinel of node-redis 5, nor used of a cluster of ioredis, where it takes other arguments. */
  readonly duplicate: Call<Client>;
  /** Of ioredis, and of node-redis up to version 4; `destroy` from version 5 on. */
  disconnect(): unknown;
  destroy?(): unknown;

  // Of node-redis:
  readonly isOpen: boolean;
  /** Absent in a cluster before version 6. */
  readonly isReady?: boolean;
  /** From version 5 on. */
  readonly withCommandOptions?: Call<Client>;
  /** Of a cluster. */
  readonly masters?: readonly unknown[];
  readonly nodeClient?: Call<Client | Promise<Client>>;
  /** Of a sentinel. */
  readonly acquire?: Call;

  // Of ioredis:
  readonly status: string;
  /** Of a cluster. */
  readonly nodes?: Call<readonly Client[]>;
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

function nodeRedisCommands(client: Client, timeout: number): RedisCommands {
  // The client's own timeout costs more than the command. But with several servers, nothing else removes commands from
  // the queue of one that is down.
  const settings = { timeout: client.nodeClient || client.acquire ? timeout : 0, typeMapping: {} };
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
      const node = await client.nodeClient?.(randomOf(client.masters ?? []));
      // A sentinel opens a separate connection to subscribe by itself.
      const isOwn = client.acquire === undefined && (node !== undefined || !isGiven);
      const connection = isOwn
        ? (node ?? client).duplicate({ clientSideCache: undefined })
        : client;
      const end = async () => (connection.destroy ? connection.destroy() : connection.disconnect());
      const onEvent = (): void => {
        // At once, because it reconnects next, and could not be closed while it does. It rejects if it is closed already.
        if (isOwn) end().catch(() => {});
        onLost();
      };
      for (const event of LOST) connection.on(event, onEvent);
      return {
        async open() {
          if (isOwn) await connection.connect();
          await Promise.all([...listeners].map((each) => connection.subscribe(...each)));
        },
        close() {
          // A connection that is closed can still emit `error`.
          if (isOwn) return void end().catch(() => {});
          for (const event of LOST) connection.off(event, onEvent);
        },
      };
    },
  };
}

function ioRedisCommands(client: Client): RedisCommands {
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
          if (isOwn) return void connection.disconnect();
          connection.off('message', onMessage);
          for (const event of LOST) connection.off(event, onLost);
        },
      };
    },
  };
}

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
  const client: Partial<Record<string, unknown>> = Object(value);
  if (METHODS.every((name) => typeof client[name] === 'function')) {
    if (typeof client.isOpen === 'boolean') return nodeRedisCommands(value as Client, timeout);
    if (typeof client.status === 'string') return ioRedisCommands(value as Client);
  }
  throw wrongOption(
    owner,
    option,
    'must be a client of redis 4.6 or later (createClient, createCluster, createSentinel) or of ioredis 5 or later or iovalkey (new Redis, new Cluster), awaited if it is a promise',
  );
}
