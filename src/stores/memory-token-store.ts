import type { LRUCache } from 'lru-cache';
import { lru } from '../lru.js';
import type { AccessToken } from '../model/access-token.js';
import { functionOf, machineClock, readOptions, size, type Table } from '../options.js';
import type { TokenStore } from './token-store.js';

/** Options of {@link MemoryTokenStore}. */
export interface MemoryTokenStoreOptions {
  /** The most tokens that are stored; the least recently used one is dropped first. Default 10,000. */
  max?: number | undefined;
  /** Returns the current time in epoch milliseconds, for tests. Default `Date.now`. */
  clock?: (() => number) | undefined;
}

const OWNER = 'MemoryTokenStore';
const OPTIONS = {
  max: size(10_000),
  clock: functionOf<() => number>(),
} satisfies Table<MemoryTokenStoreOptions>;

/**
 * A {@link TokenStore} in memory, for an app of one process. A restart loses all tokens.
 */
export class MemoryTokenStore implements TokenStore {
  readonly #clock: () => number;
  readonly #tokens: LRUCache<string, AccessToken>;

  /**
   * Keeps access_tokens in this process; a restart loses them.
   *
   * @throws TypeError that names the wrong option.
   */
  constructor(options: MemoryTokenStoreOptions = {}) {
    const { max, clock = machineClock } = readOptions(OWNER, OPTIONS, options);
    this.#clock = clock;
    this.#tokens = lru(max);
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
}
