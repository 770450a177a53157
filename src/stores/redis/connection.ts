import { MAX_TIMER_DELAY, NoAnswer, wait } from '../../deadline.js';
import { positiveOption, textOption } from '../../options.js';
import { callStore } from '../store-guard.js';
import { type RedisClient, type RedisCommands, redisCommands } from './clients.js';

/** What all stores in Redis take. */
export interface RedisStoreOptions {
  /** The app's client of `redis`, `ioredis` or `iovalkey`, connected; it stays the app's own. */
  client: RedisClient;
  /** What the keys begin with. Default: `marketgate:` and the kind of store, as in `marketgate:token:`. */
  prefix?: string | undefined;
  /**
   * The deadline of one call, in milliseconds; then it rejects with `store_unavailable`. While the client reconnects,
   * calls wait until then. Default 1,500 for tokens and holders, which nothing can replace, and 50 for the others. The
   * package waits for a token or holder store for 2,000 at most.
   */
  timeout?: number | undefined;
}

/** The default timeout of each kind of store, in milliseconds. */
const TIMEOUTS = { token: 1500, holder: 1500, cache: 50, guess: 50 };

/** Milliseconds between two looks at a client that is not connected. */
const POLL = 10;

/**
 * Redis as the stores use it. Each call has a deadline, and each failure is `store_unavailable` without the key
 * or the value in it. A client that is not connected gets no command: it would queue it, and send it after the outage,
 * when its caller has long had an error.
 */
export class RedisConnection {
  readonly commands: RedisCommands;
  readonly prefix: string;
  /** Of each call, in milliseconds. */
  readonly timeout: number;

  constructor(
    private readonly owner: string,
    kind: keyof typeof TIMEOUTS,
    options: RedisStoreOptions,
  ) {
    const { client, prefix = `marketgate:${kind}:`, timeout } = options;
    const given = positiveOption(owner, 'timeout', timeout, TIMEOUTS[kind], 'milliseconds');
    this.timeout = Math.min(given, MAX_TIMER_DELAY);
    this.prefix = textOption(owner, 'prefix', prefix);
    this.commands = redisCommands(owner, client, this.timeout);
  }

  /**
   * @param method - for the error, as in "get".
   * @param work - sends the commands.
   * @param options - in milliseconds: `deadline` of the reply, and `patience` with a client that is not connected.
   * `undo` gets a reply that comes after the deadline: Redis has done then what nobody waits for any more.
   * @throws MarketgateError `store_unavailable`.
   */
  call<T>(
    method: string,
    work: (redis: RedisCommands) => Promise<T>,
    {
      deadline = this.timeout,
      patience = this.timeout,
      undo,
    }: { deadline?: number; patience?: number; undo?: (reply: T) => unknown } = {},
  ): Promise<T> {
    const { commands } = this;
    const endsAt = performance.now() + patience;
    const send = async (): Promise<T> => {
      while (!commands.isReady) {
        if (!commands.isClosed) await wait(POLL);
        if (commands.isClosed || performance.now() >= endsAt) {
          throw new NoAnswer('was not sent, because the client is not connected');
        }
      }
      return work(commands);
    };
    return callStore(`${this.owner}.${method}`, send, deadline, undo);
  }
}
