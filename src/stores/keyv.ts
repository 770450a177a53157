import { NoAnswer } from '../deadline.js';
import { knownOptions, shapedOption, wrongOption } from '../options.js';
import { RowTokenStore, type RowTokenStoreOptions } from './row-token-store.js';
import { StoreGuard } from './store-guard.js';

/**
 * What is used of a `Keyv`, of version 5 or 6. Declared here and not imported from `keyv`, so that neither
 * the package nor its types need a particular version, or any.
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
  /** Whether reads reject when the storage fails. */
  readonly throwOnErrors?: boolean;
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

/**
 * A `TokenStore` on Keyv, and so on SQLite, PostgreSQL, MySQL, MongoDB, Memcached, etcd and more.
 *
 * - A row expires with its token. A row that is no token of that user counts as none, and is reported on
 *   `marketgate:drift`.
 * - A backend that is down rejects with `store_unavailable`. Keyv by itself answers `undefined` then,
 *   which would mean "no token". So reads go through `getRaw`, which does not hide errors, a write that
 *   answers `false` has failed, and the store listens to the `error` events of the Keyv and its adapter. No setting of
 *   the Keyv is changed. An event does not say which call it is about, so an outage can also fail a call that has just
 *   succeeded.
 * - There is no `claim`: Keyv cannot set a key only if it is absent, so two processes would both be
 *   first. Each process then knows the auth_keys that it has exchanged, and the service refuses the rest.
 *
 * Tokens are stored as they are: wrap it in an `EncryptedTokenStore` where others can read the database.
 */
export class KeyvTokenStore extends RowTokenStore {
  constructor(options: KeyvTokenStoreOptions) {
    const { keyv, prefix, clock } = knownOptions(OWNER, options, ['keyv', 'prefix', 'clock']);
    super(OWNER, { prefix, clock }, rowsOf(checkKeyv(keyv)));
  }
}

/** One for each Keyv, because emitters warn about many listeners. */
const known = new WeakMap<KeyvLike, KeyvRows>();

function rowsOf(keyv: KeyvLike): KeyvRows {
  const rows = known.get(keyv) ?? new KeyvRows(keyv);
  known.set(keyv, rows);
  return rows;
}

/** The rows of a Keyv. Notices the errors that it hides. */
class KeyvRows {
  readonly #guard = new StoreGuard(OWNER);
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
    return this.#guard.call('get', () => this.#read(key));
  }

  set(key: string, row: string, milliseconds: number): Promise<unknown> {
    return this.#guard.call('set', async () => {
      if ((await this.#watch(() => this.keyv.set(key, row, milliseconds))) === false)
        throw refused();
    });
  }

  delete(key: string): Promise<unknown> {
    return this.#guard.call('delete', async () => {
      if ((await this.#watch(() => this.keyv.delete(key))) !== false) return;
      // `false` means that there was nothing, or that it failed: a read shows which.
      if ((await this.#read(key)) !== undefined) throw refused();
    });
  }

  async #read(key: string): Promise<unknown> {
    const { keyv } = this;
    try {
      return await this.#watch(async () => {
        const row = keyv.getRaw ? (await keyv.getRaw(key))?.value : await keyv.get(key);
        return row ?? undefined;
      });
    } catch (error) {
      // The backend has given a row that Keyv cannot parse: no token, and reported as such. By name, because under jest
      // the global `SyntaxError` is not the one of `JSON.parse`.
      if (Object(error).name === 'SyntaxError') return UNPARSABLE;
      throw error;
    }
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

/** In place of a row that is no JSON. It is no text, so no token is found in it. */
const UNPARSABLE = Symbol('a row that is no JSON');

/** @throws TypeError that names the option. */
function checkKeyv(value: unknown): KeyvLike {
  const what = 'a Keyv, as in new Keyv({ store })';
  const keyv = shapedOption<KeyvLike>(OWNER, 'keyv', value, ['get', 'set', 'delete'], what);
  // A Map has these methods too, and would never expire a token.
  if (keyv instanceof Map) {
    throw wrongOption(OWNER, 'keyv', `must be ${what}; a Map goes inside one`);
  }
  // Keyv 5.4 only: `get` hides every error, and there is no `getRaw` yet.
  if (keyv.getRaw === undefined && keyv.throwOnErrors === false) {
    throw wrongOption(
      OWNER,
      'keyv',
      'is of a version whose reads hide errors; give it throwOnErrors: true, or take keyv 5.5 or later',
    );
  }
  return keyv;
}
