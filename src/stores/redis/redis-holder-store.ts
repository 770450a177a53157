import { createHmac } from 'node:crypto';
import { STORE_TIMEOUTS } from '../../deadline.js';
import { knownOptions, secretOption } from '../../options.js';
import {
  checkHolder,
  checkMax,
  forgetHolders,
  type HolderStore,
  heldCode,
} from '../holder-store.js';
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

/** Counts and adds in one step. It writes only for a new holder, so the others also pass a full Redis. */
const TAKE = `if redis.call('SISMEMBER', KEYS[1], ARGV[1]) == 1 then return 1 end
if redis.call('SCARD', KEYS[1]) >= tonumber(ARGV[2]) then return 0 end
return redis.call('SADD', KEYS[1], ARGV[1])`;

const RELEASE = `if ARGV[1] then return redis.call('SREM', KEYS[1], ARGV[1]) end
return redis.call('DEL', KEYS[1])`;

/** A script too, because a client may send plain reads to a replica, which can be behind. */
const HOLDERS = `return redis.call('SMEMBERS', KEYS[1])`;

/**
 * A {@link HolderStore} in Redis, for a fleet: single server, cluster or sentinel. Each code is a set of holders
 * under the HMAC of the code, and does not expire. Holders are stored in clear text.
 *
 * - `take` is one atomic step.
 * - Redis needs persistence (`appendonly yes`), or a restart frees all codes, and a `maxmemory-policy` that does
 *   not evict keys without expiry: `noeviction`, or one of `volatile-…`.
 * - A failover to a replica can lose the last moments of takes and releases.
 */
export class RedisHolderStore implements HolderStore {
  readonly #redis: RedisConnection;
  readonly #secret: string;

  constructor(options: RedisHolderStoreOptions) {
    const given = knownOptions(OWNER, options, ['client', 'secret', 'prefix', 'timeout']);
    this.#secret = secretOption(OWNER, 'secret', given.secret);
    this.#redis = new RedisConnection(OWNER, 'holder', given);
    STORE_TIMEOUTS.set(this, this.#redis.timeout);
  }

  /**
   * @throws TypeError for a blank `code`, an empty `holder`, or a `max` that is not a positive whole number. After
   * `store_unavailable`, the account can hold the code all the same.
   */
  async take(code: string, holder: string, max: number): Promise<boolean> {
    checkHolder(`${OWNER}.take`, holder);
    checkMax(`${OWNER}.take`, max);
    return Number(await this.#run('take', TAKE, code, [holder, String(max)])) === 1;
  }

  /**
   * Other processes can still admit a released account for up to 5 seconds.
   *
   * @throws TypeError for a blank `code` or an empty `holder`.
   */
  async release(code: string, holder?: string): Promise<void> {
    if (holder !== undefined) checkHolder(`${OWNER}.release`, holder);
    await this.#run('release', RELEASE, code, holder === undefined ? [] : [holder]).finally(() =>
      forgetHolders(this),
    );
  }

  /** @throws TypeError for a blank `code`. */
  async holders(code: string): Promise<string[]> {
    const reply = await this.#run('holders', HOLDERS, code, []);
    return Array.isArray(reply) ? reply.map(String) : [];
  }

  async #run(
    method: string,
    script: string,
    code: string,
    args: readonly string[],
  ): Promise<unknown> {
    const text = `marketgate holder ${heldCode(`${OWNER}.${method}`, code)}`;
    const name = createHmac('sha256', this.#secret).update(text).digest('base64url');
    return this.#redis.call(method, (redis) => redis.run(script, this.#redis.prefix + name, args));
  }
}
