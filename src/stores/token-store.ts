import { type AccessToken, readAccessToken } from '../model/access-token.js';
import { shaped } from '../options.js';
import { callStore } from '../store-guard.js';

/**
 * Stores the access_tokens of logged-in users by `user_id`. Recognised by its shape: any object with these
 * methods will do.
 */
export interface TokenStore {
  /** The token of a user, or `undefined` when there is none or it has expired. */
  get(userId: string): Promise<AccessToken | undefined>;
  /** Stores a token until it expires, in place of an earlier one. */
  set(userId: string, token: AccessToken): Promise<void>;
  /** Deletes a user's token. No error when there is none. */
  delete(userId: string): Promise<void>;
}

/** @throws TypeError that names the option and the method that is missing. */
export function checkTokenStore(owner: string, value: unknown, name = 'tokenStore'): TokenStore {
  const what = 'a token store, as in new MemoryTokenStore()';
  const methods = ['get', 'set', 'delete'] as const;
  return shaped<TokenStore>(methods, what)(owner, name, value);
}

/** The default name of a strategy. */
export const DEFAULT_NAME = 'marketplace';

/**
 * Makes the name that a user's token is stored under: the `user_id`, after the name of the strategy if that is
 * not the default, so that two marketplaces never mix up their users.
 */
export const tokenNameFor =
  (strategy: string) =>
  (userId: string): string =>
    // An id with a colon can look like the name of another strategy's token.
    strategy === DEFAULT_NAME && !userId.includes(':')
      ? userId
      : `${encodeURIComponent(strategy)}:${userId}`;

/**
 * A token store as the rest of the package uses it, each call through {@link callStore}. A value that is no token counts
 * as none.
 *
 * Does not check expiry: each caller does, by its own clock.
 */
export class GuardedTokenStore {
  constructor(private readonly store: TokenStore) {}

  /** A copy of the user's token, so that a handler cannot change it for others. */
  get(userId: string): Promise<AccessToken | undefined> {
    return callStore('tokenStore.get', async () => readAccessToken(await this.store.get(userId)));
  }

  set(userId: string, token: AccessToken): Promise<void> {
    return callStore('tokenStore.set', () => this.store.set(userId, { ...token }));
  }

  delete(userId: string): Promise<void> {
    return callStore('tokenStore.delete', () => this.store.delete(userId));
  }

  /** Deletes the stored token if it is still this one: the user can have logged in again in another tab. */
  async forget(userId: string, { value }: AccessToken): Promise<void> {
    if ((await this.get(userId))?.value === value) await this.delete(userId);
  }
}
