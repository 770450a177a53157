import { NoAnswer } from '../deadline.js';
import { knownOptions, shapedOption, wrongOption } from '../options.js';
import { RowTokenStore, type RowTokenStoreOptions } from './row-token-store.js';
import { storeCall } from './store-guard.js';

/**
 * What is used of a `Keyv`, of version 5 or 6. Declared here and not imported from `keyv`, so that neither
 * the package nor its types need a particular version, or any.
 */
export interface KeyvLike {
  /** What is stored under a key. */
  get(key: string): Promise<unknown>;
  /** The same with its expiry; absent before Keyv 5.5. */
  getRaw?(key: string): Promise<unknown>;
  /** Stores a value, for `ttl` milliseconds. */
  set(key: string, value: string, ttl?: number): Promise<unknown>;
  /** Deletes a key. */
  delete(key: string): Promise<unknown>;
  /** Adds a listener of errors. */
  on?(event: 'error', listener: (error: unknown) => void): unknown;
  /** Removes it. */
  off?(event: 'error', listener: (error: unknown) => void): unknown;
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

const REFUSED = new NoAnswer('was refused by Keyv');

/**
 * In place of a row that Keyv could not parse: the backend works, and the row is not this store's. `decodeToken` finds
 * no token in it, because it is not text, and it is reported as such a row.
 */
const UNPARSABLE = Symbol('a row that is no JSON');

/**
 * A `TokenStore` on Keyv, and so on SQLite, PostgreSQL, MySQL, MongoDB, Memcached, etcd and more.
 *
 * - A row expires with its token. A row that is no token of that user counts as none, and is reported on
 *   `marketgate:drift`.
 * - A backend that is down rejects with `store_unavailable`. Keyv by itself answers `undefined` then,
 *   which would mean "no token". So reads go through `getRaw`, which does not hide errors, a write that
 *   answers `false` has failed, and the store listens to `error` events of the Keyv and its adapter during
 *   a call. No setting of the Keyv is changed. An event does not say which call it is about, so an outage
 *   can also fail a call that has just succeeded.
 * - There is no `claim`: Keyv cannot set a key only if it is absent, so two processes would both be
 *   first. Each process then knows the auth_keys that it has exchanged, and the service refuses the rest.
 *
 * Tokens are stored as they are: wrap it in an `EncryptedTokenStore` where others can read the database.
 */
export class KeyvTokenStore extends RowTokenStore {
  constructor(options: KeyvTokenStoreOptions) {
    const { keyv, prefix, clock } = knownOptions(OWNER, options, ['keyv', 'prefix', 'clock']);
    super(OWNER, { prefix, clock }, new KeyvRows(checkKeyv(keyv)));
  }
}

/** The rows of a Keyv. Notices the errors that it hides. */
class KeyvRows {
  /** The errors of each call in progress. One of them can be that of another call: an event does not say which. */
  readonly #calls = new Set<unknown[]>();
  /** What has this store's listener while calls are in progress. One each, because emitters warn about many. */
  readonly #listenedTo = new Set<Emitter>();

  constructor(private readonly keyv: KeyvLike) {}

  get(key: string): Promise<unknown> {
    return storeCall(`${OWNER}.get`, () => this.#read(key));
  }

  set(key: string, row: string, milliseconds: number): Promise<unknown> {
    return storeCall(`${OWNER}.set`, async () => {
      if ((await this.#write(() => this.keyv.set(key, row, milliseconds))) === false) throw REFUSED;
    });
  }

  delete(key: string): Promise<unknown> {
    return storeCall(`${OWNER}.delete`, async () => {
      if ((await this.#write(() => this.keyv.delete(key))) !== false) return;
      // `false` means that there was nothing, or that it failed: a read shows which.
      if ((await this.#read(key)) !== undefined) throw REFUSED;
    });
  }

  async #read(key: string): Promise<unknown> {
    const errors: unknown[] = [];
    const result = await this.#watch(errors, async () => {
      if (this.keyv.getRaw === undefined) return this.keyv.get(key);
      return ((await this.keyv.getRaw(key)) as { value?: unknown } | null | undefined)?.value;
    }).catch((error: unknown) => void errors.push(error));
    // A value counts even when something failed. No value does not, because the read can be what failed.
    if (result !== undefined && result !== null) return result;
    throwFirst(errors);
    return errors.length > 0 ? UNPARSABLE : undefined;
  }

  async #write(call: () => Promise<unknown>): Promise<unknown> {
    const errors: unknown[] = [];
    const result = await this.#watch(errors, call);
    // An adapter that swallows its failure makes Keyv answer `true`.
    throwFirst(errors);
    return result;
  }

  /** Makes a call, and adds the errors that are reported until it ends. */
  async #watch(errors: unknown[], call: () => Promise<unknown>): Promise<unknown> {
    this.#calls.add(errors);
    for (const emitter of emittersOf(this.keyv)) {
      if (!this.#listenedTo.has(emitter)) emitter.on('error', this.#onError);
      this.#listenedTo.add(emitter);
    }
    try {
      return await call();
    } finally {
      this.#calls.delete(errors);
      if (this.#calls.size === 0) {
        for (const emitter of this.#listenedTo) emitter.off('error', this.#onError);
        this.#listenedTo.clear();
      }
    }
  }

  readonly #onError = (error: unknown): void => {
    for (const errors of this.#calls) errors.push(error);
  };
}

/**
 * Throws the first error but those of Keyv's `JSON.parse` of a row, which the backend did give. Compared by name,
 * because under jest the global `SyntaxError` is not the one of `JSON.parse`.
 */
function throwFirst(errors: readonly unknown[]): void {
  for (const error of errors) {
    if (Object(error).name !== 'SyntaxError') throw error;
  }
}

/** Members of some versions only. */
interface Traits {
  readonly store?: unknown;
  readonly throwOnErrors?: unknown;
  readonly throwOnEmptyListeners?: unknown;
  listeners(event: 'error'): readonly unknown[];
}

/** @throws TypeError that names the option. */
function checkKeyv(value: unknown): KeyvLike {
  const what = 'a Keyv, as in new Keyv({ store })';
  const keyv = shapedOption<KeyvLike>(OWNER, 'keyv', value, ['get', 'set', 'delete'], what);
  // A Map has these methods too, and would never expire a token.
  if (keyv instanceof Map)
    throw wrongOption(OWNER, 'keyv', `must be ${what}; a Map goes inside one`);
  // Keyv 5.4 only: `get` hides every error, and there is no `getRaw` yet.
  if (keyv.getRaw === undefined && (keyv as KeyvLike & Partial<Traits>).throwOnErrors === false) {
    throw wrongOption(
      OWNER,
      'keyv',
      'is of a version whose reads hide errors; give it throwOnErrors: true, or take keyv 5.5 or later',
    );
  }
  return keyv;
}

type Emitter = Required<Pick<KeyvLike, 'on' | 'off'>>;

/**
 * The emitters of errors that Keyv hides: the storage adapter (some catch their own), and the Keyv. A Keyv 6
 * that throws errors without a listener is left out, because a listener would stop that for the app too.
 */
function emittersOf(keyv: KeyvLike): Emitter[] {
  const traits = keyv as KeyvLike & Traits;
  const { store, throwOnEmptyListeners } = traits;
  const throwsAnyway = throwOnEmptyListeners === true && traits.listeners('error').length === 0;
  return (throwsAnyway ? [store] : [keyv, store]).filter((value): value is Emitter => {
    const emitter = value as Partial<KeyvLike> | null | undefined;
    return typeof emitter?.on === 'function' && typeof emitter.off === 'function';
  });
}
