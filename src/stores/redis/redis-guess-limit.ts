import { hash } from 'node:crypto';
import {
  type AttemptCount,
  type AttemptLimiter,
  type GuessLimit,
  type GuessLimitOptions,
  GuessLimitSettings,
  MINUTE,
} from '../guess-limit.js';
import { RedisConnection, type RedisStoreOptions } from './connection.js';

/** Options of {@link RedisGuessLimit}. Limits with the same `prefix` and `windowMs` count together. */
export interface RedisGuessLimitOptions extends GuessLimitOptions, RedisStoreOptions {}

const OWNER = 'RedisGuessLimit';

/** Counts an attempt. In one step, so that every count expires. Replies with the count and the milliseconds left. */
const CONSUME = `
local count = redis.call('INCR', KEYS[1])
local left = redis.call('PTTL', KEYS[1])
if left < 0 then
  left = tonumber(ARGV[1])
  redis.call('PEXPIRE', KEYS[1], left)
end
return {count, left}`;

/** Takes an attempt off the count of a window that goes on. */
const REWARD = `
local count = tonumber(redis.call('GET', KEYS[1]) or '0')
if count > 1 then return redis.call('DECR', KEYS[1]) end
return redis.call('DEL', KEYS[1])`;

/** Milliseconds that a guard waits for Redis, at most. */
const TIMEOUT = 500;

/** A limiter of one window in Redis, on every kind of client. Keys are hashes. */
class RedisLimiter implements AttemptLimiter {
  constructor(
    private readonly redis: RedisConnection,
    private readonly windowMs: number,
    private readonly points: number,
    private readonly kind: 'client' | 'total',
  ) {}

  async consume(key: string): Promise<AttemptCount> {
    const reply = await this.#run('consume', CONSUME, key, [this.windowMs]);
    // A client can be set to reply with numbers as text.
    const [count, left] = reply as [unknown, unknown];
    const counted = { consumedPoints: Number(count), msBeforeNext: Number(left) };
    if (counted.consumedPoints > this.points) throw counted;
    return counted;
  }

  async reward(key: string): Promise<void> {
    await this.#run('reward', REWARD, key, []);
  }

  readonly timeout = TIMEOUT;

  #run(method: string, script: string, client: string, args: number[]) {
    // Windows of different length are counted separately, because a key has one lifetime only.
    const name = `${this.kind}:${this.windowMs}:${hash('sha256', client, 'base64url').slice(0, 22)}`;
    return this.redis.run(method, script, this.redis.prefix + name, args);
  }
}

/**
 * A limit of failed attempts that a fleet counts together: a value for the option `guessLimit`. An attempt is
 * counted in Redis before the service is asked, so that no burst over several processes exceeds the limit.
 *
 * The guards of each process also count in memory, and the stricter count holds. While Redis cannot count, only
 * the count in memory holds: an outage refuses no customer, and no attempt goes uncounted. A warning reports it
 * once, and `marketgate:drift` each hour. Keys are hashes of the clients, so that no address is seen
 * by chance. They do not hide an address from somebody who tries all.
 */
export class RedisGuessLimit extends GuessLimitSettings implements GuessLimit {
  readonly limiter: AttemptLimiter;
  readonly totalLimiter: AttemptLimiter;

  constructor(options: RedisGuessLimitOptions) {
    // The settings name what is unknown.
    const { client, prefix, ...settings } = options;
    super(OWNER, settings);
    const redis = new RedisConnection(OWNER, 'guess', { client, prefix });
    this.limiter = new RedisLimiter(redis, Math.ceil(this.windowMs), this.limit, 'client');
    this.totalLimiter = new RedisLimiter(redis, MINUTE, this.total, 'total');
  }
}
