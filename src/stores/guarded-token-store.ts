import { isMarketgateError, MarketgateError } from '../errors/marketgate-error.js';
import { Deadline } from '../http/deadline.js';
import { type AccessToken, isAccessToken } from '../login-api/access-token.js';
import type { TokenStore } from './token-store.js';

/** What a store may take for one call, in milliseconds: longer, and it counts as down. */
const LONGEST = 2000;

/**
 * A token store as the rest of the package uses it: each call ends within a deadline, each failure is
 * `store_unavailable`, and what is no token is none. The store's own error is not kept as the cause,
 * for it can hold what was stored.
 */
export class GuardedTokenStore {
  readonly #store: TokenStore;

  constructor(store: TokenStore) {
    this.#store = store;
  }

  async get(userId: string): Promise<AccessToken | undefined> {
    const token = await this.#within('get', () => this.#store.get(userId));
    return isAccessToken(token) ? token : undefined;
  }

  set(userId: string, token: AccessToken): Promise<void> {
    return this.#within('set', () => this.#store.set(userId, token));
  }

  delete(userId: string): Promise<void> {
    return this.#within('delete', () => this.#store.delete(userId));
  }

  /** True also when the store cannot claim: the process then only knows about itself. */
  async claim(name: string, ttl: number): Promise<boolean> {
    const { claim } = this.#store;
    if (claim === undefined) return true;
    return (await this.#within('claim', () => claim.call(this.#store, name, ttl))) === true;
  }

  async #within<T>(method: string, run: () => Promise<T>): Promise<T> {
    const deadline = new Deadline(`tokenStore.${method}`, LONGEST);
    try {
      return await deadline.race(Promise.resolve().then(run));
    } catch (error) {
      const problem = deadline.ended ? `did not answer within ${LONGEST} ms` : describe(error);
      throw new MarketgateError(
        'store_unavailable',
        `tokenStore.${method} ${problem}; look at the store and its connection`,
      );
    } finally {
      deadline.dispose();
    }
  }
}

/** The name and code of the store's error: enough to find it, too little to give anything away. */
function describe(error: unknown): string {
  if (isMarketgateError(error)) return `failed (${error.code})`;
  if (!(error instanceof Error)) return 'failed';
  const { code } = error as { code?: unknown };
  const detail = typeof code === 'string' && /^\w{1,40}$/.test(code) ? `, ${code}` : '';
  return `failed (${/^\w{1,40}$/.test(error.name) ? error.name : 'Error'}${detail})`;
}
