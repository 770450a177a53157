import { hash } from 'node:crypto';
import {
  type GuessLimit,
  type GuessLimitOptions,
  guessLimits,
  MINUTE,
  tooManyAttempts,
} from '../../attempts/guess-limit.js';
import { RedisConnection, type RedisStoreOptions } from './connection.js';

/** Options of {@link RedisGuessLimit}. */
export interface RedisGuessLimitOptions extends GuessLimitOptions, RedisStoreOptions {}

const OWNER = 'RedisGuessLimit';

/**
 * Counts an attempt of a client (the first key) and of all (the second), in one step, or refuses it. Replies with whether
 * it has counted, and the milliseconds that are left of each window. Every count expires within its own window, also one
 * that somebody else has written: it could refuse a customer for ever.
 */
const RESERVE = `
local limits, windows, counts, left = {ARGV[1], ARGV[2]}, {ARGV[3], ARGV[4]}, {}, {}
for i = 1, 2 do
  counts[i] = tonumber(redis.call('GET', KEYS[i]) or '0')
  left[i] = redis.call('PTTL', KEYS[i])
  if left[i] < 0 or left[i] > tonumber(windows[i]) then
    left[i] = tonumber(windows[i])
    redis.call('PEXPIRE', KEYS[i], left[i])
  end
end
if counts[1] >= tonumber(limits[1]) then return {0, left[1], left[1]} end
if counts[1] > 0 and counts[2] >= tonumber(limits[2]) then return {0, left[1], left[2]} end
for i = 1, 2 do
  if redis.call('INCR', KEYS[i]) == 1 then redis.call('PEXPIRE', KEYS[i], left[i]) end
end
return {1, left[1], left[2]}`;

/** Takes an attempt off the counts, unless their windows have ended: a new one has more time left than this one can have. */
const GIVE_BACK = `
for i = 1, 2 do
  local left = redis.call('PTTL', KEYS[i])
  if left > 0 and left <= tonumber(ARGV[i]) and redis.call('DECR', KEYS[i]) <= 0 then redis.call('DEL', KEYS[i]) end
end
return 1`;

/**
 * A guess limit that a fleet counts together: `guessLimit: new RedisGuessLimit({ client })` of a `KeyApi` or `LoginApi`. An
 * attempt is counted in Redis before the service is asked, so that no burst over several processes exceeds the limit.
 *
 * Each process also counts in memory, and the stricter count holds. While Redis cannot count, only the count in memory
 * holds: an outage refuses no customer, and no attempt goes uncounted. A warning reports it once, and `marketgate:drift`
 * each hour. Two services or two accounts never share a count. Keys are hashes, so that no address is seen by chance. They
 * do not hide an address from somebody who tries all.
 */
export class RedisGuessLimit implements GuessLimit {
  /** Failed attempts of one client within `windowMs`. */
  readonly limit: number;
  /** The length of a window in milliseconds. */
  readonly windowMs: number;
  /** Failed attempts of all clients together within a minute. */
  readonly total: number;
  readonly #redis: RedisConnection;

  constructor(options: RedisGuessLimitOptions) {
    // The limits name what is unknown.
    const { client, prefix, ...limits } = options;
    const { limit, windowMs, total } = guessLimits(OWNER, limits);
    this.limit = limit;
    this.windowMs = windowMs;
    this.total = total;
    this.#redis = new RedisConnection(OWNER, 'guess', { client, prefix });
  }

  async reserve(client: string, scope: string): Promise<() => Promise<void>> {
    const { limit, windowMs, total } = this;
    // Both in one slot of a cluster. Windows of different length are counted separately: a key has one lifetime.
    const tag = `${this.#redis.prefix}{${digest(scope)}}:${windowMs}`;
    const keys = [`${tag}:${digest(client)}`, `${tag}:all`];
    const args = [limit, total, windowMs, MINUTE];
    const reply = await this.#redis.run('reserve', RESERVE, keys, args);
    const repliedAt = performance.now();
    // A client can be set to reply with numbers as text.
    const [counted, ...left] = (reply as unknown[]).map(Number) as [number, number, number];
    if (counted !== 1) throw tooManyAttempts(Math.min(...left));
    return async () => {
      const elapsed = performance.now() - repliedAt;
      const most = left.map((milliseconds) => Math.ceil(milliseconds - elapsed));
      await this.#redis.run('giveBack', GIVE_BACK, keys, most);
    };
  }
}

/** Enough of a hash that no two are equal by chance. */
const digest = (text: string): string => hash('sha256', text, 'base64url').slice(0, 22);
