import { wrongOption } from '../../options.js';
import { IoRedisCommands } from './io-redis.js';
import { NodeRedisCommands } from './node-redis.js';
import type { RedisCommands } from './redis-commands.js';

/** A method of which only its presence is looked at. Any method fits, whatever its overloads. */
type AnyMethod = (...args: never[]) => unknown;

/**
 * A client of `redis` (node-redis) 4.6 to 6: of `createClient()` or `createCluster()`. Spelt out here
 * by what tells it from others, so that neither the package nor its types need `redis`.
 */
export interface NodeRedisClient {
  /** Whether it was told to connect. */
  readonly isOpen: boolean;
  /** `GET`. */
  readonly get: AnyMethod;
  /** `SET`. */
  readonly set: AnyMethod;
  /** `DEL`. */
  readonly del: AnyMethod;
  /** `EVAL`. */
  readonly eval: AnyMethod;
  /** `PUBLISH`. */
  readonly publish: AnyMethod;
  /** `SUBSCRIBE`, on a connection of its own. */
  readonly subscribe: AnyMethod;
  /** Makes that connection. */
  readonly duplicate: AnyMethod;
  /** `PTTL`; ioredis spells it in small letters. */
  readonly pTTL: AnyMethod;
}

/** A client of `ioredis` 5 or 6: `new Redis()` or `new Cluster()`. Spelt out for the same reason. */
export interface IoRedisClient {
  /** How its connection is, as in `ready`. */
  readonly status: string;
  /** `GET`. */
  readonly get: AnyMethod;
  /** `SET`. */
  readonly set: AnyMethod;
  /** `DEL`. */
  readonly del: AnyMethod;
  /** `EVAL`. */
  readonly eval: AnyMethod;
  /** `PUBLISH`. */
  readonly publish: AnyMethod;
  /** `SUBSCRIBE`, on a connection of its own. */
  readonly subscribe: AnyMethod;
  /** Makes that connection. */
  readonly duplicate: AnyMethod;
  /** Only ioredis has it. */
  readonly defineCommand: AnyMethod;
}

/**
 * The client that the app has made and connected. It stays the app's own: it is not closed, and no
 * setting of it is changed. The app must listen to its `error` events, or Node ends the process with
 * the first lost connection; both libraries ask for that.
 */
export type RedisClient = NodeRedisClient | IoRedisClient;

const COMMON = ['get', 'set', 'del', 'eval', 'publish', 'subscribe', 'duplicate', 'connect', 'on'];
const WANTED =
  'must be a client of redis 4.6 or later (createClient, createCluster) or of ioredis 5 or later (new Redis, new Cluster)';

/**
 * Tells by shape which library a client is of. Both have a `get` and a `set`, but take other
 * arguments, so a wrong guess would show only with the first customer.
 *
 * @param timeout milliseconds after which nobody waits for a command any more.
 * @throws TypeError that names the option and says what to pass.
 */
export function redisCommands(owner: string, value: unknown, timeout: number): RedisCommands {
  const client = traitsOf(value);
  const wrong = (problem: string) => wrongOption(owner, 'client', `${WANTED}${problem}`);
  if (typeof client.then === 'function') throw wrong('; this is a Promise of one: await it');
  if (typeof value === 'string' || value instanceof URL) throw wrong('; this is a URL');
  if (typeof client.internal_send_command === 'function')
    throw wrong('; this is of redis 3 or earlier');
  if (client.options?.legacyMode === true) throw wrong('; this one is in legacyMode');
  if (typeof client.acquire === 'function') throw wrong('; this is a sentinel of node-redis');
  if (typeof client.execute === 'function') throw wrong('; this is a pool of node-redis');
  const isCommon = COMMON.every((name) => typeof client[name] === 'function');
  if (isCommon && typeof client.isOpen === 'boolean' && typeof client.pTTL === 'function') {
    return new NodeRedisCommands(value, timeout);
  }
  if (
    isCommon &&
    typeof client.status === 'string' &&
    typeof client.defineCommand === 'function' &&
    typeof client.pttl === 'function'
  ) {
    return new IoRedisCommands(value);
  }
  throw wrong('');
}

type Traits = Readonly<Record<string, unknown>> & { options?: { legacyMode?: unknown } };

const traitsOf = (value: unknown): Traits =>
  (typeof value === 'object' || typeof value === 'function') && value !== null
    ? (value as Traits)
    : {};
