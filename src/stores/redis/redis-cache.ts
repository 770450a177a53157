import { randomUUID } from 'node:crypto';
import type { SharedCache, SharedValue } from '../../cache/shared-cache.js';
import { warnOnce } from '../../diagnostics.js';
import { readOptions, type Table, unchecked } from '../../options.js';
import { wholeMilliseconds } from '../row-token-store.js';
import { type RedisClient, type Subscriber, subscriberOf } from './clients.js';
import { RedisConnection, type RedisStoreOptions } from './connection.js';

/** Options of {@link RedisCache}. */
export interface RedisCacheOptions extends RedisStoreOptions {
  /**
   * A second connection of the app to subscribe with, as in `client.duplicate()`, connected; it stays the app's own. The
   * libraries reconnect it and subscribe again by themselves.
   */
  subscriber: RedisClient;
}

const OWNER = 'RedisCache';
const OPTIONS = {
  client: unchecked<RedisClient>(),
  subscriber: unchecked<RedisCacheOptions['subscriber']>(),
  prefix: unchecked<string | undefined>(),
} satisfies Table<RedisCacheOptions>;

const NO_MESSAGES = 'MARKETGATE_NO_INVALIDATIONS';

/** Milliseconds until a subscription that has failed is tried again, if nothing happens to the connection before. */
const RETRY = 10_000;

// Each script has the keys of a row and of its lease. A row begins with its lifetime from the request on, from which its age is
// worked out by what is left of it: so only the clock of Redis counts. A lease that was never ended is the empty text.

/** One step, so that the lease is not older than the row. It only reads, so it runs on a full Redis and on a replica. */
const READ = `return {redis.call('GET', KEYS[1]), redis.call('PTTL', KEYS[1]), redis.call('GET', KEYS[2]) or ''}`;

/** Compares and writes in one step, or a withdrawal could come in between. */
const WRITE = `if (redis.call('GET', KEYS[2]) or '') ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
return 1`;

/**
 * The row is deleted first: a full Redis refuses a SET, but not in a script that has written already, and it allows DEL. The end
 * of a lease is remembered for two minutes; later, no write under it is made.
 */
const WITHDRAW = `redis.call('DEL', KEYS[1])
redis.call('SET', KEYS[2], ARGV[1], 'PX', 120000)
if ARGV[2] then redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3]) end`;

/**
 * A {@link SharedCache} in Redis: single server, cluster or sentinel; a value for `cache.shared` of
 * `KeyApi`. It stores keys and values as they are given: those of `KeyApi` are HMACs and sealed. A call that fails rejects
 * with `store_unavailable`.
 *
 * @example
 * const client = await createClient({ url }).on('error', console.error).connect();
 * const subscriber = await client.duplicate().on('error', console.error).connect();
 * const keyApi = new KeyApi({ baseUrl, apiKey, cache: { shared: new RedisCache({ client, subscriber }) } });
 */
export class RedisCache implements SharedCache {
  readonly #redis: RedisConnection;
  readonly #subscriber: Subscriber;

  /**
   * Shares answers between processes, through Redis.
   *
   * @param options - `client`: connected, of `redis`, `ioredis` or `iovalkey`; `subscriber`: a second connection, as in
   *   `client.duplicate()`.
   * @throws TypeError that names the wrong option.
   */
  constructor(options: RedisCacheOptions) {
    const given = readOptions(OWNER, OPTIONS, options);
    this.#redis = new RedisConnection(OWNER, 'cache', given);
    this.#subscriber = subscriberOf(OWNER, given.subscriber, given.client);
  }

  async read(key: string): Promise<SharedValue> {
    const [row, left, lease] = (await this.#run('read', READ, key)) as unknown[];
    const text = String(row);
    const colon = text.indexOf(':');
    const life = Number(text.slice(0, colon));
    const none = { age: 0, lease: String(lease) };
    // A row without an expiry, or with another text, is none of ours.
    if (colon < 1 || Number.isNaN(life) || Number(left) < 0) return none;
    return { ...none, value: text.slice(colon + 1), age: Math.max(0, life - Number(left)) };
  }

  async write(
    key: string,
    value: string,
    age: number,
    ttl: number,
    lease: string,
  ): Promise<boolean> {
    const left = wholeMilliseconds(ttl);
    const args = [lease, rowOf(value, wholeMilliseconds(age) + left), left];
    return Number(await this.#run('write', WRITE, key, args)) === 1;
  }

  async withdraw(key: string, value: string | undefined, ttl: number): Promise<void> {
    const life = wholeMilliseconds(ttl);
    const row = value === undefined ? [] : [rowOf(value, life), life];
    await this.#run('withdraw', WITHDRAW, key, [randomUUID(), ...row]);
  }

  async publish(message: string): Promise<void> {
    await this.#redis.publish(this.#channel, message);
  }

  /**
   * Subscribes with the app's `subscriber`, which reconnects by itself. Whatever happens to that connection, messages count
   * as missed until the server has confirmed the subscription anew. One that fails is tried again, and one that Redis
   * refuses is reported once. Resolves after the first attempt.
   */
  async subscribe(
    onMessage: (message: string) => void,
    onListening: (isListening: boolean) => void,
  ): Promise<() => Promise<void>> {
    let [isEnded, isPending, hasListened] = [false, false, false];
    let retry: NodeJS.Timeout | undefined;
    const { confirm, end } = this.#subscriber.subscribe(this.#channel, (message) => {
      if (!isEnded) onMessage(message);
    });
    const listen = async (): Promise<void> => {
      clearTimeout(retry);
      onListening(false);
      // It waits in the client until the connection is back.
      if (isPending) return;
      isPending = true;
      try {
        await this.#redis.report('subscribe', confirm, NO_MESSAGES);
        hasListened = true;
        if (!isEnded) onListening(true);
      } catch (error) {
        if (isEnded) return;
        // For example, it was never connected.
        if (!hasListened) warnOnce(NO_MESSAGES, `: ${(error as Error).message.split(';')[0]}`);
        retry = setTimeout(listen, RETRY).unref();
      } finally {
        isPending = false;
      }
    };
    const stopListening = this.#subscriber.onChange(listen);
    await listen();
    return async () => {
      isEnded = true;
      clearTimeout(retry);
      stopListening();
      await end();
    };
  }

  get #channel(): string {
    return `${this.#redis.prefix}invalidate`;
  }

  #run(
    method: string,
    script: string,
    key: string,
    args: readonly (string | number)[] = [],
  ): Promise<unknown> {
    // A cluster keeps what is in braces in one slot.
    const row = `${this.#redis.prefix}{${key}}`;
    return this.#redis.run(method, script, [row, `${row}:lease`], args);
  }
}

/** @param life - milliseconds from the request until it expires. */
const rowOf = (value: string, life: number): string => `${life}:${value}`;
