import { createSecretKey, type KeyObject } from 'node:crypto';
import { reportUnreadable } from '../diagnostics.js';
import type { AccessToken } from '../model/access-token.js';
import { ifUnset, readOptions, refuseStray, type Table, wrongOption } from '../options.js';
import { openText, sealText } from '../seal.js';
import { decodeToken, encodeToken } from './row-token-store.js';
import { checkTokenStore, type TokenStore } from './token-store.js';

/** A key to encrypt with: 32 random bytes, or these in base64 or base64url. */
export type EncryptionKey = string | Uint8Array;

/** Options of {@link EncryptedTokenStore}. */
export interface EncryptedTokenStoreOptions {
  /**
   * Keys of 32 bytes, as a Buffer or in base64 or base64url; `openssl rand -base64 32` makes one. The
   * first encrypts, all decrypt. To rotate, put the new one in front, and remove the previous one when the
   * tokens that it sealed have expired (after an hour, with the service's own lifetime).
   */
  keys: readonly EncryptionKey[];
}

const OWNER = 'EncryptedTokenStore';

/**
 * Wraps a {@link TokenStore}. Read access to it reveals no token, and write access is not enough to give one
 * user the token of another. The inner store gets a token whose `value` is sealed (AES-256-GCM) for its
 * user, with the token and its times in it. `issuedAt` and `expiresAt` are also stored in clear text, so
 * that the inner store can expire the row. User ids are in clear text.
 *
 * A row that does not open (another key, tampered with, another user's, not encrypted) counts as no
 * token, so that the user logs in again. It stays where it is, and is reported on `marketgate:drift`.
 * Each call rejects as the inner store does.
 */
export class EncryptedTokenStore implements TokenStore {
  readonly #store: TokenStore;
  /** As `KeyObject`, which shows no bytes in `inspect` and JSON. */
  readonly #keys: readonly [KeyObject, ...KeyObject[]];

  /**
   * Encrypts the tokens that another store keeps.
   *
   * @param options - `keys`: 32 bytes each, as a Buffer or in base64; the first encrypts, all decrypt.
   * @throws TypeError that names the wrong option.
   *
   * @example
   * // openssl rand -base64 32
   * const tokenStore = new EncryptedTokenStore(new RedisTokenStore({ client }), { keys: [process.env.TOKEN_KEY] });
   */
  constructor(store: TokenStore, options: EncryptedTokenStoreOptions) {
    this.#store = checkTokenStore(OWNER, store, 'store');
    this.#keys = readOptions(OWNER, OPTIONS, options).keys;
  }

  async get(userId: string): Promise<AccessToken | undefined> {
    const row = (await this.#store.get(userId)) ?? undefined;
    if (row === undefined) return undefined;
    // The sealed times count: those in clear text can have been tampered with.
    const token = this.#open(userId, String(row.value));
    if (token !== undefined) return token;
    reportUnreadable(this, `${OWNER}.get`, 'a token sealed for this user with one of the keys');
    return undefined;
  }

  async set(userId: string, token: AccessToken): Promise<void> {
    const { issuedAt, expiresAt } = token;
    const value = sealText(this.#keys[0], nameOf(userId), encodeToken(userId, token));
    await this.#store.set(userId, { value, issuedAt, expiresAt });
  }

  async delete(userId: string): Promise<void> {
    await this.#store.delete(userId);
  }

  #open(userId: string, sealed: string): AccessToken | undefined {
    for (const key of this.#keys) {
      const text = openText(key, nameOf(userId), sealed);
      if (text !== undefined) return decodeToken(userId, text);
    }
    return undefined;
  }
}

const OPTIONS = { keys: readKeys } satisfies Table<EncryptedTokenStoreOptions>;

/** The name that a user's token is sealed for. */
const nameOf = (userId: string): string => `marketgate token ${userId}`;

/** The error names the place of the wrong key, never the key. */
function readKeys(
  _owner: string,
  _name: string,
  option: unknown,
): readonly [KeyObject, ...KeyObject[]] {
  const keys = Array.isArray(option) ? option : [];
  const [first, ...others] = keys.map((key: unknown, at) => readKey(`keys[${at}]`, key));
  if (first !== undefined) return [first, ...others];
  throw wrongOption(OWNER, 'keys', 'must be an array of keys, the one that writes first');
}

function readKey(name: string, key: unknown): KeyObject {
  if (typeof key === 'string') refuseStray(OWNER, name, key);
  // `Buffer.from` skips what is not base64, and would make a key of a text with a typing error.
  const isBase64 = typeof key === 'string' && /^[A-Za-z0-9+/_-]{43}=?$/.test(key);
  const bytes = isBase64 ? Buffer.from(key, 'base64') : key;
  if (bytes instanceof Uint8Array && bytes.byteLength === 32) return createSecretKey(bytes);
  const expected = 'must be 32 bytes as a Buffer, or as base64 or base64url text';
  throw wrongOption(OWNER, name, expected + ifUnset(key));
}
