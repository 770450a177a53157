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

/** How {@link KeyApi} caches answers. */
export interface CacheOptions {
  /** The most purchases, and the most items, that are cached. Default 5,000 each. */
  max?: number | undefined;
  /** Milliseconds that an answer is served without asking. Default 5 minutes. */
  ttl?: number | undefined;
  /**
   * Milliseconds after `ttl` in which the stale answer is still served, and refreshed in the background; no
   * more than `staleIfError`. Later, a caller waits for a new one. Default 1 hour.
   */
  staleWhileRevalidate?: number | undefined;
  /**
   * Milliseconds from its request in which the last positive answer is served while the service cannot
   * answer. Default 24 hours.
   */
  staleIfError?: number | undefined;
  /**
   * Milliseconds that a negative answer is served without asking. Short, because the service can be a
   * while behind with new purchases. Default 30 seconds.
   */
  invalidTtl?: number | undefined;
  /**
   * Negative answers about codes (and likewise items) that are cached at most. They are separate: guesses
   * cannot evict a customer's entry. Default 1,000.
   */
  maxInvalid?: number | undefined;
  /**
   * A cache that the processes of a fleet share, such as `RedisCache` of `marketgate/redis`: a code that
   * every process looks up costs one request, and `invalidate` reaches them all. Values there are sealed.
   * A shared cache that fails is skipped. Default: none.
   */
  shared?: SharedCache | undefined;
  /**
   * What seals the shared answers: 32 characters or more, the same in every process. Default: the
   * api_key. With a secret, processes go on sharing while an api_key is rotated. It needs a `scope`.
   */
  secret?: string | undefined;
  /**
   * A name of your choosing for the account, the same in every process, so that two accounts with one
   * Redis and one `secret` never read each other's answers. Required with `secret`; without a secret, the
   * api_key distinguishes accounts.
   */
  scope?: string | undefined;
}

/** The ages and sizes of {@link CacheOptions}. */
export type CacheLimits = Record<
  Exclude<keyof CacheOptions, 'shared' | 'secret' | 'scope'>,
  number
>;

/** How long a positive answer can be served, in milliseconds from its request. */
export const maxLife = ({ ttl, staleWhileRevalidate, staleIfError }: CacheLimits): number =>
  Math.max(ttl + Math.min(staleWhileRevalidate, staleIfError), staleIfError);

const SECOND = 1000;
const HOUR = 3600 * SECOND;
const DEFAULTS: CacheLimits = {
  max: 5000,
  ttl: 300 * SECOND,
  staleWhileRevalidate: HOUR,
  staleIfError: 24 * HOUR,
  invalidTtl: 30 * SECOND,
  maxInvalid: 1000,
};
const NAMES = Object.keys(DEFAULTS) as (keyof CacheLimits)[];

/**
 * @returns `false` when there is to be no cache.
 * @throws TypeError that names the wrong option.
 */
export function checkCacheOptions(owner: string, option: CacheOptions | false | undefined) {
  if (option === false) return false;
  if (option !== undefined && (typeof option !== 'object' || option === null)) {
    throw wrongOption(owner, 'cache', 'must be an object of options, or false');
  }
  const known = [...NAMES, 'shared', 'secret', 'scope'] as const;
  const given = knownOptions(`${owner}: cache`, option ?? {}, known);
  const limits = { ...DEFAULTS };
  for (const name of NAMES) {
    const option = `cache.${name}`;
    limits[name] = name.startsWith('max')
      ? sizeOption(owner, option, given[name], DEFAULTS[name], ' (cache: false turns it off)')
      : countOption(owner, option, given[name], DEFAULTS[name]);
  }
  const { shared, secret, scope } = given;
  if (secret !== undefined && scope === undefined) {
    const expected = 'a name for the account, the same in every process';
    throw wrongOption(owner, 'cache.scope', `must be given with "cache.secret": ${expected}`);
  }
  return {
    limits,
    shared:
      shared === undefined
        ? undefined
        : shapedOption<SharedCache>(
            owner,
            'cache.shared',
            shared,
            ['read', 'write', 'delete', 'lock', 'publish', 'subscribe'],
            'a shared cache, as in new RedisCache({ client })',
          ),
    secret: secret === undefined ? undefined : secretOption(owner, 'cache.secret', secret),
    scope: scope === undefined ? undefined : textOption(owner, 'cache.scope', scope),
  };
}
