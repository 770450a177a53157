import { count, optional, readOptions, shaped, size, type Table, wrongOption } from '../options.js';
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
   * How long a negative answer is served. Short, because the service can be behind with new purchases. Default 30 seconds.
   */
  invalidTtl?: number | undefined;
  /** The most negative answers. They are separate: guesses cannot evict a customer's entry. Default 1,000. */
  maxInvalid?: number | undefined;
  /**
   * A cache that the processes of a fleet share, such as `RedisCache` of `marketgate/redis`: a code that
   * every process looks up costs one request, and `invalidate` reaches them all. Values there are sealed with a key made of
   * the api_key. A shared cache that fails is left alone for a second. Default: none.
   */
  shared?: SharedCache | undefined;
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
const METHODS = ['read', 'write', 'withdraw', 'publish', 'subscribe'] as const;
const SHARED = 'a shared cache, as in new RedisCache({ client })';
const OPTIONS = {
  ...LIMITS,
  shared: optional(shaped<SharedCache>(METHODS, SHARED)),
} satisfies Table<CacheOptions>;

/** The option `cache`; `false` when there is to be no cache. */
export function cacheOption(owner: string, name: string, option: unknown) {
  if (option === false) return false;
  if (option === null || (option !== undefined && typeof option !== 'object')) {
    throw wrongOption(owner, name, 'must be an object of options, or false');
  }
  const { shared, ...limits } = readOptions(owner, OPTIONS, option, name);
  return { limits, shared };
}
