import { randomUUID } from 'node:crypto';
import type { SharedCache, SharedRow } from '../../cache/shared-cache.js';
import { knownOptions } from '../../options.js';
import { wholeMilliseconds } from '../row-token-store.js';
import { type RedisClient, type RedisCommands, redisCommands } from './clients.js';
import { RedisConnection, type RedisStoreOptions } from './connection.js';
import { subscribe } from './subscription.js';

/** Options of {@link RedisCache}. */
export interface RedisCacheOptions extends RedisStoreOptions {
  /**
   * Another client of the app, connected, to subscribe with; it stays the app's own. Default: a duplicate of `client`. Of
   * a cluster, a duplicate of one of its nodes.
   */
  subscriber?: RedisClient | undefined;
}

const OWNER = 'RedisCache';

/** The row of a key. A value of another type is none of ours: nobody could replace it if it failed the script. */
const GET = `local row = redis.pcall('GET', KEYS[1])
if type(row) == 'table' then
  if not string.find(row.err, 'WRONGTYPE') then return row end
  row = false
end
`;

/** A row, and the time by Redis's own clock. Writes nothing, so it runs on a full Redis. */
const READ = `${GET}return {row, redis.call('TIME')}`;

/**
 * Compares and writes in one step, or a later row could come in between and be lost. An order that is no safe integer
 * cannot be ours, and would never be replaced.
 */
const WRITE = `${GET}local order = row and tonumber(string.match(row, '^(%d+):'))
if order and order <= ${Number.MAX_SAFE_INTEGER} and order >= tonumber(ARGV[1]) then return 0 end
redis.call('SET', KEYS[1], ARGV[1] .. ':' .. ARGV[2], 'PX', ARGV[3])
return 1`;

/** A lock that does not expire within the time that ours take is none of ours, and would delay every lookup. */
const LOCK = `local left = redis.call('PTTL', KEYS[1])
if left >= 0 and left <= tonumber(ARGV[2]) then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1`;

/** Compares and deletes in one step, because another process could take the lock in between. */
const UNLOCK = `if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end
return 0`;

/**
 * A {@link SharedCache} in Redis: single server, cluster or sentinel; a value for `cache.shared` of
 * `KeyApi`. It stores keys and values as they are given: those of `KeyApi` are HMACs and sealed.
 *
 * Every call ends within `timeout`, and one that fails rejects with `store_unavailable`. Commands are not queued while the
 * client reconnects, so that no outdated write is sent after an outage.
 *
 * The user of Redis must be allowed to run EVAL, and to use all keys and channels that begin with `prefix`.
 */
export class RedisCache implements SharedCache {
  readonly #redis: RedisConnection;
  readonly #subscriber: RedisCommands | undefined;

  constructor(options: RedisCacheOptions) {
    const known = ['client', 'subscriber', 'prefix', 'timeout'] as const;
    const given = knownOptions(OWNER, options, known);
    this.#redis = new RedisConnection(OWNER, 'cache', given);
    if (given.subscriber === undefined) return;
    this.#subscriber = redisCommands(OWNER, given.subscriber, this.#redis.timeout, 'subscriber');
  }

  read(key: string): Promise<SharedRow> {
    return this.#redis.call('read', async (redis) => {
      const reply = await redis.run(READ, this.#row(key), []);
      const [row, [seconds, micros]] = reply as [unknown, [unknown, unknown]];
      const [prefix = '', digits] = /^(\d{1,16}):/.exec(String(row)) ?? [];
      const order = Number(digits);
      const isOurs = Number.isSafeInteger(order);
      return {
        value: isOurs ? String(row).slice(prefix.length) : undefined,
        order: isOurs ? order : 0,
        now: Number(seconds) * 1e6 + Number(micros),
      };
    });
  }

  /** Stores a value for `ttl` milliseconds, unless the same or a later order is there. */
  async write(key: string, value: string, ttl: number, order: number): Promise<boolean> {
    const args = [String(order), value, String(wholeMilliseconds(ttl))];
    const reply = this.#redis.call('write', (redis) => redis.run(WRITE, this.#row(key), args));
    return Number(await reply) === 1;
  }

  async delete(key: string): Promise<void> {
    await this.#redis.call('delete', (redis) => redis.delete(this.#row(key)));
  }

  /**
   * Takes the lock of a key, unless another process holds it. It expires after `ttl`, also when the
   * process dies. Releasing it after that has no effect. Releasing it rejects when Redis cannot be asked.
   *
   * @param ttl - in milliseconds, above 0.
   */
  async lock(key: string, ttl: number): Promise<(() => Promise<void>) | undefined> {
    const name = `${this.#redis.prefix}lock:${key}`;
    const lockId = randomUUID();
    const args = [lockId, String(wholeMilliseconds(ttl))];
    const release = async () => {
      await this.#redis.call('unlock', (redis) => redis.run(UNLOCK, name, [lockId]));
    };
    const reply = this.#redis.call('lock', ({ run }) => run(LOCK, name, args), { undo: release });
    return Number(await reply) === 1 ? release : undefined;
  }

  async publish(message: string): Promise<void> {
    await this.#redis.call('publish', ({ publish }) => publish(this.#channel, message));
  }

  /**
   * Resolves at once, calls `onListening` with `false`, and connects in the background. It calls `onListening` with
   * `true` when messages arrive. Each second it checks that they still do.
   */
  async subscribe(
    onMessage: (message: string) => void,
    onListening: (isListening: boolean) => void,
  ): Promise<() => Promise<void>> {
    const end = subscribe(this.#redis, this.#subscriber, this.#channel, onMessage, onListening);
    return async () => end();
  }

  get #channel(): string {
    return `${this.#redis.prefix}invalidate`;
  }

  /** The key of a row in Redis. Rows and locks have different prefixes, so that no key makes one look like the other. */
  #row(key: string): string {
    return `${this.#redis.prefix}row:${key}`;
  }
}
