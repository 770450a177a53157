import { type Deadline, DeadlineExceeded, TimeLimit, TooManyCalls } from '../../deadline.js';
import { positiveOption, textOption } from '../../options.js';
import { describeFailure, storeFailure } from '../store-failure.js';
import { type RedisClient, type RedisCommands, redisCommands } from './clients.js';

/** What all stores in Redis take. */
export interface RedisStoreOptions {
  /** The app's client of `redis`, `ioredis` or `iovalkey`, connected; it stays the app's own. */
  client: RedisClient;
  /** What the keys begin with. Default: `marketgate:` and the kind of store, as in `marketgate:token:`. */
  prefix?: string | undefined;
  /**
   * The deadline of one call, in milliseconds. Default 1,500 for tokens and holders, which nothing can replace, and
   * 50 for the others, because visitors wait for it.
   */
  timeout?: number | undefined;
}

/** How a {@link RedisConnection} treats its calls. */
interface Defaults {
  readonly prefix: string;
  readonly timeout: number;
  /** Whether to wait for a connection that was lost; until the first call has waited in vain. */
  readonly waits: boolean;
}

/**
 * Redis as the stores use it. Each call has a deadline, and each failure is `store_unavailable` without the key
 * or the value in it. A client that is not connected gets no command: it would queue the command, send it when
 * Redis is back, and meanwhile fill the memory.
 *
 * The deadline is here and not around the stores, because calls depend on it: they wait for a connection until
 * then, and release a lock that they got later. So it also holds for an app that calls a store itself.
 */
export class RedisConnection {
  readonly commands: RedisCommands;
  readonly prefix: string;
  readonly #owner: string;
  readonly #timeout: number;
  readonly #waits: boolean;
  readonly #limit: TimeLimit;
  #wasReady = false;
  /** Whether a call has waited for the lost connection in vain. */
  #isDown = false;
  #becomesReady: Promise<void> | undefined;

  /** @throws TypeError that names the wrong option. */
  constructor(owner: string, { client, prefix, timeout }: RedisStoreOptions, defaults: Defaults) {
    this.prefix = textOption(owner, 'prefix', prefix ?? defaults.prefix);
    this.#timeout = positiveOption(owner, 'timeout', timeout, defaults.timeout, 'milliseconds');
    this.commands = redisCommands(owner, client, this.#timeout);
    this.#owner = owner;
    this.#waits = defaults.waits;
    this.#limit = new TimeLimit(this.#timeout);
  }

  /**
   * @param method - for the error, as in "get".
   * @param work - the commands; when `deadline.ended`, their caller has left.
   * @throws MarketgateError `store_unavailable`.
   */
  async call<T>(
    method: string,
    work: (redis: RedisCommands, deadline: Deadline) => Promise<T>,
  ): Promise<T> {
    try {
      return await this.#limit.run(async (deadline) => {
        if (this.commands.state !== 'ready') await this.#ready(deadline);
        this.#wasReady = true;
        return work(this.commands, deadline);
      });
    } catch (error) {
      const problem = describeRedisFailure(error, this.#timeout);
      throw storeFailure(`${this.#owner}.${method}`, problem);
    }
  }

  async #ready(deadline: Deadline): Promise<void> {
    if (this.commands.state === 'closed') throw new NotConnected('the client is not connected');
    // A first connection is always waited for, or apps would fail at start.
    if (this.#wasReady && (!this.#waits || this.#isDown)) {
      throw new NotConnected('the connection is lost');
    }
    deadline.listen(() => {
      this.#isDown = this.commands.state === 'waiting';
    });
    while (!deadline.ended && this.commands.state === 'waiting') await this.#nextReady();
    if (deadline.ended || this.commands.state !== 'ready') {
      throw new NotConnected('the client is not connected');
    }
  }

  /** One listener for all calls that wait, because emitters warn about many. */
  #nextReady(): Promise<void> {
    this.#becomesReady ??= new Promise<void>((resolve) => {
      this.commands.onceReady(resolve);
    }).finally(() => {
      this.#becomesReady = undefined;
      this.#isDown = false;
    });
    return this.#becomesReady;
  }
}

/** The client cannot be used now. The message says why, and nothing else. */
export class NotConnected extends Error {}

/** Codes at the beginning of Redis errors that say what to do. */
const REPLIES = new Set(
  'ASK BUSY CLUSTERDOWN CROSSSLOT LOADING MASTERDOWN MISCONF MOVED NOAUTH NOPERM NOREPLICAS OOM READONLY TRYAGAIN UNBLOCKED WRONGPASS WRONGTYPE'.split(
    ' ',
  ),
);

/**
 * The failure in a few words. Never the error's own message: ioredis puts the command with its key and value
 * into it, and a script's error can quote them.
 */
export function describeRedisFailure(error: unknown, timeout: number): string {
  if (error instanceof DeadlineExceeded) return `did not answer within ${timeout} ms`;
  if (error instanceof TooManyCalls)
    return 'was not sent, because too many commands are unanswered';
  if (error instanceof NotConnected) return `was not sent, because ${error.message}`;
  const [reply = ''] = error instanceof Error ? error.message.split(' ', 1) : [];
  return REPLIES.has(reply) ? `failed (${reply})` : describeFailure(error);
}

/** The longest lifetime: Redis adds it to the current time, which must fit into 64 bits. */
const LONGEST = Number.MAX_SAFE_INTEGER;

/** A lifetime as Redis takes it: whole, and rounded up, so that nothing expires early. */
export const wholeMilliseconds = (ttl: number): number => Math.min(Math.ceil(ttl), LONGEST);
