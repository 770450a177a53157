import { createHash } from 'node:crypto';
import type { Request } from 'express';
import { warnOnce } from '../../diagnostics/warnings.js';
import { knownOptions, positiveOption, textOption } from '../../options/check-options.js';
import {
  checkGuessLimitOptions,
  type GuessLimit,
  type GuessLimitOptions,
  type GuessLimitSettings,
  type Reservation,
  TOTAL,
} from '../guess-limit/guess-limit.js';
import { LocalGuessLimit } from '../guess-limit/memory-guess-limit.js';
import { wholeMilliseconds } from './checks.js';
import { GuardedRedis } from './guarded-redis.js';
import type { RedisClient } from './redis-client.js';

/** Options of {@link RedisGuessLimit}. */
export interface RedisGuessLimitOptions extends GuessLimitOptions {
  /** The app's client of `redis` or `ioredis`, connected; it stays the app's own. */
  client: RedisClient;
  /**
   * What the keys begin with. Limits with the same prefix and window count together. Default
   * `marketgate:guess:`.
   */
  prefix?: string | undefined;
  /** Milliseconds that Redis may take for one call. Default 50. */
  timeout?: number | undefined;
}

const OWNER = 'RedisGuessLimit';

/** Counts one more or one less, and begins a window with the first. In one step: a count must not stay for ever. */
const COUNT = `local count = redis.call('INCRBY', KEYS[1], ARGV[2])
if count <= 0 then redis.call('DEL', KEYS[1]) end
if redis.call('PTTL', KEYS[1]) < 0 then redis.call('PEXPIRE', KEYS[1], ARGV[1]) end
return {count, redis.call('PTTL', KEYS[1])}`;

const EVERYBODY = 'all';

interface Count {
  readonly count: number;
  /** Seconds until the window ends. */
  readonly seconds: number;
}

/**
 * A limit of failed attempts that a fleet counts together: a value for the option `guessLimit`. An
 * attempt is reserved in Redis before the service is asked, so that no burst over several processes
 * gets past it.
 *
 * This process's own attempts are counted in its memory as well, and the stricter count holds. So while
 * Redis cannot count, no customer is refused for that, and no attempt goes uncounted; a warning says so
 * once. Keys are hashes of who is counted, so that no address is seen by chance; they do not stop
 * somebody who tries all addresses.
 */
export class RedisGuessLimit implements GuessLimit {
  readonly #settings: GuessLimitSettings;
  readonly #prefix: string;
  readonly #redis: GuardedRedis;
  readonly #own: LocalGuessLimit;

  /** @throws TypeError that names the wrong option. */
  constructor(options: RedisGuessLimitOptions) {
    const known = ['client', 'prefix', 'timeout', 'limit', 'windowMs', 'keyGenerator'] as const;
    const { client, prefix, timeout, ...rest } = knownOptions(OWNER, options, known);
    this.#settings = checkGuessLimitOptions(OWNER, rest);
    this.#prefix = textOption(OWNER, 'prefix', prefix ?? 'marketgate:guess:');
    this.#redis = new GuardedRedis(OWNER, client, {
      timeout: positiveOption(OWNER, 'timeout', timeout, 50, 'milliseconds'),
      waits: false,
    });
    this.#own = new LocalGuessLimit(this.#settings);
  }

  /** Who is counted. */
  keyGenerator(req: Request): string {
    return this.#settings.keyGenerator(req);
  }

  /** Takes one attempt of a client, if there is one left in the fleet. */
  async reserve(client: string): Promise<Reservation> {
    const own = await this.#own.reserve(client);
    if (!own.isAllowed) return own;
    const { limit } = this.#settings;
    const counts = await this.#count(client, 1);
    if (counts === undefined) return own;
    const [mine, all] = counts;
    const isAllowed = mine.count <= limit && (mine.count === 1 || all.count <= limit * TOTAL);
    if (!isAllowed) await this.refund(client);
    return { isAllowed, retryAfter: (mine.count > limit ? mine : all).seconds };
  }

  /** Gives one back. */
  async refund(client: string): Promise<void> {
    await Promise.all([this.#own.refund(client), this.#count(client, -1)]);
  }

  /** `undefined`: Redis could not count. */
  async #count(client: string, change: 1 | -1): Promise<readonly [Count, Count] | undefined> {
    const counts = await Promise.all([
      this.#countOne(this.#key(client), change),
      this.#countOne(`${this.#prefix}${this.#window}:${EVERYBODY}`, change),
    ]).catch(() => undefined);
    if (counts === undefined) warnOnce('MARKETGATE_GUESSES_NOT_SHARED');
    return counts;
  }

  async #countOne(key: string, change: 1 | -1): Promise<Count> {
    const args = [String(this.#window), String(change)];
    const reply = await this.#redis.call('reserve', (redis) => redis.run(COUNT, key, args));
    const [count, life] = Array.isArray(reply) ? reply.map(Number) : [];
    if (!Number.isFinite(count)) throw new TypeError(`${OWNER}: a reply that is no count`);
    return { count: count ?? 0, seconds: Math.max(1, Math.ceil((life ?? 0) / 1000)) };
  }

  get #window(): number {
    return wholeMilliseconds(this.#settings.windowMs);
  }

  #key(client: string): string {
    const hash = createHash('sha256').update(client).digest('base64url').slice(0, 22);
    // Windows of different length are counted apart, for a key has one life only.
    return `${this.#prefix}${this.#window}:${hash}`;
  }
}
