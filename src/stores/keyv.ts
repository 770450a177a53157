/**
 * Access tokens in any database that Keyv knows.
 *
 * @group API
 * @module marketgate/keyv
 */

import { NoAnswer } from '../deadline.js';
import { readOptions, shaped, type Table } from '../options.js';
import { reportFailure } from '../store-guard.js';
import { ROW_OPTIONS, RowTokenStore, type RowTokenStoreOptions } from './row-token-store.js';

/**
 * What is used of a `Keyv`, of version 5 or 6, except 5.4, which says "nothing there" when it cannot read. Declared here
 * and not imported from `keyv`, so that neither the package nor its types need a particular version, or any.
 */
export interface KeyvLike {
  /** What is stored under a key. */
  get(key: string): Promise<unknown>;
  /** The same with its expiry; absent before Keyv 5.5. */
  getRaw?(key: string): Promise<
    | {
        /** What is stored. */
        value?: unknown;
      }
    | null
    | undefined
  >;
  /** Stores a value, for `ttl` milliseconds. */
  set(key: string, value: string, ttl?: number): Promise<unknown>;
  /** Deletes a key. */
  delete(key: string): Promise<unknown>;
  /** Adds a listener of errors. */
  on?(event: 'error', listener: (error: unknown) => void): unknown;
  /** The storage adapter. */
  readonly store?: unknown;
}

/** Options of {@link KeyvTokenStore}. */
export interface KeyvTokenStoreOptions extends RowTokenStoreOptions {
  /**
   * The Keyv to keep tokens in, of version 5 or 6, recognised by its methods. Not a storage adapter: that
   * goes inside one, as in `new Keyv({ store: new KeyvPostgres(uri) })`. Its settings are not changed, and
   * closing it is the app's task.
   */
  keyv: KeyvLike;
}

const OWNER = 'KeyvTokenStore';
const OPTIONS = {
  keyv: shaped<KeyvLike>(['get', 'set', 'delete'], 'a Keyv, as in new Keyv({ store })'),
  ...ROW_OPTIONS,
} satisfies Table<KeyvTokenStoreOptions>;

/**
 * A `TokenStore` on Keyv, and so on SQLite, PostgreSQL, MySQL, MongoDB, Memcached, etcd and more.
 *
 * - A row expires with its token. A row that is no token of that user counts as none, and is reported on
 *   `marketgate:drift`; one that Keyv itself cannot read rejects with `store_unavailable`.
 * - A backend that is down rejects with `store_unavailable`. Keyv by itself answers `undefined` then,
 *   which would mean "no token". So reads go through `getRaw`, which does not hide errors, a write that
 *   answers `false` has failed, and the store listens to the `error` events of the Keyv and its adapter. No setting of
 *   the Keyv is changed. An event does not say which call it is about, so an outage can also fail a call that has just
 *   succeeded.
 *
 * Tokens are stored as they are: wrap it in an `EncryptedTokenStore` where others can read the database.
 */
export class KeyvTokenStore extends RowTokenStore {
  /**
   * Stores access_tokens in a database that Keyv knows.
   *
   * @throws TypeError that names the wrong option.
   *
   * @example
   * const tokenStore = new KeyvTokenStore({ keyv: new Keyv({ store: new KeyvPostgres(uri) }) });
   */
  constructor(options: KeyvTokenStoreOptions) {
    const { keyv, ...rows } = readOptions(OWNER, OPTIONS, options);
    super(OWNER, rows, new KeyvRows(keyv));
  }
}

/** The rows of a Keyv. Notices the errors that it hides. */
class KeyvRows {
  /** The last error that was reported by an event, and how many there were. */
  #lastError: unknown;
  #errors = 0;

  constructor(private readonly keyv: KeyvLike) {
    const onError = (error: unknown): void => {
      this.#lastError = error;
      this.#errors++;
    };
    // Most adapters throw. Some, such as @keyv/redis, only emit their errors, and not all versions of Keyv repeat that.
    for (const emitter of [keyv, keyv.store as Partial<KeyvLike> | undefined]) {
      if (typeof emitter?.on === 'function') emitter.on('error', onError);
    }
  }

  get(key: string): Promise<unknown> {
    return reportFailure(`${OWNER}.get`, () => this.#read(key));
  }

  set(key: string, row: string, milliseconds: number): Promise<unknown> {
    return reportFailure(`${OWNER}.set`, async () => {
      if ((await this.#watch(() => this.keyv.set(key, row, milliseconds))) === false) {
        throw refused();
      }
    });
  }

  delete(key: string): Promise<unknown> {
    return reportFailure(`${OWNER}.delete`, async () => {
      if ((await this.#watch(() => this.keyv.delete(key))) !== false) return;
      // `false` means that there was nothing, or that it failed: a read shows which.
      if ((await this.#read(key)) !== undefined) throw refused();
    });
  }

  #read(key: string): Promise<unknown> {
    const { keyv } = this;
    return this.#watch(async () => {
      const row = keyv.getRaw ? (await keyv.getRaw(key))?.value : await keyv.get(key);
      return row ?? undefined;
    });
  }

  /** Makes a call. Rejects if an error is reported before it ends. */
  async #watch<T>(call: () => Promise<T>): Promise<T> {
    const before = this.#errors;
    const result = await call();
    if (this.#errors > before) throw this.#lastError;
    return result;
  }
}

const refused = () => new NoAnswer('was refused by Keyv');
