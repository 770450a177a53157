import { reportUnreadable } from '../diagnostics.js';
import { type AccessToken, isAccessToken } from '../model/access-token.js';
import { knownOptions, shapedOption } from '../options.js';
import { type EncryptionKey, readKeys } from './encryption-keys.js';
import { TokenSeal } from './token-seal.js';
import type { TokenStore } from './token-store.js';

/** Options of {@link EncryptedTokenStore}. */
export interface EncryptedTokenStoreOptions {
  /**
   * Keys of 32 bytes, as a Buffer or in base64 or base64url; `openssl rand -base64 32` makes one. The
   * first writes, all read: to rotate, put the new one in front, and drop the old one when the tokens
   * it made have ended (an hour later, as the service has it).
   */
  keys: readonly EncryptionKey[];
}

const OWNER = 'EncryptedTokenStore';

/**
 * Wraps a {@link TokenStore} so that nobody who can read it gets at a token, and nobody who can write
 * to it can pass off one user's row as another's. What the inner store gets is a token whose `value`
 * is a JWE (A256GCM) that holds the token, its user and its times; `issuedAt` and `expiresAt` also
 * stay in clear, so that the inner store can let the row end. The user ids stay in clear.
 *
 * A row that does not open (another key, tampered with, another user's, kept from before there was
 * encryption) counts as no token, so that the user logs in again; it stays where it is, and is
 * reported on `marketgate:drift`. Claims go to the inner store as they are, if it has them.
 */
export class EncryptedTokenStore implements TokenStore {
  readonly #store: TokenStore;
  readonly #seal: TokenSeal;

  /** The inner store's `claim`; absent when it has none. */
  declare readonly claim?: (name: string, ttl: number) => Promise<boolean>;

  /** @throws TypeError that names the wrong option, and never shows a key. */
  constructor(store: TokenStore, options: EncryptedTokenStoreOptions) {
    this.#store = shapedOption<TokenStore>(
      OWNER,
      'store',
      store,
      ['get', 'set', 'delete'],
      'a token store, as in new MemoryTokenStore()',
    );
    this.#seal = new TokenSeal(readKeys(OWNER, knownOptions(OWNER, options, ['keys']).keys));
    if (typeof store.claim === 'function') {
      Object.defineProperty(this, 'claim', { value: store.claim.bind(store) });
    }
  }

  /** Rejects as the inner store does. */
  async get(userId: string): Promise<AccessToken | undefined> {
    const row: unknown = await this.#store.get(userId);
    if (row === undefined || row === null) return undefined;
    const token = isAccessToken(row) ? await this.#open(userId, row) : undefined;
    if (token === undefined) {
      reportUnreadable(this, `${OWNER}.get`, 'a token sealed for this user with one of the keys');
    }
    return token;
  }

  /**
   * Rejects as the inner store does.
   *
   * @throws TypeError when `token` is none.
   */
  async set(userId: string, token: AccessToken): Promise<void> {
    if (!isAccessToken(token)) throw new TypeError(`${OWNER}.set: "token" must be an AccessToken`);
    // Taken before the first await, for the caller's object may change meanwhile.
    const { value, issuedAt, expiresAt } = token;
    const sealed = await this.#seal.seal(userId, { value, issuedAt, expiresAt });
    await this.#store.set(userId, { value: sealed, issuedAt, expiresAt });
  }

  /** Rejects as the inner store does. */
  async delete(userId: string): Promise<void> {
    await this.#store.delete(userId);
  }

  /** What is sealed counts. A row that was made to last longer in clear has been tampered with. */
  async #open(userId: string, row: AccessToken): Promise<AccessToken | undefined> {
    const token = await this.#seal.open(userId, row.value);
    return token !== undefined && row.expiresAt <= token.expiresAt ? token : undefined;
  }
}
