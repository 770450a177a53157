import { LRUCache } from 'lru-cache';
import type { AccessToken } from '../model/access-token.js';
import { countOption, functionOption, knownOptions, wrongOption } from '../options.js';
import { checkClaim } from './check-claim.js';
import { MemoryClaims } from './memory-claims.js';
import type { TokenStore } from './token-store.js';

/** Options of {@link MemoryTokenStore}. */
export interface MemoryTokenStoreOptions {
  /** Tokens that are kept at most; the one unused for longest goes first. Default 10,000. */
  max?: number | undefined;
  /**
   * Claims that are kept at most, about 150 bytes each. Default 100,000. They have room of their own:
   * no number of tokens pushes one out. When it is full, claims whose time is over go first; if all
   * are still running, the oldest goes, and its name could be claimed once more. Somebody would have
   * to start that many logins within the hour that a spent auth_key is remembered.
   */
  maxClaims?: number | undefined;
  /** The present as epoch milliseconds. Default `Date.now`. For tests. */
  clock?: (() => number) | undefined;
}

const OWNER = 'MemoryTokenStore';

/** What a `Map` holds at most: beyond it, the failure would come with some visitor. */
const MOST = 2 ** 24;

/**
 * A {@link TokenStore} in this process's memory: for one process, and gone with it. Users of a fleet
 * take a shared one.
 */
export class MemoryTokenStore implements TokenStore {
  readonly #clock: () => number;
  readonly #tokens: LRUCache<string, AccessToken>;
  readonly #claims: MemoryClaims;

  /** @throws TypeError that names the wrong option. */
  constructor(options: MemoryTokenStoreOptions = {}) {
    const given = knownOptions(OWNER, options, ['max', 'maxClaims', 'clock']);
    this.#clock = functionOption(OWNER, 'clock', given.clock) ?? Date.now;
    this.#tokens = new LRUCache({ max: bound('max', given.max, 10_000) });
    this.#claims = new MemoryClaims(bound('maxClaims', given.maxClaims, 100_000));
  }

  async get(userId: string): Promise<AccessToken | undefined> {
    const token = this.#tokens.get(userId);
    if (token === undefined) return undefined;
    if (this.#clock() < token.expiresAt) return { ...token };
    this.#tokens.delete(userId);
    return undefined;
  }

  async set(userId: string, token: AccessToken): Promise<void> {
    // One that is over takes no place, and neither does the one that it replaces.
    if (this.#clock() < token.expiresAt) this.#tokens.set(userId, { ...token });
    else this.#tokens.delete(userId);
  }

  async delete(userId: string): Promise<void> {
    this.#tokens.delete(userId);
  }

  /** @throws TypeError when `ttl` is no positive number. */
  async claim(name: string, ttl: number): Promise<boolean> {
    checkClaim(OWNER, ttl);
    return this.#claims.claim(name, ttl, this.#clock());
  }
}

function bound(name: string, value: number | undefined, fallback: number): number {
  const max = countOption(OWNER, name, value, fallback);
  if (max === 0 || max > MOST) throw wrongOption(OWNER, name, `must be from 1 to ${MOST}`);
  return max;
}
