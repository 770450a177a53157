import { LRUCache } from 'lru-cache';
import type { AccessToken } from '../login-api/access-token.js';
import {
  countOption,
  functionOption,
  knownOptions,
  wrongOption,
} from '../options/check-options.js';
import type { TokenStore } from './token-store.js';

/** Options of {@link MemoryTokenStore}. */
export interface MemoryTokenStoreOptions {
  /** Tokens that are kept at most; the one unused for longest goes first. Default 10,000. */
  max?: number | undefined;
  /** The present as epoch milliseconds. Default `Date.now`. For tests. */
  clock?: (() => number) | undefined;
}

/**
 * A {@link TokenStore} in this process's memory: for one process, and gone with it. Users of a fleet
 * take a shared one.
 */
export class MemoryTokenStore implements TokenStore {
  readonly #clock: () => number;
  readonly #tokens: LRUCache<string, AccessToken>;
  readonly #claims: LRUCache<string, number>;

  /** @throws TypeError that names the wrong option. */
  constructor(options: MemoryTokenStoreOptions = {}) {
    const given = knownOptions('MemoryTokenStore', options, ['max', 'clock']);
    const max = countOption('MemoryTokenStore', 'max', given.max, 10_000);
    if (max === 0) throw wrongOption('MemoryTokenStore', 'max', 'must be 1 or more');
    this.#clock = functionOption('MemoryTokenStore', 'clock', given.clock) ?? Date.now;
    this.#tokens = new LRUCache({ max });
    this.#claims = new LRUCache({ max });
  }

  async get(userId: string): Promise<AccessToken | undefined> {
    const token = this.#tokens.get(userId);
    if (token === undefined) return undefined;
    if (this.#clock() < token.expiresAt) return { ...token };
    this.#tokens.delete(userId);
    return undefined;
  }

  async set(userId: string, token: AccessToken): Promise<void> {
    this.#tokens.set(userId, { ...token });
  }

  async delete(userId: string): Promise<void> {
    this.#tokens.delete(userId);
  }

  async claim(name: string, ttl: number): Promise<boolean> {
    const now = this.#clock();
    if ((this.#claims.get(name) ?? Number.NEGATIVE_INFINITY) > now) return false;
    this.#claims.set(name, now + ttl);
    return true;
  }
}
