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

/** Milliseconds for which the end of a lease is remembered; later, no write under it is made. */
const LEASE_LIFE = 120_000;

// One key has the lease, how long the value counts, and how long the key exists, both in milliseconds from the request on, and
// then the value. The age is worked out by what Redis says is left: so only the clock of Redis counts. A lease that was never
// ended is the empty text.
const ROW = /^([^:]*)(?::(\d+):(\d+):)?/;

/** One step, so that what is left belongs to the row. It only reads, so it runs on a full Redis and on a replica. */
const READ = `return {redis.call('GET', KEYS[1]), redis.call('PTTL', KEYS[1])}`;

/** Compares and writes in one step, or a withdrawal could come in between. */
const WRITE = `local lease = string.match(redis.call('GET', KEYS[1]) or '', '^[^:]*')
if lease ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
return 1`;

/** The row is deleted first: a full Redis refuses a SET, but not in a script that has written already, and it allows DEL. */
const WITHDRAW = `redis.call('DEL', KEYS[1])
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])`;

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
    const [text, left] = (await this.#redis.run('read', READ, this.#rowOf(key))) as unknown[];
    const row = String(text ?? '');
    const [head, lease = '', life, total] = ROW.exec(row) ?? [''];
    const age = Math.max(0, Number(total) - Number(left));
    // A row without an expiry, or with another text, is none of ours.
    return age < Number(life) ? { value: row.slice(head.length), age, lease } : { age: 0, lease };
  }

  async write(
    key: string,
    value: string,
    age: number,
    ttl: number,
    lease: string,
  ): Promise<boolean> {
    const row = rowOf(lease, value, age, ttl);
    return Number(await this.#redis.run('write', WRITE, this.#rowOf(key), [lease, ...row])) === 1;
  }

  async withdraw(key: string, value: string | undefined, ttl: number): Promise<void> {
    const row = rowOf(randomUUID(), value ?? '', 0, value === undefined ? 0 : ttl);
    await this.#redis.run('withdraw', WITHDRAW, this.#rowOf(key), row);
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
        await confirm();
        hasListened = true;
        if (!isEnded) onListening(true);
      } catch (error) {
        const { message } = this.#redis.failure('subscribe', error, NO_MESSAGES);
        if (isEnded) return;
        // For example, it was never connected.
        if (!hasListened) warnOnce(NO_MESSAGES, `: ${message.split(';')[0]}`);
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

  #rowOf(key: string): string {
    return `${this.#redis.prefix}${key}`;
  }
}

/** A row, and the milliseconds for which Redis keeps it: the lease must last also where the value does not. */
function rowOf(lease: string, value: string, age: number, ttl: number): [string, number] {
  const [from, left] = [wholeMilliseconds(age), wholeMilliseconds(ttl)];
  const kept = Math.max(left, LEASE_LIFE);
  return [`${lease}:${from + left}:${from + kept}:${value}`, kept];
}
