import { countOption, knownOptions, wrongOption } from '../../options/check-options.js';

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
}

/** {@link CacheOptions}, complete. */
export type CacheSettings = Readonly<Record<keyof CacheOptions, number>>;

const SECOND = 1000;
const HOUR = 3600 * SECOND;
const DEFAULTS: CacheSettings = {
  max: 5000,
  ttl: 300 * SECOND,
  staleWhileRevalidate: HOUR,
  staleIfError: 24 * HOUR,
  invalidTtl: 30 * SECOND,
  maxInvalid: 1000,
};
const NAMES = Object.keys(DEFAULTS) as (keyof CacheOptions)[];

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
  const given = knownOptions(`${owner}: cache`, option ?? {}, NAMES);
  const settings = { ...DEFAULTS };
  for (const name of NAMES) {
    settings[name] = countOption(owner, `cache.${name}`, given[name], DEFAULTS[name]);
  }
  for (const name of ['max', 'maxInvalid'] as const) {
    if (settings[name] === 0) {
      throw wrongOption(owner, `cache.${name}`, 'must be 1 or more (cache: false turns it off)');
    }
  }
  return settings;
}
