import type { SharedCache, SharedRow } from '../../cache/shared-cache.js';
import { knownOptions, positiveOption, textOption } from '../../options.js';
import { checkTtl } from './checks.js';
import { GuardedRedis } from './guarded-redis.js';
import { encodeInvalidation } from './invalidation-message.js';
import { endingAfter } from './pause.js';
import type { RedisClient } from './redis-client.js';
import { takeLock } from './redis-lock.js';
import { Subscription } from './subscription.js';

/** Options of {@link RedisCache}. */
export interface RedisCacheOptions {
  /** The app's client of `redis` or `ioredis`, connected; it stays the app's own. */
  client: RedisClient;
  /** What the keys and the channel of this cache begin with. Default `marketgate:cache:`. */
  prefix?: string | undefined;
  /**
   * Milliseconds that Redis may take for one call. Default 50: a visitor waits for it, and what a
   * cache does not say in time, the service can.
   */
  timeout?: number | undefined;
}

const OWNER = 'RedisCache';

/** A row, how long it lives, and the time by Redis's own clock. Written by no script: it runs on a full Redis. */
const READ = `local time = redis.call('TIME')
return {redis.call('GET', KEYS[1]), redis.call('PTTL', KEYS[1]), time[1], time[2]}`;

/** Looks and writes in one step, or a later row could come in between and be lost. */
const WRITE = `local row = redis.call('GET', KEYS[1])
local order = row and tonumber(string.match(row, '^(%d+):'))
if order and order >= tonumber(ARGV[1]) then return 0 end
redis.call('SET', KEYS[1], ARGV[1] .. ':' .. ARGV[2], 'PX', ARGV[3])
return 1`;

/** What `subscribe` waits for its connection, in milliseconds, before it goes on behind. */
const FIRST_CONNECTION = 1000;

/**
 * A {@link SharedCache} in Redis, on a single server or a cluster; a value for `cache.shared` of
 * `KeyApi`. Keys and values are kept as they are given: `KeyApi` makes keys that are HMACs, and seals
 * values.
 *
 * Every call ends within `timeout`, and one that fails rejects with `store_unavailable`. While the
 * client is reconnecting, calls fail at once and are not queued, so that an outage leaves no old writes
 * behind it.
 */
export class RedisCache implements SharedCache {
  readonly #redis: GuardedRedis;
  readonly #prefix: string;

  /** @throws TypeError that names the wrong option. */
  constructor(options: RedisCacheOptions) {
    const given = knownOptions(OWNER, options, ['client', 'prefix', 'timeout']);
    this.#prefix = textOption(OWNER, 'prefix', given.prefix ?? 'marketgate:cache:');
    const timeout = positiveOption(OWNER, 'timeout', given.timeout, 50, 'milliseconds');
    this.#redis = new GuardedRedis(OWNER, given.client, { timeout, waits: false });
  }

  /** @throws MarketgateError `store_unavailable`. */
  async get(key: string): Promise<string | undefined> {
    const value = await this.#redis.call('get', (redis) => redis.get(this.#valueKey(key)));
    return typeof value === 'string' ? value : undefined;
  }

  /**
   * @throws TypeError when `value` is no string, or `ttl` no finite number.
   * @throws MarketgateError `store_unavailable`.
   */
  async set(key: string, value: string, ttl: number): Promise<void> {
    if (typeof value !== 'string') throw new TypeError(`${OWNER}.set: "value" must be a string`);
    const life = checkTtl(`${OWNER}.set`, ttl);
    if (life <= 0) return this.delete(key);
    await this.#redis.call('set', (redis) => redis.set(this.#valueKey(key), value, life));
  }

  /** @throws MarketgateError `store_unavailable`. */
  async delete(key: string): Promise<void> {
    await this.#redis.call('delete', (redis) => redis.delete(this.#valueKey(key)));
  }

  /**
   * A row that {@link write} keeps, with its order.
   *
   * @throws MarketgateError `store_unavailable`.
   */
  async read(key: string): Promise<SharedRow> {
    const reply = await this.#redis.call('read', (redis) => redis.run(READ, this.#rowKey(key), []));
    const [row, ttl, seconds, micros] = Array.isArray(reply) ? (reply as unknown[]) : [];
    const [, order, value] = (typeof row === 'string' && /^(\d{1,16}):(.*)$/s.exec(row)) || [];
    return {
      value,
      order: Number(order ?? 0),
      ttl: Math.max(0, Number(ttl)),
      now: Number(seconds) * 1e6 + Number(micros),
    };
  }

  /**
   * Keeps a row, unless one of the same or a later order is there.
   *
   * @throws TypeError when `value` is no string, or `ttl` or `order` no finite number.
   * @throws MarketgateError `store_unavailable`.
   */
  async write(key: string, value: string, ttl: number, order: number): Promise<boolean> {
    if (typeof value !== 'string') throw new TypeError(`${OWNER}.write: "value" must be a string`);
    if (!Number.isSafeInteger(order) || order < 0) {
      throw new TypeError(`${OWNER}.write: "order" must be a whole number, 0 or more`);
    }
    const life = checkTtl(`${OWNER}.write`, ttl);
    if (life <= 0) return false;
    const args = [String(order), value, String(life)];
    const reply = await this.#redis.call('write', (redis) =>
      redis.run(WRITE, this.#rowKey(key), args),
    );
    return Number(reply) === 1;
  }

  /**
   * Takes the lock of a key, unless another holds it. It lapses after `ttl`, also when its holder
   * dies; what gives it back is harmless after that, and rejects when Redis cannot be asked.
   *
   * @throws TypeError when `ttl` is no positive number.
   * @throws MarketgateError `store_unavailable`.
   */
  async lock(key: string, ttl: number): Promise<(() => Promise<void>) | undefined> {
    const life = checkTtl(`${OWNER}.lock`, ttl);
    if (life <= 0) throw new TypeError(`${OWNER}.lock: "ttl" must be above 0`);
    return takeLock(this.#redis, `${this.#prefix}lock:${key}`, life);
  }

  /**
   * Calls `onInvalidate` with each key that is published by any process, and with `undefined` when
   * all are, or when messages may have been missed, for the connection was away. It has a connection
   * of its own, which the returned function ends.
   *
   * Resolves when it listens. While Redis is down it resolves too, within a second, and goes on
   * trying behind. Never rejects.
   */
  async subscribe(onInvalidate: (key: string | undefined) => void): Promise<() => Promise<void>> {
    if (typeof onInvalidate !== 'function') {
      throw new TypeError(`${OWNER}.subscribe: "onInvalidate" must be a function`);
    }
    const { commands } = this.#redis;
    const subscription = new Subscription(commands, this.#channel(), onInvalidate);
    await endingAfter(FIRST_CONNECTION, subscription.listening).catch(() => {});
    return async () => subscription.close();
  }

  /** @throws MarketgateError `store_unavailable`. */
  async publish(key: string | undefined): Promise<void> {
    const message = encodeInvalidation(key);
    await this.#redis.call('publish', (redis) => redis.publish(this.#channel(), message));
  }

  /** Values and locks begin with words of their own, so that no key makes one look like the other. */
  #valueKey(key: string): string {
    return `${this.#prefix}value:${key}`;
  }

  #rowKey(key: string): string {
    return `${this.#prefix}row:${key}`;
  }

  #channel(): string {
    return `${this.#prefix}invalidate`;
  }
}
