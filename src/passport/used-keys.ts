import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { GuardedTokenStore } from '../stores/guarded-token-store.js';

/** How long a spent key is remembered, in milliseconds; the service refuses it for ever. */
const REMEMBERED = 3_600_000;

/** What is known of a spent auth_key. */
export interface UsedKey {
  /** Where its login led, for who reloads the callback. */
  returnTo?: string | undefined;
}

/**
 * Makes sure that an auth_key, or an attempt, is used once: in this process by memory, in the fleet
 * by the token store if that can claim. Only hashes are kept.
 */
export class UsedKeys {
  readonly #used = new LRUCache<string, UsedKey>({ max: 10_000 });
  readonly #store: GuardedTokenStore | undefined;
  readonly #scope: string;

  /** @param scope - tells strategies that share a token store apart. */
  constructor(store: GuardedTokenStore | undefined, scope: string) {
    this.#store = store;
    this.#scope = scope;
  }

  /** What this process knows of a key that was spent here. */
  find(key: string): UsedKey | undefined {
    return this.#used.get(this.#nameOf(key));
  }

  /** True for the first who asks about this key; the others of this process see what it led to. */
  async claim(key: string, used: UsedKey = {}): Promise<boolean> {
    const name = this.#nameOf(key);
    if (this.#used.has(name)) return false;
    this.#used.set(name, used);
    return (await this.#store?.claim(name, REMEMBERED)) ?? true;
  }

  #nameOf(key: string): string {
    return `auth_key:${hash('sha256', `${this.#scope} ${key}`, 'base64url')}`;
  }
}
