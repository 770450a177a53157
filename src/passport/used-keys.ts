import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { GuardedTokenStore } from '../stores/guarded-token-store.js';

/** How long a spent key is remembered, in milliseconds; the service refuses it for ever. */
const REMEMBERED = 3_600_000;

/**
 * Makes sure that an auth_key is exchanged once: in this process by memory, in the fleet by the token
 * store if that can claim. Only hashes are kept.
 */
export class UsedKeys {
  readonly #used = new LRUCache<string, true>({ max: 10_000 });
  readonly #store: GuardedTokenStore | undefined;

  constructor(store: GuardedTokenStore | undefined) {
    this.#store = store;
  }

  /** True for the first who asks about this key. */
  async claim(authKey: string): Promise<boolean> {
    const name = `auth_key:${createHash('sha256').update(authKey).digest('base64url')}`;
    if (this.#used.has(name)) return false;
    this.#used.set(name, true);
    return (await this.#store?.claim(name, REMEMBERED)) ?? true;
  }
}
