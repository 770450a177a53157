import {
  countOption,
  functionOption,
  knownOptions,
  secretOption,
  shapedOption,
  textOption,
  wrongOption,
} from '../options.js';
import type { SharedCache } from './shared-cache.js';

/** How {@link KeyApi} keeps answers. */
export interface CacheOptions {
  /** Purchases, and likewise items, that are kept at most. Default 5,000 each. */
  max?: number | undefined;
  /** Milliseconds that an answer is served without asking. Default 5 minutes. */
  ttl?: number | undefined;
  /**
   * Milliseconds after `ttl` in which the old answer is still served, and refreshed behind. Past
   * them a caller waits for a new one. Default 1 hour.
   */
  staleWhileRevalidate?: number | undefined;
  /**
   * Milliseconds, counted from when the service gave it, for which the last real *yes* serves while
   * the service cannot answer. Default 24 hours.
   */
  staleIfError?: number | undefined;
  /**
   * Milliseconds that a *no* is served without asking. Short, for a fresh purchase can be unknown to
   * the service for a while. Default 30 seconds.
   */
  invalidTtl?: number | undefined;
  /**
   * Codes (and likewise items) the service said *no* to that are kept at most, in a space of their
   * own: guesses cannot push out a customer's entry. Default 1,000.
   */
  maxInvalid?: number | undefined;
  /**
   * A cache that the processes of a fleet share, as `RedisCache` of `marketgate/redis`: a code asked in
   * every process costs one call, and `invalidate` reaches them all. What is put there is sealed. When
   * it fails, it is done without. Default: none.
   */
  shared?: SharedCache | undefined;
  /**
   * What seals the shared answers, 32 characters or more; the same in every process. Default: the
   * api_key. Give one to keep sharing while an api_key is being rotated; it takes a `scope` with it.
   */
  secret?: string | undefined;
  /**
   * A name of your choosing for the account, the same in every process: two accounts that share a
   * Redis and a `secret` never read each other's answers. Required with `secret`; without one, the
   * api_key tells accounts apart.
   */
  scope?: string | undefined;
}

/** The ages and sizes of {@link CacheOptions}. */
export type CacheLimits = Record<
  Exclude<keyof CacheOptions, 'shared' | 'secret' | 'scope'>,
  number
>;

/** {@link CacheOptions}, checked and complete. */
export interface CacheSettings {
  readonly limits: Readonly<CacheLimits>;
  readonly shared: SharedCache | undefined;
  readonly secret: string | undefined;
  readonly scope: string | undefined;
}

/** How long a positive answer can be served, in milliseconds from its request. */
export const longestLife = ({ ttl, staleWhileRevalidate, staleIfError }: CacheLimits): number =>
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
export function checkCacheOptions(
  owner: string,
  option: CacheOptions | false | undefined,
): CacheSettings | false {
  if (option === false) return false;
  if (option !== undefined && (typeof option !== 'object' || option === null)) {
    throw wrongOption(owner, 'cache', 'must be an object of options, or false');
  }
  const given = knownOptions(`${owner}: cache`, option ?? {}, [
    ...NAMES,
    'shared',
    'secret',
    'scope',
  ]);
  const limits = { ...DEFAULTS };
  for (const name of NAMES) {
    limits[name] = countOption(owner, `cache.${name}`, given[name], DEFAULTS[name]);
  }
  for (const name of ['max', 'maxInvalid'] as const) {
    if (limits[name] === 0) {
      throw wrongOption(owner, `cache.${name}`, 'must be 1 or more (cache: false turns it off)');
    }
  }
  const { shared, secret, scope } = given;
  if (secret !== undefined && scope === undefined) {
    throw wrongOption(
      owner,
      'cache.scope',
      'must be given with "cache.secret": a name for the account, the same in every process',
    );
  }
  return {
    limits,
    shared: shared === undefined ? undefined : checkSharedCache(owner, shared),
    secret: secret === undefined ? undefined : secretOption(owner, 'cache.secret', secret),
    scope: scope === undefined ? undefined : textOption(owner, 'cache.scope', scope),
  };
}

function checkSharedCache(owner: string, value: unknown): SharedCache {
  const shared = shapedOption<SharedCache>(
    owner,
    'cache.shared',
    value,
    ['get', 'set', 'delete'],
    'a shared cache, as in new RedisCache({ client })',
  );
  for (const method of ['lock', 'subscribe', 'publish', 'read', 'write'] as const) {
    functionOption(owner, `cache.shared.${method}`, shared[method]);
  }
  return shared;
}
