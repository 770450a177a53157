import { type Deadline, MAX_TIMER_DELAY, NoAnswer, timeLimit } from '../../deadline.js';
import { positiveOption, textOption } from '../../options.js';
import { storeCall } from '../store-guard.js';
import { type RedisClient, type RedisCommands, redisCommands } from './clients.js';

/** What all stores in Redis take. */
export interface RedisStoreOptions {
  /** The app's client of `redis`, `ioredis` or `iovalkey`, connected; it stays the app's own. */
  client: RedisClient;
  /** What the keys begin with. Default: `marketgate:` and the kind of store, as in `marketgate:token:`. */
  prefix?: string | undefined;
  /**
   * The deadline of one call, in milliseconds; then it rejects with `store_unavailable`. Default 1,500 for tokens and
   * holders, which nothing can replace: their calls wait for a lost connection, until the first has waited in vain.
   * Default 50 for the others, because visitors wait for them, and without a connection they fail at once.
   */
  timeout?: number | undefined;
}

/** The kinds of stores, and whether their calls wait for a lost connection. */
const KINDS = {
  token: { timeout: 1500, waits: true },
  holder: { timeout: 1500, waits: true },
  cache: { timeout: 50, waits: false },
  guess: { timeout: 50, waits: false },
};

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
  /** Of each call, in milliseconds. */
  readonly timeout: number;
  readonly #owner: string;
  readonly #waits: boolean;
  readonly #run: ReturnType<typeof timeLimit>;
  #wasReady = false;
  /** Whether a call has waited for the lost connection in vain. */
  #isDown = false;
  #becomesReady: Promise<void> | undefined;

  constructor(owner: string, kind: keyof typeof KINDS, options: RedisStoreOptions) {
    const { waits, timeout: defaultTimeout } = KINDS[kind];
    const given = positiveOption(owner, 'timeout', options.timeout, defaultTimeout, 'milliseconds');
    this.timeout = Math.min(given, MAX_TIMER_DELAY);
    this.prefix = textOption(owner, 'prefix', options.prefix ?? `marketgate:${kind}:`);
    this.commands = redisCommands(owner, options.client, this.timeout);
    this.#owner = owner;
    this.#waits = waits;
    this.#run = timeLimit(this.timeout);
  }

  /**
   * @param method - for the error, as in "get".
   * @param work - the commands; when `deadline.aborted`, their caller has left.
   * @throws MarketgateError `store_unavailable`.
   */
  call<T>(
    method: string,
    work: (redis: RedisCommands, deadline: Deadline) => Promise<T>,
  ): Promise<T> {
    const run = async (deadline: Deadline): Promise<T> => {
      if (this.commands.state !== 'ready') await this.#waitUntilReady(deadline);
      this.#wasReady = true;
      this.#isDown = false;
      return work(this.commands, deadline);
    };
    return storeCall(`${this.#owner}.${method}`, () => this.#run(run));
  }

  async #waitUntilReady(deadline: Deadline): Promise<void> {
    if (this.commands.state === 'closed') throw notSent('the client is not connected');
    // A first connection is always waited for, or apps would fail at start.
    if (this.#wasReady && (!this.#waits || this.#isDown)) {
      throw notSent('the connection is lost');
    }
    deadline.signal.addEventListener('abort', () => {
      this.#isDown = this.commands.state === 'waiting';
    });
    while (!deadline.aborted && this.commands.state === 'waiting') await this.#nextReady();
    if (deadline.aborted || this.commands.state !== 'ready') {
      throw notSent('the client is not connected');
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

const notSent = (reason: string) => new NoAnswer(`was not sent, because ${reason}`);
