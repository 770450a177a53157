import { readOptions, type Table, unchecked } from '../../options.js';
import { ROW_OPTIONS, RowTokenStore, type RowTokenStoreOptions } from '../row-token-store.js';
import type { RedisClient } from './clients.js';
import { RedisConnection, type RedisStoreOptions } from './connection.js';

/** Options of {@link RedisTokenStore}. */
export interface RedisTokenStoreOptions extends RedisStoreOptions, RowTokenStoreOptions {}

const OWNER = 'RedisTokenStore';
const OPTIONS = {
  client: unchecked<RedisClient>(),
  ...ROW_OPTIONS,
} satisfies Table<RedisTokenStoreOptions>;

const GET = `return redis.call('GET', KEYS[1])`;
const SET = `return redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])`;
const DELETE = `return redis.call('DEL', KEYS[1])`;

/**
 * A `TokenStore` in Redis, for a fleet: single server, cluster or sentinel.
 *
 * - A row expires with its token. A row that is no token of that user counts as none; it is reported on
 *   `marketgate:drift`, and stays where it is, because a newer version can have written it.
 * - Redis needs the `maxmemory-policy` `noeviction`. With another, it can evict a token, which logs the
 *   user out.
 *
 * Tokens are stored in clear text. Wrap it in an `EncryptedTokenStore` where others than the app can read that
 * Redis. User ids with anything but small letters, digits and `_` are hashed.
 */
export class RedisTokenStore extends RowTokenStore {
  /**
   * Stores access_tokens in Redis, so that a login is valid in all processes.
   *
   * @param options - `client`: connected, of `redis`, `ioredis` or `iovalkey`.
   * @throws TypeError that names the wrong option.
   *
   * @example
   * const client = await createClient({ url }).on('error', console.error).connect();
   * const tokenStore = new RedisTokenStore({ client });
   */
  constructor(options: RedisTokenStoreOptions) {
    const given = readOptions(OWNER, OPTIONS, options);
    const redis = new RedisConnection(OWNER, 'token', given);
    super(OWNER, given, {
      async get(key) {
        const row = await redis.run('get', GET, key);
        return row === null ? undefined : String(row);
      },
      set: (key, row, ttl) => redis.run('set', SET, key, [row, ttl]),
      delete: (key) => redis.run('delete', DELETE, key),
    });
  }
}
