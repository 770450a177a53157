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

  constructor(store: GuardedTokenStore | undefined) {
    this.#store = store;
  }

  /** What this process knows of a key that was spent here. */
  find(key: string): UsedKey | undefined {
    return this.#used.get(nameOf(key));
  }

  /** True for the first who asks about this key; the others of this process see what it led to. */
  async claim(key: string, used: UsedKey = {}): Promise<boolean> {
    const name = nameOf(key);
    if (this.#used.has(name)) return false;
    this.#used.set(name, used);
    return (await this.#store?.claim(name, REMEMBERED)) ?? true;
  }
}

const nameOf = (key: string): string => `auth_key:${hash('sha256', key, 'base64url')}`;
