import { reportUnreadable } from '../../diagnostics.js';
import { decodeInvalidation } from './invalidation-message.js';
import { endingAfter, Pause } from './pause.js';
import type { RedisCommands, RedisListener } from './redis-commands.js';

/** The times of a {@link Subscription}, in milliseconds. */
export interface SubscriptionTimes {
  /** What connecting, or the answer to a ping, may take. */
  readonly patience: number;
  /** How often to look whether the connection still lives. */
  readonly heartbeat: number;
  /** The first wait after a failure; doubles up to the longest. */
  readonly firstWait: number;
  readonly longestWait: number;
}

const TIMES: SubscriptionTimes = {
  patience: 5000,
  heartbeat: 15_000,
  firstWait: 50,
  longestWait: 2000,
};

/**
 * Listens for invalidations until it is closed, on a connection of its own. When that is lost, a new
 * one is made, and as nobody knows what was said meanwhile, all keys are invalidated.
 *
 * Our own loop and not the client's reconnecting: ioredis says that it is back before it has
 * subscribed again, clusters do not say it at all, and an app's reconnect strategy may give up.
 */
export class Subscription {
  readonly #commands: RedisCommands;
  readonly #channel: string;
  readonly #onInvalidate: (key: string | undefined) => void;
  readonly #times: SubscriptionTimes;
  #isClosed = false;
  /** Whether there was a time in which it did not listen. */
  #mayHaveMissed = false;
  #connection: RedisListener | undefined;
  #pause = new Pause();
  #onListening: () => void = () => {};

  /** Settles when it listens for the first time, or is closed. Never rejects. */
  readonly listening: Promise<void>;

  constructor(
    commands: RedisCommands,
    channel: string,
    onInvalidate: (key: string | undefined) => void,
    times: Partial<SubscriptionTimes> = {},
  ) {
    this.#commands = commands;
    this.#channel = channel;
    this.#onInvalidate = onInvalidate;
    this.#times = { ...TIMES, ...times };
    this.listening = new Promise((resolve) => {
      this.#onListening = resolve;
    });
    void this.#run();
  }

  /** Ends it, and its connection. */
  close(): void {
    this.#isClosed = true;
    this.#connection?.close();
    this.#pause.end();
    this.#onListening();
  }

  async #run(): Promise<void> {
    const { firstWait, longestWait } = this.#times;
    let wait = firstWait;
    while (!this.#isClosed) {
      // Why it ended does not matter: the app's own client tells the app of the same trouble.
      const hasListened = await this.#listen().catch(() => false);
      if (this.#isClosed) return;
      this.#mayHaveMissed = true;
      wait = hasListened ? firstWait : Math.min(wait * 2, longestWait);
      this.#pause = new Pause();
      // Not all processes of a fleet at the same moment.
      await this.#pause.wait(wait * (0.5 + Math.random() / 2));
    }
  }

  /** One connection, from its beginning to its end. Rejects when it never listened. */
  async #listen(): Promise<true> {
    const { patience, heartbeat } = this.#times;
    // Its own, for an earlier connection can say once more, and late, that it is lost.
    const pause = new Pause();
    let isLost = false;
    const onLost = (): void => {
      isLost = true;
      pause.end();
    };
    const connection = await endingAfter(
      patience,
      this.#commands.listener(this.#onMessage, onLost),
    );
    try {
      this.#connection = connection;
      this.#pause = pause;
      if (this.#isClosed) return true;
      await endingAfter(patience, connection.open(this.#channel));
      if (this.#mayHaveMissed) this.#tell(undefined);
      this.#onListening();
      while (!isLost && !this.#isClosed) {
        await pause.wait(heartbeat);
        // A connection that a firewall has dropped looks like one on which nothing is said.
        if (!isLost && !this.#isClosed) {
          await endingAfter(patience, connection.ping()).catch(onLost);
        }
      }
      return true;
    } finally {
      connection.close();
    }
  }

  readonly #onMessage = (message: string): void => {
    const said = decodeInvalidation(message);
    if (said !== undefined) this.#tell(said.key);
    else
      reportUnreadable(this, 'RedisCache.subscribe', 'an invalidation, as this cache publishes it');
  };

  #tell(key: string | undefined): void {
    // In a turn of its own: what the listener throws is not the connection's fault.
    queueMicrotask(() => {
      if (!this.#isClosed) this.#onInvalidate(key);
    });
  }
}
