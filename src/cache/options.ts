import {
  countOption,
  knownOptions,
  secretOption,
  shapedOption,
  sizeOption,
  textOption,
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
  /** How long a negative answer is served. Short, because the service can be behind with new purchases. Default 30 seconds. */
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
export type CacheLimits = Record<keyof typeof DEFAULTS, number>;

const SECOND = 1000;
const HOUR = 3600 * SECOND;
const DEFAULTS = {
  max: 5000,
  ttl: 300 * SECOND,
  staleWhileRevalidate: HOUR,
  staleIfError: 24 * HOUR,
  invalidTtl: 30 * SECOND,
  maxInvalid: 1000,
};
const NAMES = Object.keys(DEFAULTS) as (keyof CacheLimits)[];
const METHODS = ['read', 'write', 'delete', 'lock', 'publish', 'subscribe'] as const;

/**
 * @returns `false` when there is to be no cache.
 * @throws TypeError that names the wrong option.
 */
export function checkCacheOptions(owner: string, option: CacheOptions | false | undefined) {
  if (option === false) return false;
  if (option === null || (option !== undefined && typeof option !== 'object')) {
    throw wrongOption(owner, 'cache', 'must be an object of options, or false');
  }
  const given = knownOptions(`${owner}: cache`, option, [...NAMES, 'shared', 'secret', 'scope']);
  const limits: CacheLimits = { ...DEFAULTS };
  for (const name of NAMES) {
    const args = [owner, `cache.${name}`, given[name], DEFAULTS[name]] as const;
    limits[name] = name.startsWith('max')
      ? sizeOption(...args, ' (cache: false turns it off)')
      : countOption(...args);
  }
  const { shared, secret, scope } = given;
  if (secret !== undefined && scope === undefined) {
    const expected = 'a name for the account, the same in every process';
    throw wrongOption(owner, 'cache.scope', `must be given with "cache.secret": ${expected}`);
  }
  const what = 'a shared cache, as in new RedisCache({ client })';
  return {
    limits,
    shared:
      shared === undefined
        ? undefined
        : shapedOption<SharedCache>(owner, 'cache.shared', shared, METHODS, what),
    secret: secret === undefined ? undefined : secretOption(owner, 'cache.secret', secret),
    scope: scope === undefined ? undefined : textOption(owner, 'cache.scope', scope),
  };
}
