import { randomUUID } from 'node:crypto';
import { NoAnswer } from '../../deadline.js';
import { wrongOption } from '../../options.js';

/** What the stores use of Redis. Each command is in a script, which clusters and sentinels send to a primary. */
export interface Redis {
  /** Runs a Lua script on keys of one hash slot. */
  run(script: string, keys: readonly string[], args: readonly string[]): Promise<unknown>;
  publish(channel: string, message: string): Promise<unknown>;
}

/** What receives the messages of one channel. */
export interface Subscription {
  /** Subscribes, and resolves when the server has confirmed it: each time anew, also when it was subscribed before. */
  confirm(): Promise<unknown>;
  end(): unknown;
}

/** A connection that subscribes. */
export interface Subscriber {
  /** Calls `listener` with the messages of a channel, once it is confirmed. */
  subscribe(channel: string, listener: (message: string) => void): Subscription;
  /** Calls `listener` whenever the connection was lost, is back or has moved to another server. */
  onChange(listener: () => void): () => void;
}

type Methods<Name extends string> = { readonly [name in Name]: (...args: never[]) => unknown };

/**
 * A client of `redis` (node-redis) 4.6 to 6: of `createClient()`, `createCluster()` or `createSentinel()`.
 * Declared here by what distinguishes it, so that neither the package nor its types need `redis`.
 */
export type NodeRedisClient = Methods<'eval' | 'publish' | 'subscribe' | 'on'> & {
  /** Whether `connect()` was called. */
  readonly isOpen: boolean;
};

/**
 * A client of `ioredis` 5 or 6, or of `iovalkey`: `new Redis()`, also with `sentinels`, or `new Cluster()`.
 * Declared here by what distinguishes it, so that neither the package nor its types need them.
 */
export type IoRedisClient = Methods<'eval' | 'publish' | 'subscribe' | 'on'> & {
  /** The state of its connection, as in `ready`. */
  readonly status: string;
};

/**
 * The client that the app has made and connected. The package neither closes it nor changes its settings. The
 * app must listen to its `error` events, as both libraries require: otherwise Node ends the process with the
 * first lost connection.
 */
export type RedisClient = NodeRedisClient | IoRedisClient;

/** The members that are used. All are public. */
interface Client {
  readonly isOpen?: boolean;
  /** Of node-redis 5 and 6. */
  withCommandOptions?(options: object): Client;
  /** Of a cluster, and of a sentinel. */
  readonly nodeClient?: unknown;
  readonly acquire?: unknown;
  eval(script: string, ...given: unknown[]): Promise<unknown>;
  publish(channel: string, message: string): Promise<unknown>;
  subscribe(channel: string, listener?: (message: string) => void): Promise<unknown>;
  unsubscribe(channel: string, listener: (message: string) => void): Promise<unknown>;
  on(event: string, listener: Listener): unknown;
  off(event: string, listener: Listener): unknown;
}

interface Library {
  redis(client: Client): Redis;
  subscribe(client: Client): Subscriber['subscribe'];
}

const nodeRedis: Library = {
  redis(client) {
    // Its timer for each command costs more than the command, and whoever calls a store has one. With several servers,
    // nothing else would remove commands for one that is down.
    const isSingle = client.nodeClient === undefined && client.acquire === undefined;
    const sender = (isSingle && client.withCommandOptions?.({ timeout: 0 })) || client;
    return {
      run: (script, keys, args) => sender.eval(script, { keys, arguments: args }),
      publish: (channel, message) => sender.publish(channel, message),
    };
  },
  subscribe: (client) => (channel, listener) => ({
    async confirm() {
      // It would wait for ever.
      if (!client.isOpen)
        throw new NoAnswer('was not sent, because the subscriber is not connected');
      await client.subscribe(channel, listener);
      // It does not ask the server about a channel that it has. The answer about another one comes after that.
      const other = `${channel}:${randomUUID()}`;
      await client.subscribe(other, listener);
      await client.unsubscribe(other, listener);
    },
    async end() {
      // Valkey refuses to end what it has refused to begin. The listener is gone in any case.
      if (client.isOpen) await client.unsubscribe(channel, listener).catch(() => {});
    },
  }),
};

