import { createHash } from 'node:crypto';
import { DeadlineExceeded, SELF_LIMITED, TimeLimit, TooManyCalls } from '../deadline.js';
import { type AccessToken, isAccessToken } from '../model/access-token.js';
import { shapedOption } from '../options.js';
import { describeFailure, isStoreFailure, storeFailure } from './store-failure.js';

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

/** Ids that go into the key as they are. */
const PLAIN = /^[a-z0-9_]{1,64}$/;

/**
 * The key of a user's token. An id with anything else in it is hashed, because backends differ: MySQL
 * compares capitals and small letters as equal, Memcached refuses blanks and long keys, PostgreSQL cuts
 * at 255, Keyv 6 strips what could be code. `~` keeps hashes and ids apart.
 */
export function keyOf(prefix: string, userId: string): string {
  if (PLAIN.test(userId)) return prefix + userId;
  return `${prefix}~${createHash('sha256').update(userId).digest('hex')}`;
}

/** A token as it is stored: versioned, and with its user, so that it serves nobody else. */
export function encodeToken(userId: string, token: AccessToken): string {
  const { value, issuedAt, expiresAt } = token;
  return JSON.stringify({ v: 1, user: userId, value, issuedAt, expiresAt });
}

/** The token in a stored value, or `undefined` when there is none in it, or another user's. */
export function decodeToken(userId: string, stored: unknown): AccessToken | undefined {
  if (typeof stored !== 'string') return undefined;
  let row: unknown;
  try {
    row = JSON.parse(stored);
  } catch {
    return undefined;
  }
  const { v, user } = (row ?? {}) as { v?: unknown; user?: unknown };
  if (v !== 1 || user !== userId || !isAccessToken(row)) return undefined;
  const { value, issuedAt, expiresAt } = row;
  return { value, issuedAt, expiresAt };
}

/** @throws TypeError that names the store. */
export function checkToken(owner: string, token: unknown): void {
  if (!isAccessToken(token)) throw new TypeError(`${owner}.set: "token" must be an AccessToken`);
}

/**
 * A claim whose `ttl` is no number would end at once, and an auth_key could be spent twice, or it would
 * never end.
 *
 * @throws TypeError that names the store.
 */
export function checkClaim(owner: string, ttl: unknown): void {
  if (Number.isFinite(ttl) && Number(ttl) > 0) return;
  throw new TypeError(`${owner}: the "ttl" of a claim must be a positive number (milliseconds)`);
}
