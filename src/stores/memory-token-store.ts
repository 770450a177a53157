import { LRUCache } from 'lru-cache';
import type { AccessToken } from '../model/access-token.js';
import { countOption, functionOption, knownOptions, wrongOption } from '../options.js';
import type { TokenStore } from './token-store.js';
import { checkClaim } from './token-store.js';

/** Options of {@link MemoryTokenStore}. */
export interface MemoryTokenStoreOptions {
  /** The most tokens that are stored; the least recently used one is dropped first. Default 10,000. */
  max?: number | undefined;
  /**
   * The most claims that are stored, about 150 bytes each, next to the tokens. Default 100,000. Beyond it,
   * expired claims are dropped first. If none has expired, the oldest is dropped, and its name can be claimed
   * again: that takes so many logins within the hour for which an exchanged auth_key is remembered.
   */
  maxClaims?: number | undefined;
  /** The present as epoch milliseconds. Default `Date.now`. For tests. */
  clock?: (() => number) | undefined;
}

const OWNER = 'MemoryTokenStore';

/** The most entries of a `Map`. With a higher option, the failure would come during some request. */
const MOST_ENTRIES = 2 ** 24;

/**
 * A {@link TokenStore} in memory, for an app of one process. A restart loses all tokens.
 */
export class MemoryTokenStore implements TokenStore {
  readonly #clock: () => number;
  readonly #tokens: LRUCache<string, AccessToken>;
  readonly #maxClaims: number;
  /** When each claim expires, the oldest claim first. */
  readonly #claims = new Map<string, number>();

  /** @throws TypeError that names the wrong option. */
  constructor(options: MemoryTokenStoreOptions = {}) {
    const given = knownOptions(OWNER, options, ['max', 'maxClaims', 'clock']);
    this.#clock = functionOption(OWNER, 'clock', given.clock) ?? Date.now;
    this.#tokens = new LRUCache({ max: sizeOption('max', given.max, 10_000) });
    this.#maxClaims = sizeOption('maxClaims', given.maxClaims, 100_000);
  }

  async get(userId: string): Promise<AccessToken | undefined> {
    const token = this.#tokens.get(userId);
    if (token === undefined) return undefined;
    if (this.#clock() < token.expiresAt) return { ...token };
    this.#tokens.delete(userId);
    return undefined;
  }

  async set(userId: string, token: AccessToken): Promise<void> {
    // An expired one is not stored, and deletes the one that it replaces.
    if (this.#clock() < token.expiresAt) this.#tokens.set(userId, { ...token });
    else this.#tokens.delete(userId);
  }

  async delete(userId: string): Promise<void> {
    this.#tokens.delete(userId);
  }

  /** @throws TypeError when `ttl` is no positive number. */
  async claim(name: string, ttl: number): Promise<boolean> {
    checkClaim(OWNER, ttl);
    const now = this.#clock();
    if ((this.#claims.get(name) ?? now) > now) return false;
    // Deleted first, so that the map stays in the order of the claims.
    this.#claims.delete(name);
    if (this.#claims.size >= this.#maxClaims) {
      for (const [each, expiry] of this.#claims) if (expiry <= now) this.#claims.delete(each);
    }
    const [oldest = ''] = this.#claims.keys();
    if (this.#claims.size >= this.#maxClaims) this.#claims.delete(oldest);
    this.#claims.set(name, now + ttl);
    return true;
  }
}

function sizeOption(name: string, value: number | undefined, fallback: number): number {
  const max = countOption(OWNER, name, value, fallback);
  if (max === 0 || max > MOST_ENTRIES)
    throw wrongOption(OWNER, name, `must be from 1 to ${MOST_ENTRIES}`);
  return max;
}
