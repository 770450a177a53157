import { createHmac } from 'node:crypto';
import { readOptions, secret, type Table, unchecked } from '../../options.js';
import { type HolderStore, heldCode, holderText } from '../holder-store.js';
import type { RedisClient } from './clients.js';
import { RedisConnection, type RedisStoreOptions } from './connection.js';

/** Options of {@link RedisHolderStore}. */
export interface RedisHolderStoreOptions extends RedisStoreOptions {
  /**
   * The secret of the HMACs that codes are stored as, of at least 32 characters. With another one, all codes are
   * free again.
   */
  secret: string;
}

const OWNER = 'RedisHolderStore';
const OPTIONS = {
  client: unchecked<RedisClient>(),
  secret,
  prefix: unchecked<string | undefined>(),
} satisfies Table<RedisHolderStoreOptions>;

/** Counts and adds in one step. It writes only for a new holder, so the others also pass a full Redis. */
const TAKE = `if redis.call('SISMEMBER', KEYS[1], ARGV[1]) == 1 then return 1 end
if redis.call('SCARD', KEYS[1]) >= tonumber(ARGV[2]) then return 0 end
redis.call('SADD', KEYS[1], ARGV[1])
return 1`;

const RELEASE = `if ARGV[1] then return redis.call('SREM', KEYS[1], ARGV[1]) end
return redis.call('DEL', KEYS[1])`;

const HOLDERS = `return redis.call('SMEMBERS', KEYS[1])`;

/**
 * A {@link HolderStore} in Redis, for a fleet: single server, cluster or sentinel. Each code is a set of holders
 * under the HMAC of the code, and never expires. Holders are stored in clear text.
 *
 * - `take` is one atomic step.
 * - Redis needs persistence (`appendonly yes`), or a restart frees all codes, and a `maxmemory-policy` that does
 *   not evict keys without expiry: `noeviction`, or one of `volatile-…`.
 * - A failover to a replica can lose the last moments of takes and releases.
 */
export class RedisHolderStore implements HolderStore {
  readonly #redis: RedisConnection;
  readonly #secret: string;

  /**
   * Stores in Redis who holds which purchase code, so that a code has one customer in all processes.
   *
   * @param options - `client`: connected; `secret`: 32 characters or more, under which codes are hashed.
   * @throws TypeError that names the wrong option.
   *
   * @example
   * const store = new RedisHolderStore({ client, secret: process.env.HOLDER_SECRET });
   * app.get('/downloads', requirePurchase(keyApi, { holder: { store, id: (req) => req.user?.id } }), download);
   */
  constructor(options: RedisHolderStoreOptions) {
    const { secret: key, ...connection } = readOptions(OWNER, OPTIONS, options);
    this.#secret = key;
    this.#redis = new RedisConnection(OWNER, 'holder', connection);
  }

  /**
   * @throws TypeError for a blank `code`, or a `holder` that is no id. After `store_unavailable`, the account can hold the
   * code all the same.
   */
  async take(code: string, holder: string, max: number): Promise<boolean> {
    const id = holderText(`${OWNER}.take`, holder);
    return Number(await this.#run('take', TAKE, code, [id, max])) === 1;
  }

  /** @throws TypeError for a blank `code`, or a `holder` that is no id. */
  async release(code: string, holder?: string): Promise<void> {
    const one = holder === undefined ? [] : [holderText(`${OWNER}.release`, holder)];
    await this.#run('release', RELEASE, code, one);
  }

  /** @throws TypeError for a blank `code`. */
  async holders(code: string): Promise<string[]> {
    const reply = await this.#run('holders', HOLDERS, code, []);
    return Array.isArray(reply) ? reply.map(String) : [];
  }

  #run(
    method: string,
    script: string,
    code: string,
    args: readonly (string | number)[],
  ): Promise<unknown> {
    const text = `marketgate holder ${heldCode(`${OWNER}.${method}`, code)}`;
    const name = createHmac('sha256', this.#secret).update(text).digest('base64url');
    return this.#redis.run(method, script, this.#redis.prefix + name, args);
  }
}
