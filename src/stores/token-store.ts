import type { AccessToken } from '../model/access-token.js';
import { shapedOption } from '../options.js';

/**
 * Where the access_tokens of logged-in users are kept, by `user_id`. Known by its shape: any object
 * with these methods will do.
 */
export interface TokenStore {
  /** The token of a user, or `undefined` when there is none or it has ended. */
  get(userId: string): Promise<AccessToken | undefined>;
  /** Keeps a token until it ends, in place of an earlier one. */
  set(userId: string, token: AccessToken): Promise<void>;
  /** Forgets a user's token. No error when there is none. */
  delete(userId: string): Promise<void>;
  /**
   * True for the first caller with this name only, wherever in the fleet, until `ttl` milliseconds
   * have passed. Makes sure that an auth_key is spent once.
   */
  claim?(name: string, ttl: number): Promise<boolean>;
}

/** @throws TypeError that names the option and the method that is missing. */
export function checkTokenStore(owner: string, value: unknown): TokenStore {
  const store = shapedOption<TokenStore>(
    owner,
    'tokenStore',
    value,
    ['get', 'set', 'delete'],
    'a token store, as in new MemoryTokenStore()',
  );
  if (store.claim !== undefined && typeof store.claim !== 'function') {
    throw new TypeError(`${owner}: option "tokenStore" has a "claim" that is not a method`);
  }
  return store;
}

/** The name of a strategy that was given none. */
export const DEFAULT_NAME = 'marketplace';

/**
 * What the tokens of a strategy are stored under: the `user_id`, and for a strategy of another name
 * that name before it, so that two marketplaces never mix up their users.
 */
export const tokenNameFor =
  (strategy: string) =>
  (userId: string): string =>
    // An id with a colon could be the name of another strategy's token.
    strategy === DEFAULT_NAME && !userId.includes(':')
      ? userId
      : `${encodeURIComponent(strategy)}:${userId}`;
