import { createHash } from 'node:crypto';
import type { Request } from 'express';
import { reportDrift, warnOnce } from '../../diagnostics.js';
import { knownOptions, positiveOption, textOption } from '../../options.js';
import {
  AttemptLog,
  checkGuessLimitOptions,
  type GuessLimit,
  type GuessLimitOptions,
  type GuessLimitSettings,
  type Reservation,
  TOTAL,
} from '../guess-limit.js';
import { type RedisClient, RedisConnection, wholeMilliseconds } from './connection.js';

/** Options of {@link RedisGuessLimit}. */
export interface RedisGuessLimitOptions extends GuessLimitOptions {
  /** The app's client of `redis`, `ioredis` or `iovalkey`, connected; it stays the app's own. */
  client: RedisClient;
  /**
   * What the keys begin with. Limits with the same prefix and `windowMs` count together. Default
   * `marketgate:guess:`.
   */
  prefix?: string | undefined;
  /** The deadline of one call, in milliseconds. Default 50. */
  timeout?: number | undefined;
}

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

/** An attempt that Redis has counted, or refused. */
interface Taken {
  readonly key: string;
  /** The count with this attempt; 0: none was left. */
  readonly count: number;
  /** Milliseconds until the window ends. */
  readonly life: number;
  /** When it ends, by this process's clock that never goes back. */
  readonly endsAt: number;
}

/**
 * A limit of failed attempts that a fleet counts together: a value for the option `guessLimit`. An attempt is
 * reserved in Redis before the service is asked, so that no burst over several processes exceeds the limit.
 *
 * Each process also counts its own attempts in memory, and the stricter count holds. While Redis cannot count,
 * only the count in memory holds: an outage refuses no customer, and no attempt goes uncounted. A warning
 * reports it once, and `marketgate:drift` each hour. Keys are hashes of the clients, so that no address is seen
 * by chance. They do not hide an address from somebody who tries all.
 */
export class RedisGuessLimit implements GuessLimit {
  /** As given. */
  readonly limit: number;
  /** As given. */
  readonly windowMs: number;
  readonly #settings: GuessLimitSettings;
  readonly #window: number;
  readonly #prefix: string;
  readonly #redis: RedisConnection;
  readonly #own = new AttemptLog();

  /** @throws TypeError that names the wrong option. */
  constructor(options: RedisGuessLimitOptions) {
    const known = ['client', 'prefix', 'timeout', 'limit', 'windowMs', 'keyGenerator'] as const;
    const { client, prefix, timeout, ...rest } = knownOptions(OWNER, options, known);
    this.#settings = checkGuessLimitOptions(OWNER, rest);
    this.limit = this.#settings.limit;
    this.windowMs = this.#settings.windowMs;
    this.#window = wholeMilliseconds(this.#settings.windowMs);
    // Windows of different length are counted separately, because a key has one life only.
    this.#prefix = `${textOption(OWNER, 'prefix', prefix ?? 'marketgate:guess:')}${this.#window}:`;
    this.#redis = new RedisConnection(OWNER, client, {
      timeout: positiveOption(OWNER, 'timeout', timeout, 50, 'milliseconds'),
      waits: false,
    });
  }

  /** The client key of a request. */
  keyGenerator(req: Request): string {
    return this.#settings.keyGenerator(req);
  }

  /** Takes one attempt of a client, if there is one left in the fleet. */
  async reserve(client: string): Promise<Reservation> {
    const own = this.#own.reserve(client, this.#settings);
    if (!own.isAllowed) return own;
    const taken: Taken[] = [];
    const refund = async (): Promise<void> => {
      await Promise.all([own.refund(), ...taken.map((each) => this.#refund(each))]);
    };
    try {
      const { limit } = this.#settings;
      let last = await this.#take(taken, this.#key(client), limit);
      if (last.count > 0) {
        // A client without a failed attempt is admitted, whatever others have.
        const most = last.count === 1 ? NO_LIMIT : limit * TOTAL;
        last = await this.#take(taken, `${this.#prefix}${EVERYBODY}`, most);
      }
      if (last.count === 0) {
        await refund();
        return { isAllowed: false, retryAfter: Math.max(1, Math.ceil(last.life / 1000)) };
      }
    } catch {
      // The count in memory holds. A refund also takes back what Redis did count.
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

  /** Counts an attempt in Redis, unless none is left, and adds it to `taken`, for a refund. */
  async #take(taken: Taken[], key: string, limit: number): Promise<Taken> {
    const one = await this.#redis.call('reserve', async (redis, deadline) => {
      const reply = await redis.run(TAKE, key, [String(this.#window), String(limit)]);
      const [count, life] = Array.isArray(reply) ? reply.map((each) => Number(String(each))) : [];
      if (!Number.isFinite(count) || !Number.isFinite(life)) {
        throw new TypeError('a reply that is no count');
      }
      const counted = { key, count: count as number, life: life as number };
      // The caller has left, and would never refund it.
      if (deadline.ended && counted.count > 0) await redis.run(REFUND, key, []);
      return { ...counted, endsAt: performance.now() + counted.life };
    });
    if (one.count > 0) taken.push(one);
    return one;
  }

  /** Refunds an attempt in its own window only: the next one must not lose a count. */
  async #refund({ key, endsAt }: Taken): Promise<void> {
    if (performance.now() >= endsAt) return;
    await this.#redis.call('refund', (redis) => redis.run(REFUND, key, [])).catch(() => {});
  }

  #key(client: string): string {
    const hash = createHash('sha256').update(client).digest('base64url').slice(0, 22);
    return `${this.#prefix}${hash}`;
  }
}
