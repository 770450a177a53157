import type { LRUCache } from 'lru-cache';
import { latest } from '../latest.js';
import type { AccessToken } from '../model/access-token.js';
import { functionOf, readOptions, size, type Table } from '../options.js';
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
 * The most claims, about 250 bytes each, next to the tokens. Beyond it, the oldest is dropped, and its name can be
 * claimed again. That takes tens of thousands of logins within the hour that a claim lives.
 */
const MAX_CLAIMS = 100_000;

/**
 * A {@link TokenStore} in memory, for an app of one process. A restart loses all tokens.
 */
export class MemoryTokenStore implements TokenStore {
  readonly #clock: () => number;
  readonly #tokens: LRUCache<string, AccessToken>;
  /** When each claim expires, the oldest claim first. */
  readonly #claims = new Map<string, number>();

  /**
   * Keeps access_tokens in this process; a restart loses them.
   *
   * @throws TypeError that names the wrong option.
   */
  constructor(options: MemoryTokenStoreOptions = {}) {
    const { max, clock = Date.now } = readOptions(OWNER, OPTIONS, options);
    this.#clock = clock;
    this.#tokens = latest(max);
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

  async claim(name: string, ttl: number): Promise<boolean> {
    const now = this.#clock();
    if ((this.#claims.get(name) ?? now) > now) return false;
    // Deleted first, so that the map stays in the order of the claims.
    this.#claims.delete(name);
    // All claims of a strategy live equally long, so the oldest expires first.
    for (const [oldest, expiry] of this.#claims) {
      if (expiry > now && this.#claims.size < MAX_CLAIMS) break;
      this.#claims.delete(oldest);
    }
    this.#claims.set(name, now + ttl);
    return true;
  }
}
