import { reportUnreadable } from '../diagnostics.js';
import type { AccessToken } from '../model/access-token.js';
import { functionOption, knownOptions, shapedOption, textOption, wrongOption } from '../options.js';
import { describeFailure, storeFailure } from './store-failure.js';
import type { TokenStore } from './token-store.js';
import { checkToken, decodeToken, encodeToken, keyOf } from './token-store.js';

/** Reports its errors by an event, as Keyv and its storage adapters do. */
export interface KeyvEmitter {
  /** Adds a listener. */
  on?(event: 'error', listener: (error: unknown) => void): unknown;
  /** Removes it. */
  off?(event: 'error', listener: (error: unknown) => void): unknown;
  /** All of them. */
  listeners?(event: 'error'): readonly unknown[];
}

/**
 * What is used of a `Keyv`, of version 5 or 6. Declared here and not imported from `keyv`, so that neither
 * the package nor its types need a particular version, or any.
 */
export interface KeyvLike extends KeyvEmitter {
  /** What is stored under a key. */
  get(key: string): Promise<unknown>;
  /** The same with its expiry; absent before Keyv 5.5. */
  getRaw?(key: string): Promise<unknown>;
  /** Stores a value, for `ttl` milliseconds. */
  set(key: string, value: string, ttl?: number): Promise<unknown>;
  /** Deletes a key. */
  delete(key: string): Promise<unknown>;
}

/** Options of {@link KeyvTokenStore}. */
export interface KeyvTokenStoreOptions {
  /**
   * The Keyv to keep tokens in, of version 5 or 6, recognised by its methods. Not a storage adapter: that
   * goes inside one, as in `new Keyv({ store: new KeyvPostgres(uri) })`. Its settings are not changed, and
   * closing it is the app's task.
   */
  keyv: KeyvLike;
  /** What the keys of this store begin with. Default `marketgate:token:`. */
  prefix?: string | undefined;
  /** The present as epoch milliseconds. Default `Date.now`. For tests. */
  clock?: (() => number) | undefined;
}

const OWNER = 'KeyvTokenStore';

/** The errors during a call, whether thrown or reported by an event. */
interface CallErrors {
  /** Whether the backend failed, perhaps in another call: an event does not say which. */
  hasFailed: boolean;
  /** The first such error. */
  error: unknown;
  /** Whether a stored row could not be parsed: the backend works, and the row is not ours. */
  isGarbled: boolean;
}

