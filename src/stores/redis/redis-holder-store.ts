import { createHmac } from 'node:crypto';
import { count, readOptions, secret, type Table, unchecked } from '../../options.js';
import {
  type HolderStore,
  type HolderStoreOptions,
  heldCode,
  holderText,
} from '../holder-store.js';
import type { RedisClient } from './clients.js';
import { RedisConnection, type RedisStoreOptions } from './connection.js';

/** Options of {@link RedisHolderStore}. */
export interface RedisHolderStoreOptions extends RedisStoreOptions, HolderStoreOptions {
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
  cooldown: count(0),
} satisfies Table<RedisHolderStoreOptions>;

// A code is a sorted set of its holders. The score of a seat is infinite while it is held; after a release, it is the
// time until which the seat stays taken, by the clock of Redis.

const NOW = `local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
`;

/** Counts and adds in one step. It writes only for a new holder, so the others also pass a full Redis. */
const TAKE = `${NOW}local score = redis.call('ZSCORE', KEYS[1], ARGV[1])
if score == 'inf' then return 1 end
local taken = redis.call('ZCOUNT', KEYS[1], '(' .. now, '+inf')
if taken >= tonumber(ARGV[2]) and not (score and tonumber(score) > now) then return 0 end
redis.call('ZADD', KEYS[1], '+inf', ARGV[1])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
redis.call('PERSIST', KEYS[1])
return 1`;

/** Where nobody holds the code any more, the key expires with the last cooldown. */
const RELEASE = `${NOW}local cooldown = tonumber(ARGV[1])
if cooldown == 0 then
  if ARGV[2] then return redis.call('ZREM', KEYS[1], ARGV[2]) end
  return redis.call('DEL', KEYS[1])
end
for _, holder in ipairs(ARGV[2] and { ARGV[2] } or redis.call('ZRANGE', KEYS[1], 0, -1)) do
  if redis.call('ZSCORE', KEYS[1], holder) == 'inf' then
    redis.call('ZADD', KEYS[1], now + cooldown, holder)
  end
end
local last = redis.call('ZREVRANGE', KEYS[1], 0, 0, 'WITHSCORES')[2]
if last and last ~= 'inf' then redis.call('PEXPIREAT', KEYS[1], last) end`;

const HOLDERS = `return redis.call('ZRANGEBYSCORE', KEYS[1], '+inf', '+inf')`;

/**
 * A {@link HolderStore} in Redis, for a fleet: single server, cluster or sentinel. Each code is a sorted set of
 * holders under the HMAC of the code, which expires only when nobody holds it any more. Holders are stored in clear text.
 *
 * - `take` is one atomic step.
 * - Redis needs persistence (`appendonly yes`), or a restart frees all codes, and a `maxmemory-policy` that does
 *   not evict keys without expiry: `noeviction`, or one of `volatile-…`.
 * - A failover to a replica can lose the last moments of takes and releases.
 */
export class RedisHolderStore implements HolderStore {
  readonly #redis: RedisConnection;
  readonly #secret: string;
  readonly #cooldown: number;

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
    const { secret: key, cooldown, ...connection } = readOptions(OWNER, OPTIONS, options);
    this.#secret = key;
    this.#redis = new RedisConnection(OWNER, 'holder', connection);
    this.#cooldown = cooldown;
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
    await this.#run('release', RELEASE, code, [this.#cooldown, ...one]);
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
