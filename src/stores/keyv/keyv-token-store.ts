import { reportUnreadable } from '../../diagnostics.js';
import { type AccessToken, isAccessToken } from '../../model/access-token.js';
import { functionOption, knownOptions, textOption } from '../../options.js';
import { describeFailure, storeFailure } from '../store-failure.js';
import { decodeToken, encodeToken, keyOf } from '../stored-token.js';
import type { TokenStore } from '../token-store.js';
import { ErrorWatch, isGarbled, type Watched } from './error-watch.js';
import { checkKeyv, emittersOf, type KeyvLike } from './keyv-like.js';

/** Options of {@link KeyvTokenStore}. */
export interface KeyvTokenStoreOptions {
  /**
   * The Keyv to keep tokens in, of version 5 or 6; told by its methods. Not a storage adapter: that
   * goes inside one, as in `new Keyv({ store: new KeyvPostgres(uri) })`. Its settings stay as they are,
   * and it stays the app's own: closing it is the app's task.
   */
  keyv: KeyvLike;
  /** What the keys of this store begin with. Default `marketgate:token:`. */
  prefix?: string | undefined;
  /** The present as epoch milliseconds. Default `Date.now`. For tests. */
  clock?: (() => number) | undefined;
}

const OWNER = 'KeyvTokenStore';

/**
 * A {@link TokenStore} on Keyv, and so on SQLite, PostgreSQL, MySQL, MongoDB, Memcached, etcd and more.
 *
 * - A row ends with its token, and a row that is no token of that user counts as none; it is reported
 *   on `marketgate:drift`.
 * - A backend that is down rejects with `store_unavailable`. Keyv by itself answers `undefined` then,
 *   which would mean "no token"; so reads go through `getRaw`, which does not hide errors, a write
 *   that answers `false` has failed, and `error` events of the Keyv and its adapter are listened to
 *   while a call is under way. No setting of the Keyv is changed. Because an event does not say whose
 *   call it is about, an outage can also fail a call that would just have gone through.
 * - There is no `claim`: Keyv cannot set a key only if it is absent, so two processes would both be
 *   first. Each process then knows its own spent auth_keys, and the service refuses the rest.
 *
 * Tokens are stored as they are: wrap it in an `EncryptedTokenStore` where others can read the
 * database.
 */
export class KeyvTokenStore implements TokenStore {
  readonly #keyv: KeyvLike;
  readonly #prefix: string;
  readonly #clock: () => number;
  readonly #watch: ErrorWatch;

  /** @throws TypeError that names the wrong option. */
  constructor(options: KeyvTokenStoreOptions) {
    const given = knownOptions(OWNER, options, ['keyv', 'prefix', 'clock']);
    const keyv = checkKeyv(OWNER, given.keyv);
    this.#keyv = keyv;
    this.#prefix = textOption(OWNER, 'prefix', given.prefix ?? 'marketgate:token:');
    this.#clock = functionOption(OWNER, 'clock', given.clock) ?? Date.now;
    this.#watch = new ErrorWatch(() => emittersOf(keyv));
  }

  /** @throws MarketgateError `store_unavailable` when the backend cannot be asked. */
  async get(userId: string): Promise<AccessToken | undefined> {
    const { stored, garbled } = await this.#read('get', keyOf(this.#prefix, userId));
    const token = decodeToken(userId, stored);
    if (token === undefined && (garbled || stored !== undefined)) {
      reportUnreadable(this, `${OWNER}.get`, 'a token of this user, as this store writes it');
    }
    // Keyv's own clock can be another one, and an adapter may know no expiry.
    return token !== undefined && this.#clock() < token.expiresAt ? token : undefined;
  }

  /**
   * @throws TypeError when `token` is none.
   * @throws MarketgateError `store_unavailable` when the backend did not take it.
   */
  async set(userId: string, token: AccessToken): Promise<void> {
    if (!isAccessToken(token)) throw new TypeError(`${OWNER}.set: "token" must be an AccessToken`);
    const ttl = Math.ceil(token.expiresAt - this.#clock());
    // For Keyv a ttl of 0 means for ever.
    if (ttl <= 0) return this.delete(userId);
    const value = encodeToken(userId, token);
    const key = keyOf(this.#prefix, userId);
    const taken = await this.#write('set', () => this.#keyv.set(key, value, ttl));
    if (taken === false) throw storeFailure(`${OWNER}.set`, 'was refused by Keyv');
  }

  /** @throws MarketgateError `store_unavailable` when the backend did not do it. */
  async delete(userId: string): Promise<void> {
    const key = keyOf(this.#prefix, userId);
    // `false` says that there was nothing, or that it failed: looking tells which.
    if ((await this.#write('delete', () => this.#keyv.delete(key))) !== false) return;
    const { stored, garbled } = await this.#read('delete', key);
    if (garbled || stored !== undefined)
      throw storeFailure(`${OWNER}.delete`, 'was refused by Keyv');
  }

  async #read(method: string, key: string): Promise<{ stored: unknown; garbled: boolean }> {
    let watched: Watched<unknown>;
    try {
      watched = await this.#watch.during(() => this.#ask(key));
    } catch (error) {
      if (isGarbled(error)) return { stored: undefined, garbled: true };
      throw storeFailure(`${OWNER}.${method}`, describeFailure(error));
    }
    const stored = watched.result ?? undefined;
    // A value is believed in any case. "Nothing there" is not, when something failed meanwhile.
    if (stored === undefined && watched.failed) {
      throw storeFailure(`${OWNER}.${method}`, describeFailure(watched.error));
    }
    return { stored, garbled: watched.garbled };
  }

  async #ask(key: string): Promise<unknown> {
    if (typeof this.#keyv.getRaw !== 'function') return this.#keyv.get(key);
    const row = (await this.#keyv.getRaw(key)) as { value?: unknown } | null | undefined;
    return row?.value;
  }

  async #write(method: string, call: () => Promise<unknown>): Promise<unknown> {
    let watched: Watched<unknown>;
    try {
      watched = await this.#watch.during(call);
    } catch (error) {
      throw storeFailure(`${OWNER}.${method}`, describeFailure(error));
    }
    // An adapter that swallows its failure makes Keyv say `true`: no answer is believed then.
    if (!watched.failed) return watched.result;
    throw storeFailure(`${OWNER}.${method}`, describeFailure(watched.error));
  }
}
