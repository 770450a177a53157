import { hash } from 'node:crypto';
import { reportUnreadable } from '../diagnostics.js';
import { type AccessToken, readAccessToken } from '../model/access-token.js';
import { functionOf, machineClock, type Table, text } from '../options.js';
import type { TokenStore } from './token-store.js';

/** Options of every store on rows. */
export interface RowTokenStoreOptions {
  /** What the keys of this store begin with. Default `marketgate:token:`. */
  prefix?: string | undefined;
  /** Returns the current time in epoch milliseconds, for tests. Default `Date.now`. */
  clock?: (() => number) | undefined;
}

export const ROW_OPTIONS = {
  prefix: text('marketgate:token:'),
  clock: functionOf<() => number>(),
} satisfies Table<RowTokenStoreOptions>;

/** Rows of text in some backend. */
interface Rows {
  /** The row of a key, or `undefined` or `null` when there is none. */
  get(key: string): Promise<unknown>;
  /** Stores a row for a whole number of milliseconds. */
  set(key: string, row: string, milliseconds: number): Promise<unknown>;
  delete(key: string): Promise<unknown>;
}

/** A {@link TokenStore} on rows of text, each of which expires with its token. */
export class RowTokenStore implements TokenStore {
  readonly #owner: string;
  readonly #prefix: string;
  readonly #clock: () => number;
  readonly #rows: Rows;

  /** @param options as {@link ROW_OPTIONS} reads them. */
  constructor(
    owner: string,
    options: { readonly prefix: string; readonly clock: (() => number) | undefined },
    rows: Rows,
  ) {
    this.#owner = owner;
    this.#prefix = options.prefix;
    this.#clock = options.clock ?? machineClock;
    this.#rows = rows;
  }

  async get(userId: string): Promise<AccessToken | undefined> {
    const row = (await this.#rows.get(keyOf(this.#prefix, userId))) ?? undefined;
    const token = decodeToken(userId, row);
    if (token === undefined && row !== undefined) {
      const expected = 'a token of this user, as this store writes it';
      reportUnreadable(this, `${this.#owner}.get`, expected);
    }
    // The backend's clock can differ, and some backends never expire rows.
    return token !== undefined && this.#clock() < token.expiresAt ? token : undefined;
  }

  async set(userId: string, token: AccessToken): Promise<void> {
    const ttl = wholeMilliseconds(token.expiresAt - this.#clock());
    if (ttl <= 0) return this.delete(userId);
    await this.#rows.set(keyOf(this.#prefix, userId), encodeToken(userId, token), ttl);
  }

  async delete(userId: string): Promise<void> {
    await this.#rows.delete(keyOf(this.#prefix, userId));
  }
}

/** The longest lifetime: Redis adds it to the current time, which must fit into 64 bits. */
const MAX_TTL = Number.MAX_SAFE_INTEGER;

/** A lifetime as backends take it: whole, and rounded up, so that nothing expires early. */
export const wholeMilliseconds = (ttl: number): number => Math.min(Math.ceil(ttl), MAX_TTL);

/** Ids that are part of the key as they are. */
const PLAIN = /^[a-z0-9_]{1,64}$/;

/**
 * The key of a user's token. Any other id than a plain one is hashed, because backends differ: MySQL ignores
 * case, Memcached refuses spaces and long keys, PostgreSQL cuts at 255 characters, Keyv 6 strips what could be
 * code. No plain id contains the `~` of a hash.
 */
function keyOf(prefix: string, userId: string): string {
  if (PLAIN.test(userId)) return prefix + userId;
  return `${prefix}~${hash('sha256', userId)}`;
}

/** A token as it is stored: with a version, and with its user, so that it is used for no other. */
export function encodeToken(userId: string, token: AccessToken): string {
  const { value, issuedAt, expiresAt } = token;
  return JSON.stringify({ v: 1, user: userId, value, issuedAt, expiresAt });
}

/** The token in a stored value, or `undefined` when there is none, or another user's. */
export function decodeToken(userId: string, stored: unknown): AccessToken | undefined {
  try {
    const row = JSON.parse(stored as string);
    if (row.v === 1 && row.user === userId) return readAccessToken(row);
  } catch {
    // It is no JSON, or null.
  }
  return undefined;
}
