import {
  count,
  optional,
  readOptions,
  secret,
  shaped,
  size,
  type Table,
  text,
  wrongOption,
} from '../options.js';
import type { SharedCache } from './shared-cache.js';

/** How {@link KeyApi} caches answers. Times are in milliseconds. */
export interface CacheOptions {
  /** The most purchases, and the most items, that are cached. Default 5,000 each. */
  max?: number | undefined;
  /** How long an answer is served without asking. Default 5 minutes. */
  ttl?: number | undefined;
  /**
   * How long after `ttl` the stale answer is still served, and refreshed in the background; no more than
   * `staleIfError`. Later, a caller waits for a new one. Default 1 hour.
   */
  staleWhileRevalidate?: number | undefined;
  /** How long after its request the last positive answer is served while the service cannot answer. Default 24 hours. */
  staleIfError?: number | undefined;
  /**
   * How long a negative answer is served. Short, because the service can be behind with new purchases. With `shared`, not
   * shorter than the client's `timeout`: else it can be gone from there before an earlier positive answer comes to a process
   * that was cut off. Default 30 seconds.
   */
  invalidTtl?: number | undefined;
  /** The most negative answers. They are separate: guesses cannot evict a customer's entry. Default 1,000. */
  maxInvalid?: number | undefined;
  /**
   * A cache that the processes of a fleet share, such as `RedisCache` of `marketgate/redis`: a code that
   * every process looks up costs one request, and `invalidate` reaches them all. Values there are sealed.
   * A shared cache that fails is skipped. Default: none.
   */
  shared?: SharedCache | undefined;
  /**
   * What seals the shared answers: 32 characters or more, the same in every process. With it, processes go on
   * sharing while an api_key is rotated. It needs a `scope`. Default: the api_key.
   */
  secret?: string | undefined;
  /**
   * A name of your choosing for the account, the same in every process. Required with `secret`, so that two accounts
   * with one Redis and one `secret` never read each other's answers.
   */
  scope?: string | undefined;
}

/** The ages and sizes of {@link CacheOptions}. */
export type CacheLimits = Record<keyof typeof LIMITS, number>;

const SECOND = 1000;
const HOUR = 3600 * SECOND;
const HINT = ' (cache: false turns it off)';
const LIMITS = {
  max: size(5000, HINT),
  ttl: count(300 * SECOND),
  staleWhileRevalidate: count(HOUR),
  staleIfError: count(24 * HOUR),
  invalidTtl: count(30 * SECOND),
  maxInvalid: size(1000, HINT),
};
const METHODS = ['read', 'write', 'delete', 'lock', 'publish', 'subscribe'] as const;
const SHARED = 'a shared cache, as in new RedisCache({ client })';
const OPTIONS = {
  ...LIMITS,
  shared: optional(shaped<SharedCache>(METHODS, SHARED)),
  secret: optional(secret),
  scope: optional(text()),
} satisfies Table<CacheOptions>;

/** The option `cache`; `false` when there is to be no cache. */
export function cacheOption(owner: string, name: string, option: unknown) {
  if (option === false) return false;
  if (option === null || (option !== undefined && typeof option !== 'object')) {
    throw wrongOption(owner, name, 'must be an object of options, or false');
  }
  const { shared, secret, scope, ...limits } = readOptions(owner, OPTIONS, option, name);
  if (secret !== undefined && scope === undefined) {
    const expected = 'a name for the account, the same in every process';
    throw wrongOption(owner, 'cache.scope', `must be given with "cache.secret": ${expected}`);
  }
  return { limits, shared, secret, scope };
}
