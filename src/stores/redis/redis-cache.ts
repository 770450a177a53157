import { randomUUID } from 'node:crypto';
import type { SharedCache, SharedRow } from '../../cache/shared-cache.js';
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

/** The row of a key. A value of another type is none of ours: nobody could replace it if it failed the script. */
const GET = `local row = redis.pcall('GET', KEYS[1])
if type(row) == 'table' then
  if not string.find(row.err, 'WRONGTYPE') then return row end
  row = false
end
`;

/** A row, and the time by Redis's own clock. Writes nothing, so it runs on a full Redis. */
const READ = `${GET}return {row, redis.call('TIME')}`;

/**
 * Compares and writes in one step, or a later row could come in between and be lost. An order that is no safe integer
 * cannot be ours, and would never be replaced. The same row counts as written: ioredis sends a call again whose answer was
 * lost, and a negative answer that seems to be another process's is told to nobody.
 */
const WRITE = `${GET}local order = row and tonumber(string.match(row, '^(%d+):'))
if order and order <= ${Number.MAX_SAFE_INTEGER} and order >= tonumber(ARGV[1]) then
  return row == ARGV[1] .. ':' .. ARGV[2] and 1 or 0
end
redis.call('SET', KEYS[1], ARGV[1] .. ':' .. ARGV[2], 'PX', ARGV[3])
return 1`;

/**
 * A lock that does not expire within the time that ours take is none of ours, and would delay every lookup. Also taken by a
 * call that has it already: ioredis sends one again whose answer was lost, and the process would wait for itself.
 */
const LOCK = `local left = redis.call('PTTL', KEYS[1])
if left >= 0 and left <= tonumber(ARGV[2]) then
  return redis.pcall('GET', KEYS[1]) == ARGV[1] and 1 or 0
end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1`;

const DELETE = `return redis.call('DEL', KEYS[1])`;

/** Compares and deletes in one step, because another process could take the lock in between. */
const UNLOCK = `if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end
return 0`;

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

  async read(key: string): Promise<SharedRow> {
    return rowOf(await this.#redis.run('read', READ, this.#row(key)));
  }

  async write(key: string, value: string, ttl: number, order: number): Promise<boolean> {
    const args = [order, value, wholeMilliseconds(ttl)];
    return Number(await this.#redis.run('write', WRITE, this.#row(key), args)) === 1;
  }

  async delete(key: string): Promise<void> {
    await this.#redis.run('delete', DELETE, this.#row(key));
  }

  async lock(key: string, ttl: number): Promise<(() => Promise<void>) | undefined> {
    const name = `${this.#redis.prefix}lock:${key}`;
    const lockId = randomUUID();
    const reply = await this.#redis.run('lock', LOCK, name, [lockId, wholeMilliseconds(ttl)]);
    if (Number(reply) !== 1) return undefined;
    return async () => void (await this.#redis.run('unlock', UNLOCK, name, [lockId]));
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

  /** The key of a row in Redis. Rows and locks have different prefixes, so that no key makes one look like the other. */
  #row(key: string): string {
    return `${this.#redis.prefix}row:${key}`;
  }
}

/** What {@link READ} replies with. A client can be set to reply with numbers as text. */
function rowOf(reply: unknown): SharedRow {
  const [row, [seconds, micros]] = reply as [unknown, [unknown, unknown]];
  const now = Number(seconds) * 1e6 + Number(micros);
  const text = String(row);
  const digits = /^\d{1,16}(?=:)/.exec(text)?.[0];
  const order = Number(digits);
  if (digits === undefined || !Number.isSafeInteger(order))
    return { value: undefined, order: 0, now };
  return { value: text.slice(digits.length + 1), order, now };
}
