import { sleep, within } from '../../deadline.js';
import type { RedisCommands } from './clients.js';

/** Times in milliseconds. */
const TIMES = {
  /** The deadline of connecting. */
  connectTimeout: 5000,
  /**
   * Between two pings, and the deadline of one. In a cluster, a server that was frozen for some seconds has
   * missed messages, and its connections live on.
   */
  pingInterval: 1000,
  pingTimeout: 1000,
  /** The wait after a lost connection. Each failed attempt to connect doubles it, up to the longest. */
  firstWait: 50,
  maxWait: 2000,
};

/**
 * Listens for invalidations on a separate connection until it is closed. A lost connection is replaced by a new
 * one; then all keys are invalidated, because messages can have been missed.
 *
 * It does not rely on the reconnects of the client: ioredis is `ready` again before it has subscribed again,
 * clusters do not report a reconnect, and an app's reconnect strategy can give up.
 */
export class Subscription {
  readonly #times: typeof TIMES;
  /** Aborted when it is closed. */
  readonly #closing = new AbortController();
  /** Whether a connection has ended or failed. */
  #canHaveMissed = false;

  /** Resolves when it listens for the first time, or is closed. Never rejects. */
  readonly listening: Promise<void>;

  constructor(
    private readonly commands: RedisCommands,
    private readonly channel: string,
    private readonly onInvalidate: (key: string | undefined) => void,
    private readonly onListening: (isListening: boolean) => void = () => {},
    times: Partial<typeof TIMES> = {},
  ) {
    this.#times = { ...TIMES, ...times };
    onListening(false);
    this.listening = new Promise((resolve) => void this.#run(resolve));
  }

  /** Ends the subscription and its connection. */
  close(): void {
    this.#closing.abort();
  }

  async #run(onceListening: () => void): Promise<void> {
    const { firstWait, maxWait } = this.#times;
    const { signal } = this.#closing;
    signal.addEventListener('abort', onceListening, { once: true });
    let wait = firstWait;
    while (!signal.aborted) {
      // The reason is not reported: the app's own client reports the same trouble.
      const hasListened = await this.#listen(onceListening).catch(() => false);
      this.#canHaveMissed = true;
      wait = hasListened ? firstWait : Math.min(wait * 2, maxWait);
      // With jitter, so that not all processes reconnect at the same moment.
      await sleep(wait * (0.5 + Math.random() / 2), signal);
    }
  }

  /** Listens on one connection until it ends. Rejects when it could not begin to. */
  async #listen(onceListening: () => void): Promise<true> {
    const { connectTimeout, pingInterval, pingTimeout } = this.#times;
    const closing = this.#closing.signal;
    const lost = new AbortController();
    const onLost = (): void => lost.abort();
    const connection = await within(connectTimeout, () =>
      this.commands.subscriber(this.#onMessage, onLost),
    );
    const close = (): void => {
      onLost();
      connection.close();
    };
    closing.addEventListener('abort', close, { once: true });
    try {
      if (closing.aborted) return true;
      await within(connectTimeout, () => connection.open(this.channel));
      if (this.#canHaveMissed) this.#invalidate(undefined);
      this.onListening(true);
      onceListening();
      while (!lost.signal.aborted) {
        await sleep(pingInterval, lost.signal);
        // Without pings, a connection that a firewall has dropped looks like a quiet one.
        if (!lost.signal.aborted) await within(pingTimeout, () => connection.ping()).catch(onLost);
      }
      return true;
    } finally {
      if (!closing.aborted) this.onListening(false);
      closing.removeEventListener('abort', close);
      connection.close();
    }
  }

  /** A message is the key, or empty for all keys. */
  readonly #onMessage = (message: string): void => this.#invalidate(message || undefined);

  #invalidate(key: string | undefined): void {
    // In a microtask, so that an error of the listener does not end the connection.
    queueMicrotask(() => {
      if (!this.#closing.signal.aborted) this.onInvalidate(key);
    });
  }
}
