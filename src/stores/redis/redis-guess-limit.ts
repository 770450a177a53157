import { hash, randomUUID } from 'node:crypto';
import { STORE_TIMEOUTS, schedule } from '../../deadline.js';
import { reportDrift, warnOnce } from '../../diagnostics.js';
import { knownOptions } from '../../options.js';
import {
  type GuessLimit,
  type GuessLimitOptions,
  GuessLimitSettings,
  type Limit,
  MAX_WAIT,
  type Reservation,
  totalLimit,
} from '../guess-limit.js';
import { wholeMilliseconds } from '../row-token-store.js';
import { RedisConnection, type RedisStoreOptions } from './connection.js';

/** Options of {@link RedisGuessLimit}. Limits with the same `prefix` and `windowMs` count together. */
export interface RedisGuessLimitOptions extends GuessLimitOptions, RedisStoreOptions {}

const OWNER = 'RedisGuessLimit';

/**
 * Counts an attempt, unless the limit is reached. In one step, so that no burst exceeds the limit and every count
 * expires. Replies with the count, or 0 when no attempt was left; the milliseconds until the window ends; and how many
 * recent attempts have no answer.
 */
const TAKE = `
local window = tonumber(ARGV[1]) -- Milliseconds. The first attempt begins it.
local limit = tonumber(ARGV[2])
local id = ARGV[3] -- Of the attempt, so that releasing it twice releases no other one.
local wait = tonumber(ARGV[4]) -- Milliseconds for which others wait for its answer.
if redis.call('TYPE', KEYS[1]).ok ~= 'zset' then redis.call('DEL', KEYS[1]) end
local count = redis.call('ZCARD', KEYS[1])
local left = redis.call('PTTL', KEYS[1])
if left < 1 then left = window end
if count < limit then
  -- The score is what was left of the window; once it has failed, it is infinite.
  redis.call('ZADD', KEYS[1], left, id)
  count = count + 1
else
  count = 0
end
redis.call('PEXPIRE', KEYS[1], left)
return {count, left, redis.call('ZCOUNT', KEYS[1], '-inf', left + wait)}`;

/** Takes an attempt off the count, if it is there. The window goes on. */
const RELEASE = `return redis.call('ZREM', KEYS[1], ARGV[1])`;

/** Marks an attempt as failed, if it is there. */
const SETTLE = `return redis.call('ZADD', KEYS[1], 'XX', '+inf', ARGV[1])`;

/** Milliseconds until a failed release is sent again; doubled each time, until the window has ended. */
const FIRST_RETRY = 100;

/** The most releases that are waiting to be sent again. */
const MAX_RETRIES = 1000;

/** An attempt that Redis has counted, or was asked to count. */
interface Taken {
  readonly key: string;
  readonly id: string;
}

/** What Redis replies to {@link TAKE}. */
type Counted = Record<'count' | 'ttl' | 'pending', number>;

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
  #retries = 0;

  constructor(options: RedisGuessLimitOptions) {
    const known = ['client', 'prefix', 'timeout', 'limit', 'windowMs', 'keyGenerator'] as const;
    const { client, prefix, timeout, ...rest } = knownOptions(OWNER, options, known);
    super(OWNER, rest);
    this.#redis = new RedisConnection(OWNER, 'guess', { client, prefix, timeout });
    STORE_TIMEOUTS.set(this, this.#redis.timeout);
  }

  /** Takes one attempt of a client, if there is one left in the fleet. */
  async reserve(client: string): Promise<Reservation> {
    const taken = new Set<Taken>();
    const endsAt = performance.now() + this.windowMs;
    const release = async (): Promise<void> => {
      await Promise.all([...taken].map((each) => this.#release(each, endsAt)));
    };
    const refusal = ({ ttl }: Counted, isPending: boolean): Reservation => ({
      isAllowed: false,
      retryAfter: Math.max(1, Math.ceil(ttl / 1000)),
      isPending,
    });
    try {
      const clientHash = hash('sha256', client, 'base64url').slice(0, 22);
      const own = await this.#take(clientHash, this, taken);
      if (own.count === 0) return refusal(own, own.pending > 0);
      const total = totalLimit(this);
      // A client without a failed attempt is admitted, whatever others have.
      const limit = own.count === 1 ? NO_LIMIT : total.limit;
      const all = await this.#take(EVERYBODY, { ...total, limit }, taken);
      if (all.count === 0) {
        await release();
        // One of the client's own attempts is this one.
        return refusal(all, all.pending > 0 || own.pending > 1);
      }
    } catch {
      // A release also takes back what Redis did count.
      warnOnce('MARKETGATE_GUESSES_NOT_SHARED');
      reportDrift(this, {
        endpoint: `${OWNER}.reserve`,
        kind: 'not-counted',
        path: 'count',
        expected: 'a Redis that can be written to and runs scripts (EVAL)',
      });
    }
    const settle = async (): Promise<void> => {
      await Promise.all([...taken].map((each) => this.#change('settle', SETTLE, each)));
    };
    return { isAllowed: true, release, settle };
  }

  /** Counts an attempt, unless there are `limit` already, and adds it to `taken`. */
  #take(name: string, { limit, windowMs }: Limit, taken: Set<Taken>): Promise<Counted> {
    // Windows of different length are counted separately, because a key has one lifetime only.
    const whole = wholeMilliseconds(windowMs);
    const attempt = { key: `${this.#redis.prefix}${whole}:${name}`, id: randomUUID() };
    return this.#redis.call('reserve', async (redis) => {
      // Before the reply: Redis can have counted it also if the reply is late or lost.
      taken.add(attempt);
      const args = [whole, limit, attempt.id, MAX_WAIT].map(String);
      const reply = await redis.run(TAKE, attempt.key, args);
      const numbers = Array.isArray(reply) ? reply.map((each) => Number(String(each))) : [];
      const [count = Number.NaN, ttl = Number.NaN, pending = 0] = numbers;
      if (!Number.isFinite(count + ttl)) throw new TypeError('a reply that is no count');
      if (count === 0) taken.delete(attempt);
      return { count, ttl, pending };
    });
  }

  #change(method: string, script: string, { key, id }: Taken): Promise<unknown> {
    return this.#redis.call(method, (redis) => redis.run(script, key, [id]));
  }

  /** Takes an attempt back. When that fails, again later: it would refuse a customer until the window ends. */
  async #release(taken: Taken, endsAt: number, delay = FIRST_RETRY): Promise<void> {
    try {
      await this.#change('release', RELEASE, taken);
    } catch {
      if (this.#retries >= MAX_RETRIES || performance.now() + delay > endsAt) return;
      this.#retries++;
      schedule(delay, () => {
        this.#retries--;
        void this.#release(taken, endsAt, delay * 2);
      });
    }
  }
}
