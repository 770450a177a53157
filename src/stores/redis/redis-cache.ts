import { randomUUID } from 'node:crypto';
import type { SharedCache, SharedRow } from '../../cache/shared-cache.js';
import { STORE_TIMEOUTS, within } from '../../deadline.js';
import { knownOptions } from '../../options.js';
import { wholeMilliseconds } from '../row-token-store.js';
import type { RedisCommands } from './clients.js';
import { RedisConnection, type RedisStoreOptions } from './connection.js';
import { Subscription } from './subscription.js';

const OWNER = 'RedisCache';

/** A row, its remaining milliseconds, and the time by Redis's own clock. Writes nothing, so it runs on a full Redis. */
const READ = `local time = redis.call('TIME')
return {redis.call('GET', KEYS[1]), redis.call('PTTL', KEYS[1]), time[1], time[2]}`;

/** Compares and writes in one step, or a later row could come in between and be lost. */
const WRITE = `local row = redis.call('GET', KEYS[1])
local order = row and tonumber(string.match(row, '^(%d+):'))
if order and order >= tonumber(ARGV[1]) then return 0 end
redis.call('SET', KEYS[1], ARGV[1] .. ':' .. ARGV[2], 'PX', ARGV[3])
return 1`;

/** Compares and deletes in one step, because another process could take the lock in between. */
const UNLOCK = `if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end
return 0`;

/** How long `subscribe` waits for its connection, in milliseconds; after that it retries in the background. */
const FIRST_CONNECTION = 1000;

/**
 * A {@link SharedCache} in Redis: single server, cluster or sentinel; a value for `cache.shared` of
 * `KeyApi`. It stores keys and values as they are given: those of `KeyApi` are HMACs and sealed.
 *
 * Every call ends within `timeout`, and one that fails rejects with `store_unavailable`. While the client
 * reconnects, calls fail at once and are not queued, so that no outdated write is sent after an outage.
 */
export class RedisCache implements SharedCache {
  readonly #redis: RedisConnection;

  constructor(options: RedisStoreOptions) {
    const given = knownOptions(OWNER, options, ['client', 'prefix', 'timeout']);
    this.#redis = new RedisConnection(OWNER, 'cache', given);
    STORE_TIMEOUTS.set(this, this.#redis.timeout);
  }

  async get(key: string): Promise<string | undefined> {
    const value = await this.#redis.call('get', (redis) => redis.get(this.#key('value', key)));
    return typeof value === 'string' ? value : undefined;
  }

  /** @throws TypeError unless `value` is a string and `ttl` a finite number. */
  async set(key: string, value: string, ttl: number): Promise<void> {
    checkValue('set', value);
    const milliseconds = wholeTtl('set', ttl);
    if (milliseconds <= 0) return this.delete(key);
    await this.#redis.call('set', (redis) =>
      redis.set(this.#key('value', key), value, milliseconds),
    );
  }

  async delete(key: string): Promise<void> {
    await this.#redis.call('delete', (redis) =>
      Promise.all([redis.delete(this.#key('value', key)), redis.delete(this.#key('row', key))]),
    );
  }

  /** The row that {@link write} has stored, with its order. */
  async read(key: string): Promise<SharedRow> {
    const name = this.#key('row', key);
    const reply = await this.#redis.call('read', (redis) => redis.run(READ, name, []));
    const [row, ttl, seconds, micros] = Array.isArray(reply) ? (reply as unknown[]) : [];
    const text = typeof row === 'string' ? row : '';
    const [order] = /^\d{1,16}(?=:)/.exec(text) ?? [];
    return {
      value: order && text.slice(order.length + 1),
      order: Number(order ?? 0),
      ttl: Math.max(0, Number(ttl)),
      now: Number(seconds) * 1e6 + Number(micros),
    };
  }

  /**
   * Stores a row, unless one of the same or a later order is there.
   *
   * @throws TypeError unless `value` is a string, `ttl` a finite number, and `order` a safe integer, 0 or more.
   */
  async write(key: string, value: string, ttl: number, order: number): Promise<boolean> {
    checkValue('write', value);
    if (!Number.isSafeInteger(order) || order < 0) {
      throw new TypeError(`${OWNER}.write: "order" must be a whole number, 0 or more`);
    }
    const milliseconds = wholeTtl('write', ttl);
    if (milliseconds <= 0) return false;
    const name = this.#key('row', key);
    const args = [String(order), value, String(milliseconds)];
    return Number(await this.#redis.call('write', (redis) => redis.run(WRITE, name, args))) === 1;
  }

  /**
   * Takes the lock of a key, unless another process holds it. It expires after `ttl`, also when the
   * process dies. Releasing it after that has no effect. Releasing it rejects when Redis cannot be asked.
   *
   * @throws TypeError when `ttl` is not a positive number.
   */
  async lock(key: string, ttl: number): Promise<(() => Promise<void>) | undefined> {
    const milliseconds = wholeTtl('lock', ttl);
    if (milliseconds <= 0) throw new TypeError(`${OWNER}.lock: "ttl" must be above 0`);
    const name = this.#key('lock', key);
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

  /**
   * Calls `onInvalidate` with each key that any process publishes, and with `undefined` when all keys are
   * invalid, or when messages can have been missed because the connection was lost. It has a separate
   * connection, which the returned function ends.
   *
   * Resolves when messages arrive, and after a second in any case; it then goes on connecting in the
   * background. `onListening` is called with whether messages arrive.
   *
   * @throws TypeError when `onInvalidate` is not a function.
   */
  async subscribe(
    onInvalidate: (key: string | undefined) => void,
    onListening?: (isListening: boolean) => void,
  ): Promise<() => Promise<void>> {
    if (typeof onInvalidate !== 'function') {
      throw new TypeError(`${OWNER}.subscribe: "onInvalidate" must be a function`);
    }
    const { commands } = this.#redis;
    const subscription = new Subscription(commands, this.#channel, onInvalidate, onListening);
    await within(FIRST_CONNECTION, () => subscription.listening).catch(() => {});
    return async () => subscription.close();
  }

  async publish(key: string | undefined): Promise<void> {
    await this.#redis.call('publish', (redis) => redis.publish(this.#channel, key ?? ''));
  }

  get #channel(): string {
    return `${this.#redis.prefix}invalidate`;
  }

  /** Each kind begins with its own word, so that no key makes one look like another. */
  #key(kind: 'value' | 'row' | 'lock', key: string): string {
    return `${this.#redis.prefix}${kind}:${key}`;
  }
}

function checkValue(method: string, value: unknown): void {
  if (typeof value === 'string') return;
  throw new TypeError(`${OWNER}.${method}: "value" must be a string`);
}

/** Whole milliseconds of a `ttl`. One that is not a finite number would mean no expiry, or no row. */
function wholeTtl(method: string, ttl: unknown): number {
  if (typeof ttl === 'number' && Number.isFinite(ttl)) return wholeMilliseconds(ttl);
  throw new TypeError(`${OWNER}.${method}: "ttl" must be a finite number (milliseconds)`);
}
