import { type Deadline, TimeLimit } from '../../deadline.js';
import { storeFailure } from '../store-failure.js';
import { redisCommands } from './redis-client.js';
import type { RedisCommands } from './redis-commands.js';
import { describeRedisFailure, NotConnected } from './redis-failure.js';

/** How {@link GuardedRedis} behaves. */
export interface Guard {
  /** Milliseconds for one call, with all that it does. */
  readonly timeout: number;
  /** Whether to wait, within that time, for a connection that was lost. */
  readonly waits: boolean;
}

/**
 * Redis as the stores use it: each call ends within its time, and each failure is `store_unavailable`
 * without the key or the value in it. Nothing is given to a client that is not connected, for it
 * would keep it and send it whenever Redis is back: memory would fill up meanwhile, and what is
 * written then is old.
 */
export class GuardedRedis {
  readonly commands: RedisCommands;
  readonly #owner: string;
  readonly #guard: Guard;
  readonly #limit: TimeLimit;
  #wasReady = false;
  #becomesReady: Promise<void> | undefined;

  /** @throws TypeError when `client` is none. */
  constructor(owner: string, client: unknown, guard: Guard) {
    this.commands = redisCommands(owner, client, guard.timeout);
    this.#owner = owner;
    this.#guard = guard;
    this.#limit = new TimeLimit(guard.timeout);
  }

  /**
   * @param method for the error, as in "get".
   * @param work what to do; it is told whether anybody still waits for it.
   * @throws MarketgateError `store_unavailable`.
   */
  async call<T>(
    method: string,
    work: (redis: RedisCommands, call: Deadline) => Promise<T>,
  ): Promise<T> {
    try {
      return await this.#limit.run(async (call) => {
        if (this.commands.state !== 'ready') await this.#ready(call);
        this.#wasReady = true;
        return work(this.commands, call);
      });
    } catch (error) {
      const problem = describeRedisFailure(error, this.#guard.timeout);
      throw storeFailure(`${this.#owner}.${method}`, problem);
    }
  }

  async #ready(call: Deadline): Promise<void> {
    if (this.commands.state === 'closed') throw new NotConnected('the client is not connected');
    // A client that is just being connected is waited for in any case, or apps would fail at start.
    if (this.#wasReady && !this.#guard.waits) throw new NotConnected('the connection is lost');
    this.commands.wake();
    while (!call.ended && this.commands.state === 'waiting') await this.#nextReady();
    if (call.ended || this.commands.state !== 'ready') {
      throw new NotConnected('the client is not connected');
    }
  }

  /** One listener for all who wait: emitters complain about many. */
  #nextReady(): Promise<void> {
    this.#becomesReady ??= new Promise<void>((resolve) => {
      this.commands.onceReady(() => {
        this.#becomesReady = undefined;
        resolve();
      });
    });
    return this.#becomesReady;
  }
}
