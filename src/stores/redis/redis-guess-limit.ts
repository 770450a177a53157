import { hash } from 'node:crypto';
import { type GuessLimit, type GuessLimitOptions, LIMITS } from '../../guess/guess-limit.js';
import { readOptions, type Table, unchecked } from '../../options.js';
import { RedisConnection, type RedisStoreOptions } from './connection.js';

/** Options of {@link RedisGuessLimit}. */
export interface RedisGuessLimitOptions extends GuessLimitOptions, RedisStoreOptions {}

const OWNER = 'RedisGuessLimit';

const OPTIONS = {
  // The connection checks both.
  client: unchecked<RedisStoreOptions['client']>(),
  prefix: unchecked<RedisStoreOptions['prefix']>(),
  ...LIMITS,
} satisfies Table<RedisGuessLimitOptions>;

/** Replies with the count of a client (the first key) and the milliseconds that are left of its window; and with those of all. */
const CHECK = `
local own, all = KEYS[1], KEYS[2]
return {redis.call('GET', own) or 0, redis.call('PTTL', own), redis.call('GET', all) or 0, redis.call('PTTL', all)}`;

/** Counts a guess in both. */
const ADD = `
for i = 1, 2 do
  redis.call('INCR', KEYS[i])
  if redis.call('PTTL', KEYS[i]) < 0 then redis.call('PEXPIRE', KEYS[i], ARGV[1]) end
end
return 1`;

/**
 * A guess limit that all processes count together: `guessLimit: new RedisGuessLimit({ client })` of a `KeyApi` or `LoginApi`.
 *
 * Each process also counts in memory, and the stricter count holds. While Redis cannot count, only the count in memory
 * holds: an outage refuses no customer, and no guess goes uncounted. A warning reports it once, and `marketgate:drift`
 * each hour. Two services or two accounts never share a count. Keys are hashes, so that no address is seen by chance. They
 * do not hide an address from somebody who tries all.
 */
export class RedisGuessLimit implements GuessLimit {
  /** Guesses of one client within `windowMs`. */
  readonly limit: number;
  /** The length of a window in milliseconds. */
  readonly windowMs: number;
  /** Guesses of all clients together within `windowMs`. */
  readonly total: number;
  readonly #redis: RedisConnection;

  /** @throws TypeError that names the wrong option. */
  constructor(options: RedisGuessLimitOptions) {
    const { client, prefix, limit, windowMs, total } = readOptions(OWNER, OPTIONS, options);
    this.limit = limit;
    this.windowMs = windowMs;
    this.total = total;
    this.#redis = new RedisConnection(OWNER, 'guess', { client, prefix });
  }

  async check(client: string, scope: string): Promise<number> {
    const reply = await this.#redis.run('check', CHECK, this.#keys(client, scope));
    // A client can be set to reply with numbers as text.
    const [own, left, all, leftOfAll] = (reply as unknown[]).map(Number) as CheckReply;
    // A count without an end is none: Redis lets this user count, and set no end.
    if (own === 0 || left < 0) return 0;
    if (own >= this.limit) return left / 1000;
    return all >= this.total && leftOfAll > 0 ? Math.min(left, leftOfAll) / 1000 : 0;
  }

  async add(client: string, scope: string): Promise<void> {
    await this.#redis.run('add', ADD, this.#keys(client, scope), [this.windowMs]);
  }

  /** Both in one slot of a cluster. Windows of different length are counted separately: a key has one lifetime. */
  #keys(client: string, scope: string): [string, string] {
    const tag = `${this.#redis.prefix}{${digest(scope)}}:${this.windowMs}`;
    return [`${tag}:${digest(client)}`, `${tag}:all`];
  }
}

type CheckReply = [own: number, left: number, all: number, leftOfAll: number];

/** Enough of a hash that no two are equal by chance. */
const digest = (text: string): string => hash('sha256', text, 'base64url').slice(0, 22);
