import { DeadlineExceeded, SELF_LIMITED, TimeLimit, TooManyCalls } from '../deadline.js';
import { type AccessToken, isAccessToken } from '../model/access-token.js';
import { describeFailure, isStoreFailure, storeFailure } from './store-failure.js';
import type { TokenStore } from './token-store.js';

/** What a store can take for one call, in milliseconds: longer, and it counts as down. */
const LONGEST = 2000;

/**
 * A token store as the rest of the package uses it: each call ends within a deadline (that of the store
 * itself, if it has one), each failure is `store_unavailable`, and what is no token is none. The store's
 * own error is not kept as the cause, because it can hold what was stored.
 *
 * Whether a token has expired is not checked here, because that takes the clock of the caller: a store
 * that does not expire tokens is caught where the token is used.
 */
export class GuardedTokenStore {
  readonly #store: TokenStore;
  readonly #limit: TimeLimit | undefined;

  constructor(store: TokenStore) {
    this.#store = store;
    this.#limit = SELF_LIMITED.has(store) ? undefined : new TimeLimit(LONGEST);
  }

  /** The user's token, as a copy: what a handler does to it harms nobody else. */
  get(userId: string): Promise<AccessToken | undefined> {
    // Read within the guard, because an object from a foreign store can have getters that throw.
    return this.#within('get', async () => plainToken(await this.#store.get(userId)));
  }

  async set(userId: string, token: AccessToken): Promise<void> {
    await this.#within('set', () => this.#store.set(userId, { ...token }));
  }

  async delete(userId: string): Promise<void> {
    await this.#within('delete', () => this.#store.delete(userId));
  }

  /** Deletes this token only: another tab may have logged in again since it was read. */
  async forget(userId: string, { value }: AccessToken): Promise<void> {
    if ((await this.get(userId))?.value === value) await this.delete(userId);
  }

  /**
   * True for the first caller. Also when the store cannot claim: the process then knows only its own
   * claims. Anything but `true` of a store that can claim is lost.
   */
  claim(name: string, ttl: number): Promise<boolean> {
    return this.#within(
      'claim',
      async () => this.#store.claim === undefined || (await this.#store.claim(name, ttl)) === true,
    );
  }

  async #within<T>(method: string, run: () => T | Promise<T>): Promise<T> {
    try {
      return await (this.#limit ? this.#limit.run(run) : run());
    } catch (error) {
      throw failureOf(`tokenStore.${method}`, error);
    }
  }
}

function failureOf(call: string, error: unknown): unknown {
  if (isStoreFailure(error)) return error;
  if (error instanceof DeadlineExceeded)
    return storeFailure(call, `did not answer within ${LONGEST} ms`);
  if (error instanceof TooManyCalls)
    return storeFailure(call, 'has left too many calls unanswered');
  return storeFailure(call, describeFailure(error));
}

function plainToken(answer: unknown): AccessToken | undefined {
  if (typeof answer !== 'object' || answer === null) return undefined;
  // Copied first and checked then: an object with getters could say one thing now and another later.
  const { value, issuedAt, expiresAt } = answer as Partial<AccessToken>;
  const token = { value, issuedAt, expiresAt };
  return isAccessToken(token) ? token : undefined;
}
