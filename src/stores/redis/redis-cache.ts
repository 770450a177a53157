import { randomUUID } from 'node:crypto';
import type { SharedCache, SharedRow } from '../../cache/shared-cache.js';
import { knownOptions } from '../../options.js';
import { wholeMilliseconds } from '../row-token-store.js';
import { type RedisClient, type RedisCommands, redisCommands } from './clients.js';
import { RedisConnection, type RedisStoreOptions } from './connection.js';
import { Subscription } from './subscription.js';

/** Options of {@link RedisCache}. */
export interface RedisCacheOptions extends RedisStoreOptions {
  /**
   * Another client of the app, connected, to subscribe with; it stays the app's own. Default: a duplicate of `client`. Of
   * a cluster, a duplicate of one of its nodes.
   */
  subscriber?: RedisClient | undefined;
}

const OWNER = 'RedisCache';

/** A row, and the time by Redis's own clock. Writes nothing, so it runs on a full Redis. */
const READ = `local time = redis.call('TIME')
return {redis.call('GET', KEYS[1]), time[1], time[2]}`;

/** Compares and writes in one step, or a later row could come in between and be lost. */
const WRITE = `local row = redis.call('GET', KEYS[1])
local order = row and tonumber(string.match(row, '^(%d+):'))
if order and order >= tonumber(ARGV[1]) then return 0 end
redis.call('SET', KEYS[1], ARGV[1] .. ':' .. ARGV[2], 'PX', ARGV[3])
return 1`;

/** Compares and deletes in one step, because another process could take the lock in between. */
const UNLOCK = `if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end
return 0`;

/**
 * A {@link SharedCache} in Redis: single server, cluster or sentinel; a value for `cache.shared` of
 * `KeyApi`. It stores keys and values as they are given: those of `KeyApi` are HMACs and sealed.
 *
 * Every call ends within `timeout`, and one that fails rejects with `store_unavailable`. While the client
 * reconnects, calls fail at once and are not queued, so that no outdated write is sent after an outage.
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

  async read(key: string): Promise<SharedRow> {
    const reply = await this.#redis.call('read', (redis) => redis.run(READ, this.#row(key), []));
    const [row, seconds, micros] = Array.isArray(reply) ? (reply as unknown[]) : [];
    const [prefix, order = 0] = /^(\d{1,16}):/.exec(String(row)) ?? [];
    return {
      value: prefix && String(row).slice(prefix.length),
      order: Number(order),
      now: Number(seconds) * 1e6 + Number(micros),
    };
  }

  /** @throws TypeError unless `value` is a string, `ttl` a finite number, and `order` a safe integer, 0 or more. */
  async write(key: string, value: string, ttl: number, order: number): Promise<boolean> {
    check('write', 'value', 'a string', typeof value === 'string');
    check('write', 'order', 'a whole number, 0 or more', Number.isSafeInteger(order) && order >= 0);
    const milliseconds = wholeTtl('write', ttl);
    if (milliseconds <= 0) return false;
    const args = [String(order), value, String(milliseconds)];
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
   * @throws TypeError when `ttl` is not a positive number.
   */
  async lock(key: string, ttl: number): Promise<(() => Promise<void>) | undefined> {
    const milliseconds = wholeTtl('lock', ttl);
    check('lock', 'ttl', 'above 0', milliseconds > 0);
    const name = `${this.#redis.prefix}lock:${key}`;
    const lockId = randomUUID();
    const unlock = (redis: RedisCommands) => redis.run(UNLOCK, name, [lockId]);
    const reply = await this.#redis.call('lock', async (redis, deadline) => {
      const taken = await redis.set(name, lockId, milliseconds, true);
      // The caller has left, and would never release it.
      if (taken === 'OK' && deadline.aborted) await unlock(redis);
      return taken;
    });
    if (reply !== 'OK') return undefined;
    return async () => {
      await this.#redis.call('unlock', unlock);
    };
  }

  async publish(message: string): Promise<void> {
    await this.#publish(this.#channel, message);
  }

  /**
   * Resolves at once, calls `onListening` with `false`, and connects in the background. It calls `onListening` with
   * `true` when messages arrive. Each second it checks that they still do.
   *
   * @throws TypeError when an argument is not a function.
   */
  async subscribe(
    onMessage: (message: string) => void,
    onListening: (isListening: boolean) => void,
  ): Promise<() => Promise<void>> {
    check('subscribe', 'onMessage', 'a function', typeof onMessage === 'function');
    check('subscribe', 'onListening', 'a function', typeof onListening === 'function');
    const source = {
      client: this.#redis.commands,
      subscriber: this.#subscriber,
      channel: this.#channel,
      publish: (channel: string) => this.#publish(channel, ''),
    };
    const subscription = new Subscription(source, onMessage, onListening);
    return async () => subscription.close();
  }

  #publish(channel: string, message: string): Promise<unknown> {
    return this.#redis.call('publish', (redis) => redis.publish(channel, message));
  }

  get #channel(): string {
    return `${this.#redis.prefix}invalidate`;
  }

  /** The key of a row in Redis. Rows and locks have different prefixes, so that no key makes one look like the other. */
  #row(key: string): string {
    return `${this.#redis.prefix}row:${key}`;
  }
}

function check(method: string, name: string, expected: string, isRight: boolean): void {
  if (!isRight) throw new TypeError(`${OWNER}.${method}: "${name}" must be ${expected}`);
}

/** Whole milliseconds of a `ttl`. One that is not a finite number would mean no expiry, or no row. */
function wholeTtl(method: string, ttl: unknown): number {
  check(method, 'ttl', 'a finite number (milliseconds)', Number.isFinite(ttl));
  return wholeMilliseconds(ttl as number);
}