/**
 * A {@link TokenStore} on Keyv, and so on SQLite, PostgreSQL, MySQL, MongoDB, Memcached, etcd and more.
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
export class KeyvTokenStore implements TokenStore {
  readonly #keyv: KeyvLike;
  readonly #prefix: string;
  readonly #clock: () => number;
  /** The errors of each call in progress. */
  readonly #calls = new Set<CallErrors>();
  /** What has this store's listener while calls are in progress. One each, because emitters warn about many. */
  readonly #listenedTo = new Set<Emitter>();

  /** @throws TypeError that names the wrong option. */
  constructor(options: KeyvTokenStoreOptions) {
    const given = knownOptions(OWNER, options, ['keyv', 'prefix', 'clock']);
    this.#keyv = checkKeyv(given.keyv);
    this.#prefix = textOption(OWNER, 'prefix', given.prefix ?? 'marketgate:token:');
    this.#clock = functionOption(OWNER, 'clock', given.clock) ?? Date.now;
  }

  /** @throws MarketgateError `store_unavailable` when the backend cannot be asked. */
  async get(userId: string): Promise<AccessToken | undefined> {
    const { stored, isGarbled } = await this.#read('get', keyOf(this.#prefix, userId));
    const token = decodeToken(userId, stored);
    if (token === undefined && (isGarbled || stored !== undefined)) {
      reportUnreadable(this, `${OWNER}.get`, 'a token of this user, as this store writes it');
    }
    // Keyv's own clock can differ, and an adapter can lack expiry.
    return token !== undefined && this.#clock() < token.expiresAt ? token : undefined;
  }

  /**
   * @throws TypeError when `token` is none.
   * @throws MarketgateError `store_unavailable` when the backend did not take it.
   */
  async set(userId: string, token: AccessToken): Promise<void> {
    checkToken(OWNER, token);
    const ttl = Math.ceil(token.expiresAt - this.#clock());
    // A ttl of 0 would mean no expiry to Keyv.
    if (ttl <= 0) return this.delete(userId);
    const value = encodeToken(userId, token);
    const key = keyOf(this.#prefix, userId);
    const result = await this.#write('set', () => this.#keyv.set(key, value, ttl));
    if (result === false) throw storeFailure(`${OWNER}.set`, 'was refused by Keyv');
  }

  /** @throws MarketgateError `store_unavailable` when the backend did not do it. */
  async delete(userId: string): Promise<void> {
    const key = keyOf(this.#prefix, userId);
    if ((await this.#write('delete', () => this.#keyv.delete(key))) !== false) return;
    // `false` means that there was nothing, or that it failed: a read shows which.
    const { stored, isGarbled } = await this.#read('delete', key);
    if (isGarbled || stored !== undefined) {
      throw storeFailure(`${OWNER}.delete`, 'was refused by Keyv');
    }
  }

  async #read(method: string, key: string): Promise<{ stored: unknown; isGarbled: boolean }> {
    const { result, hasFailed, error, isGarbled } = await this.#watch(async () => {
      if (this.#keyv.getRaw === undefined) return this.#keyv.get(key);
      return ((await this.#keyv.getRaw(key)) as { value?: unknown } | null | undefined)?.value;
    });
    const stored = result ?? undefined;
    // A value counts even when something failed. No value does not, because the read can be what failed.
    if (stored === undefined && hasFailed) {
      throw storeFailure(`${OWNER}.${method}`, describeFailure(error));
    }
    return { stored, isGarbled };
  }

  async #write(method: string, call: () => Promise<unknown>): Promise<unknown> {
    const { result, hasThrown, hasFailed, error } = await this.#watch(call);
    // An adapter that swallows its failure makes Keyv answer `true`.
    if (!hasThrown && !hasFailed) return result;
    throw storeFailure(`${OWNER}.${method}`, describeFailure(error));
  }

  /** Makes a call, and notes what it throws and the `error` events until it ends. */
  async #watch(
    call: () => Promise<unknown>,
  ): Promise<CallErrors & { result: unknown; hasThrown: boolean }> {
    const errors: CallErrors = { hasFailed: false, error: undefined, isGarbled: false };
    this.#calls.add(errors);
    for (const emitter of emittersOf(this.#keyv)) {
      if (!this.#listenedTo.has(emitter)) emitter.on('error', this.#onError);
      this.#listenedTo.add(emitter);
    }
    let result: unknown;
    let hasThrown = false;
    try {
      result = await call();
    } catch (error) {
      hasThrown = true;
      note(errors, error);
    }
    this.#calls.delete(errors);
    if (this.#calls.size === 0) {
      for (const emitter of this.#listenedTo) emitter.off('error', this.#onError);
      this.#listenedTo.clear();
    }
    return { ...errors, result, hasThrown };
  }

  readonly #onError = (error: unknown): void => {
    for (const errors of this.#calls) note(errors, error);
  };
}

function note(errors: CallErrors, error: unknown): void {
  // Keyv's `JSON.parse` of the row failed, so the backend did answer. Compared by name, because under jest the
  // global `SyntaxError` is not the one of `JSON.parse`.
  if ((error as { name?: unknown } | null | undefined)?.name === 'SyntaxError') {
    errors.isGarbled = true;
  } else if (!errors.hasFailed) {
    errors.hasFailed = true;
    errors.error = error;
  }
}

/** Members of some versions only. */
interface Traits {
  readonly store?: unknown;
  readonly throwOnErrors?: unknown;
  readonly throwOnEmptyListeners?: unknown;
}

/** @throws TypeError that names the option. */
function checkKeyv(value: unknown): KeyvLike {
  const what = 'a Keyv, as in new Keyv({ store })';
  const keyv = shapedOption<KeyvLike>(OWNER, 'keyv', value, ['get', 'set', 'delete'], what);
  // A Map has these methods too, and would never expire a token.
  if (keyv instanceof Map)
    throw wrongOption(OWNER, 'keyv', `must be ${what}; a Map goes inside one`);
  // Keyv 5.4 only: `get` hides every error, and there is no `getRaw` yet.
  if (keyv.getRaw === undefined && (keyv as Traits).throwOnErrors === false) {
    throw wrongOption(
      OWNER,
      'keyv',
      'is of a version whose reads hide errors; give it throwOnErrors: true, or take keyv 5.5 or later',
    );
  }
  return keyv;
}

type Emitter = Required<Pick<KeyvEmitter, 'on' | 'off'>>;

/**
 * The emitters of errors that Keyv hides: the storage adapter (some catch their own), and the Keyv. A Keyv 6
 * that throws errors without a listener is left out, because a listener would stop that for the app too.
 */
function emittersOf(keyv: KeyvLike): Emitter[] {
  const { store, throwOnEmptyListeners } = keyv as Traits;
  const throwsAnyway = throwOnEmptyListeners === true && keyv.listeners?.('error').length === 0;
  return (throwsAnyway ? [store] : [keyv, store]).filter((value): value is Emitter => {
    const emitter = value as KeyvEmitter | null | undefined;
    return typeof emitter?.on === 'function' && typeof emitter.off === 'function';
  });
}
