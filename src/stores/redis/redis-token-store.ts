import { createHash } from 'node:crypto';
import { SELF_LIMITED } from '../../deadline.js';
import { reportUnreadable } from '../../diagnostics.js';
import type { AccessToken } from '../../model/access-token.js';
import { functionOption, knownOptions } from '../../options.js';
import type { TokenStore } from '../token-store.js';
import { checkClaim, checkToken, decodeToken, encodeToken, keyOf } from '../token-store.js';
import { RedisConnection, type RedisStoreOptions, wholeMilliseconds } from './connection.js';

/** Options of {@link RedisTokenStore}. */
export interface RedisTokenStoreOptions extends RedisStoreOptions {
  /** The present as epoch milliseconds. Default `Date.now`. For tests. */
  clock?: (() => number) | undefined;
}

const OWNER = 'RedisTokenStore';

/**
 * A {@link TokenStore} in Redis, for a fleet: single server, cluster or sentinel.
 *
 * - A row expires with its token. A row that is no token of that user counts as none; it is reported on
 *   `marketgate:drift`, and stays where it is, because a newer version can have written it.
 * - `claim` is atomic: exactly one process of the fleet gets `true`. A master that hangs until a replica has
 *   taken over can still acknowledge a few calls, which Redis then loses; so a claim can be granted twice.
 * - While Redis cannot be asked, every call rejects with `store_unavailable`, within `timeout`. Until
 *   then, they wait for a lost connection. Once a call has waited in vain, others fail at once.
 * - Redis needs the `maxmemory-policy` `noeviction`. With another, it can evict a claim before it expires, or a
 *   token, which logs the user out.
 *
 * Tokens are stored in clear text. Wrap it in an `EncryptedTokenStore` where others than the app can read that
 * Redis. User ids with anything but small letters, digits and `_` are hashed, and so are the names of claims.
 */
export class RedisTokenStore implements TokenStore {
  readonly #redis: RedisConnection;
  readonly #clock: () => number;

  /** @throws TypeError that names the wrong option. */
  constructor(options: RedisTokenStoreOptions) {
    const given = knownOptions(OWNER, options, ['client', 'prefix', 'timeout', 'clock']);
    this.#clock = functionOption(OWNER, 'clock', given.clock) ?? Date.now;
    const defaults = { prefix: 'marketgate:token:', timeout: 1500, waits: true };
    this.#redis = new RedisConnection(OWNER, given, defaults);
    SELF_LIMITED.add(this);
  }

  async get(userId: string): Promise<AccessToken | undefined> {
    const key = keyOf(this.#redis.prefix, userId);
    const stored = (await this.#redis.call('get', (redis) => redis.get(key))) ?? undefined;
    if (stored === undefined) return undefined;
    const token = decodeToken(userId, stored);
    if (token === undefined) {
      reportUnreadable(this, `${OWNER}.get`, 'a token of this user, as this store writes it');
      return undefined;
    }
    // Redis expires the row by its own clock, which can differ.
    return this.#clock() < token.expiresAt ? token : undefined;
  }

  /** @throws TypeError when `token` is none. */
  async set(userId: string, token: AccessToken): Promise<void> {
    checkToken(OWNER, token);
    const life = wholeMilliseconds(token.expiresAt - this.#clock());
    if (life <= 0) return this.delete(userId);
    const key = keyOf(this.#redis.prefix, userId);
    const value = encodeToken(userId, token);
    await this.#redis.call('set', (redis) => redis.set(key, value, life));
  }

  async delete(userId: string): Promise<void> {
    const key = keyOf(this.#redis.prefix, userId);
    await this.#redis.call('delete', (redis) => redis.delete(key));
  }

  /**
   * @throws TypeError when `ttl` is no positive number. After `store_unavailable`, the name can be claimed all the
   * same, so the caller must not go on.
   */
  async claim(name: string, ttl: number): Promise<boolean> {
    checkClaim(OWNER, ttl);
    // No user id has such a key, because ids with a colon are hashed.
    const key = `${this.#redis.prefix}claim:${createHash('sha256').update(name).digest('base64url')}`;
    const life = wholeMilliseconds(ttl);
    const reply = await this.#redis.call('claim', (redis) => redis.setIfAbsent(key, '1', life));
    return reply === 'OK';
  }
}
