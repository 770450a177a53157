import { createHash } from 'node:crypto';
import { knownOptions, positiveOption, textOption } from '../../options/check-options.js';
import type { GuessesLeft, GuessLimit, GuessLimitOptions } from '../guess-limit/guess-limit.js';
import {
  checkGuessLimitOptions,
  type GuessLimitSettings,
  MemoryGuessLimit,
} from '../guess-limit/memory-guess-limit.js';
import { wholeMilliseconds } from './checks.js';
import { GuardedRedis } from './guarded-redis.js';
import type { RedisClient } from './redis-client.js';

/** Options of {@link redisGuessLimit}. */
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

const OWNER = 'redisGuessLimit';

/** Counts one, and lets a window begin with the first. In one go: a count must not stay for ever. */
const COUNT = `local count = redis.call('INCR', KEYS[1])
if redis.call('PTTL', KEYS[1]) < 0 then redis.call('PEXPIRE', KEYS[1], ARGV[1]) end
return count`;

const LOOK = `return {tonumber(redis.call('GET', KEYS[1]) or '0'), redis.call('PTTL', KEYS[1])}`;

/**
 * A limit of wrong guesses that a fleet counts together: a value for the option `guessLimit`.
 *
 * This process's own guesses are counted in its memory as well, and the stricter count holds. So while
 * Redis cannot be asked, no customer is refused for that, and no guess goes uncounted. Keys are hashes
 * of who is counted, so that no address is seen by chance; they do not stop who tries all addresses.
 *
 * Two scripts of our own and not `RateLimiterRedis` of rate-limiter-flexible: that one has no deadline
 * (its insurance works only after the client gave up), tells node-redis by the name of a class that
 * is another one since version 5, cuts windows to whole seconds, and adds a command to the app's
 * client.
 *
 * @throws TypeError that names the wrong option.
 */
export function redisGuessLimit(options: RedisGuessLimitOptions): GuessLimit {
  const known = ['client', 'prefix', 'timeout', 'limit', 'window', 'by'] as const;
  const { client, prefix, timeout, ...rest } = knownOptions(OWNER, options, known);
  const settings = checkGuessLimitOptions(OWNER, rest);
  const redis = new GuardedRedis(OWNER, client, {
    timeout: positiveOption(OWNER, 'timeout', timeout, 50, 'milliseconds'),
    waits: false,
  });
  return new RedisGuessLimit(
    settings,
    redis,
    textOption(OWNER, 'prefix', prefix ?? 'marketgate:guess:'),
  );
}

class RedisGuessLimit implements GuessLimit {
  readonly by: GuessLimit['by'];
  readonly #limit: number;
  readonly #window: number;
  readonly #prefix: string;
  readonly #redis: GuardedRedis;
  readonly #own: MemoryGuessLimit;

  constructor(settings: GuessLimitSettings, redis: GuardedRedis, prefix: string) {
    this.by = settings.by;
    this.#limit = settings.limit;
    this.#window = wholeMilliseconds(settings.window);
    this.#prefix = prefix;
    this.#redis = redis;
    this.#own = new MemoryGuessLimit(settings);
  }

  async left(who: string): Promise<GuessesLeft> {
    const [own, fleet] = await Promise.all([
      this.#own.left(who),
      this.#fleet(who).catch(() => undefined),
    ]);
    return fleet !== undefined && fleet.left < own.left ? fleet : own;
  }

  async count(who: string): Promise<void> {
    const args = [String(this.#window)];
    await Promise.all([
      this.#own.count(who),
      this.#redis
        .call('count', (redis) => redis.run(COUNT, this.#key(who), args))
        .catch(() => undefined),
    ]);
  }

  async #fleet(who: string): Promise<GuessesLeft | undefined> {
    const reply = await this.#redis.call('left', (redis) => redis.run(LOOK, this.#key(who), []));
    const [count, life] = Array.isArray(reply) ? reply.map(Number) : [];
    if (count === undefined || life === undefined || !Number.isFinite(count)) return undefined;
    return { left: this.#limit - count, retryAfter: Math.ceil(Math.max(0, life) / 1000) };
  }

  #key(who: string): string {
    const hash = createHash('sha256').update(who).digest('base64url').slice(0, 22);
    // Windows of different length are counted apart, for a key has one life only.
    return `${this.#prefix}${this.#window}:${hash}`;
  }
}