const ioRedis: Library = {
  redis: (client) => ({
    run: (script, keys, args) => client.eval(script, keys.length, ...keys, ...args),
    publish: (channel, message) => client.publish(channel, message),
  }),
  subscribe(client) {
    const listen = sharedListener(client, ['message']);
    return (channel, listener) => {
      // It stays subscribed at the end, because something else in the app can need the channel.
      const end = listen((from = '', message = '') => {
        if (from === channel) listener(message);
      });
      return { confirm: () => client.subscribe(channel), end };
    };
  },
};

type Listener = (...given: string[]) => void;

/**
 * Makes a function that adds a listener to events of a client, and gives what takes it away. The client gets one for all of
 * them, because many KeyApi can share a subscriber, and Node warns of more than ten.
 */
function sharedListener(client: Client, events: readonly string[]) {
  const listeners = new Set<Listener>();
  const all: Listener = (...given) => {
    for (const each of listeners) each(...given);
  };
  return (listener: Listener): (() => void) => {
    if (listeners.size === 0) for (const event of events) client.on(event, all);
    listeners.add(listener);
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0) for (const event of events) client.off(event, all);
    };
  };
}

/** The events of all kinds of clients after which messages can have been missed, or arrive again. */
const CHANGES = [
  ...['error', 'end', 'ready', 'reconnecting', 'close'],
  // Clusters and sentinels of node-redis.
  ...['node-error', 'node-reconnecting', 'node-ready', 'node-disconnect', 'topology-change'],
  // Clusters of ioredis.
  ...['node error', '+node', '-node'],
];

const KINDS =
  'a client of redis 4.6 or later (createClient, createCluster, createSentinel) or of ioredis 5 or later or iovalkey (new Redis, new Cluster), awaited if it is a promise, and without legacyMode, as in client.duplicate({ legacyMode: false })';

/**
 * The library of a client, recognised by its shape. Any other client is refused here, because it would fail only with
 * the first customer.
 *
 * @throws TypeError that names the option and says what to pass.
 */
function libraryOf(
  owner: string,
  option: string,
  value: unknown,
  methods: readonly (keyof Client)[],
): Library {
  const client: Partial<Record<string, unknown>> = Object(value);
  // Its methods give no promise, which would read as a no: a code that another holds.
  const isLegacy = Object(client.options).legacyMode === true;
  if (!isLegacy && methods.every((name) => typeof client[name] === 'function')) {
    if (typeof client.isOpen === 'boolean') return nodeRedis;
    if (typeof client.status === 'string') return ioRedis;
  }
  throw wrongOption(owner, option, `must be ${KINDS}`);
}

/** @throws TypeError that names the option and says what to pass. */
export function redisOf(owner: string, client: unknown): Redis {
  return libraryOf(owner, 'client', client, ['eval', 'publish', 'on']).redis(client as Client);
}

/** @throws TypeError that names the option and says what to pass. */
export function subscriberOf(owner: string, value: unknown, client: unknown): Subscriber {
  const option = 'subscriber';
  const second = 'a second connection, as in client.duplicate(), connected like the first';
  // A connection that subscribes can do nothing else.
  if (value === undefined) throw wrongOption(owner, option, `must be given: ${second}`);
  if (value === client)
    throw wrongOption(owner, option, `must not be the client itself: ${second}`);
  const methods = ['subscribe', 'unsubscribe', 'on', 'off'] as const;
  const library = libraryOf(owner, option, value, methods);
  const subscriber = value as Client;
  return {
    subscribe: library.subscribe(subscriber),
    onChange: sharedListener(subscriber, CHANGES),
  };
}
