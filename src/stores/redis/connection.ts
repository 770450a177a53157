import { type WarningCode, warnOnce } from '../../diagnostics.js';
import type { MarketgateError } from '../../errors.js';
import { text } from '../../options.js';
import { storeFailure } from '../../store-guard.js';
import { type Redis, type RedisClient, redisOf } from './clients.js';
import { refusalOf } from './refusals.js';

/** What all stores in Redis take. */
export interface RedisStoreOptions {
  /**
   * The app's client of `redis`, `ioredis` or `iovalkey`, connected; it stays the app's own. How long a command can wait
   * is up to its settings. The package itself waits for a store for two seconds at most, and for a shared cache or a guess
   * limit much shorter.
   */
  client: RedisClient;
  /** What the keys begin with. Default: `marketgate:` and the kind of store, as in `marketgate:token:`. */
  prefix?: string | undefined;
}

/** Redis as the stores use it: each failure is `store_unavailable`, and what Redis refuses is reported once. */
export class RedisConnection {
  readonly prefix: string;
  readonly #redis: Redis;

  constructor(
    private readonly owner: string,
    kind: 'token' | 'holder' | 'cache' | 'guess',
    { client, prefix }: RedisStoreOptions,
  ) {
    this.prefix = text(`marketgate:${kind}:`)(owner, 'prefix', prefix);
    this.#redis = redisOf(owner, client);
  }

  /**
   * Runs a script on one key, or on several of one hash slot.
   * @param method - for the error, as in "get".
   * @param keys - with the prefix.
   * @throws MarketgateError `store_unavailable`.
   */
  async run(
    method: string,
    script: string,
    keys: string | readonly string[],
    args: readonly (string | number)[] = [],
  ): Promise<unknown> {
    try {
      const all = typeof keys === 'string' ? [keys] : keys;
      return await this.#redis.run(script, all, args.map(String));
    } catch (error) {
      throw this.failure(method, error);
    }
  }

  async publish(channel: string, message: string): Promise<void> {
    try {
      await this.#redis.publish(channel, message);
    } catch (error) {
      throw this.failure('publish', error);
    }
  }

  /** Makes `store_unavailable` of a failure, with neither a key nor a value in it. What Redis refuses is reported once. */
  failure(
    method: string,
    error: unknown,
    warning: WarningCode = 'MARKETGATE_REDIS_REFUSES',
  ): MarketgateError {
    const refusal = refusalOf(error);
    const name = `${this.owner}.${method}`;
    if (refusal?.isLasting) warnOnce(warning, `: ${name} (${refusal.text})`);
    return storeFailure(name, error, refusal?.text);
  }
}
