import { createHash } from 'node:crypto';
import { SELF_LIMITED } from '../../deadline.js';
import { reportDrift, warnOnce } from '../../diagnostics.js';
import { knownOptions } from '../../options.js';
import {
  type GuessLimit,
  type GuessLimitOptions,
  GuessLimitSettings,
  type Reservation,
  TOTAL_FACTOR,
} from '../guess-limit.js';
import { wholeMilliseconds } from '../row-token-store.js';
import type { RedisCommands } from './clients.js';
import { RedisConnection, type RedisStoreOptions } from './connection.js';

/** Options of {@link RedisGuessLimit}. Limits with the same `prefix` and `windowMs` count together. */
export interface RedisGuessLimitOptions extends GuessLimitOptions, RedisStoreOptions {}

const OWNER = 'RedisGuessLimit';

/**
 * Counts an attempt, unless there are ARGV[2] already. The first one begins a window of ARGV[1] milliseconds.
 * In one step, so that no burst exceeds the limit and every count expires.
 */
const TAKE = `local count = tonumber(redis.call('GET', KEYS[1]) or '') or 0
local life = redis.call('PTTL', KEYS[1])
if life < 1 then life = tonumber(ARGV[1]) end
if count >= tonumber(ARGV[2]) then
  redis.call('PEXPIRE', KEYS[1], life)
  return {0, life}
end
redis.call('SET', KEYS[1], count + 1, 'PX', life)
return {count + 1, life}`;

/** Takes an attempt off the count. The window goes on. */
const REFUND = `local count = tonumber(redis.call('GET', KEYS[1]) or '') or 0
if count > 1 then return redis.call('DECR', KEYS[1]) end
return redis.call('DEL', KEYS[1])`;

const EVERYBODY = 'all';
const NO_LIMIT = Number.MAX_SAFE_INTEGER;

/**
 * A limit of failed attempts that a fleet counts together: a value for the option `guessLimit`. An attempt is
 * reserved in Redis before the service is asked, so that no burst over several processes exceeds the limit.
 *
 * The guards of each process also count in memory, and the stricter count holds. While Redis cannot count, only
 * the count in memory holds: an outage refuses no customer, and no attempt goes uncounted. A warning reports it
 * once, and `marketgate:drift` each hour. Keys are hashes of the clients, so that no address is seen by chance.
 * They do not hide an address from somebody who tries all.
 */
export class RedisGuessLimit extends GuessLimitSettings implements GuessLimit {
  readonly #redis: RedisConnection;

  constructor(options: RedisGuessLimitOptions) {
    const known = ['client', 'prefix', 'timeout', 'limit', 'windowMs', 'keyGenerator'] as const;
    const { client, prefix, timeout, ...rest } = knownOptions(OWNER, options, known);
    super(OWNER, rest);
    this.#redis = new RedisConnection(OWNER, 'guess', { client, prefix, timeout });
    SELF_LIMITED.add(this);
  }

  /** Takes one attempt of a client, if there is one left in the fleet. */
  async reserve(client: string): Promise<Reservation> {
    const refunds: (() => Promise<void>)[] = [];
    const refund = async (): Promise<void> => {
      await Promise.all(refunds.map((each) => each()));
    };
    try {
      const hash = createHash('sha256').update(client).digest('base64url').slice(0, 22);
      let { count, life } = await this.#take(hash, this.limit, refunds);
      if (count > 0) {
        // A client without a failed attempt is admitted, whatever others have.
        const most = count === 1 ? NO_LIMIT : this.limit * TOTAL_FACTOR;
        ({ count, life } = await this.#take(EVERYBODY, most, refunds));
      }
      if (count === 0) {
        await refund();
        return { isAllowed: false, retryAfter: Math.max(1, Math.ceil(life / 1000)) };
      }
    } catch {
      // A refund also takes back what Redis did count.
      warnOnce('MARKETGATE_GUESSES_NOT_SHARED');
      reportDrift(this, {
        endpoint: `${OWNER}.reserve`,
        kind: 'not-counted',
        path: 'count',
        expected: 'a Redis that can be written to and runs scripts (EVAL)',
      });
    }
    return { isAllowed: true, refund };
  }

  /**
   * Counts an attempt, unless there are `most` already, and adds what takes it back to `refunds`. Gives the count
   * with it, or 0 when none was left, and the milliseconds until the window ends.
   */
  #take(
    name: string,
    most: number,
    refunds: (() => Promise<void>)[],
  ): Promise<{ count: number; life: number }> {
    // Windows of different length are counted separately, because a key has one life only.
    const windowMs = wholeMilliseconds(this.windowMs);
    const key = `${this.#redis.prefix}${windowMs}:${name}`;
    return this.#redis.call('reserve', async (redis, deadline) => {
      const reply = await redis.run(TAKE, key, [String(windowMs), String(most)]);
      const numbers = Array.isArray(reply) ? reply.map((each) => Number(String(each))) : [];
      const [count = Number.NaN, life = Number.NaN] = numbers;
      if (!Number.isFinite(count + life)) throw new TypeError('a reply that is no count');
      const endsAt = performance.now() + life;
      const refund = async (commands: RedisCommands): Promise<void> => {
        // In its own window only: the next one must not lose a count.
        if (performance.now() < endsAt) await commands.run(REFUND, key, []);
      };
      if (count > 0) {
        // Else the caller has left, and would never refund it.
        if (!deadline.ended) refunds.push(() => this.#redis.call('refund', refund).catch(() => {}));
        else await refund(redis);
      }
      return { count, life };
    });
  }
}
