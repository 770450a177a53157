import { later, within } from '../../deadline.js';
import { reportUnreadable } from '../../diagnostics.js';
import type { RedisCommands } from './commands.js';

/** The times of a {@link Subscription}, in milliseconds. */
export interface SubscriptionTimes {
  /** What connecting, or the answer to a ping, can take. */
  readonly patience: number;
  /** How often to check whether the connection still lives. */
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
 * Listens for invalidations until it is closed, on a separate connection. When that is lost, a new one is
 * made, and because messages can have been missed, all keys are invalidated.
 *
 * It does not rely on the client's reconnecting: ioredis reports that it is back before it has subscribed
 * again, clusters do not report it at all, and an app's reconnect strategy can give up.
 */
export class Subscription {
  readonly #commands: RedisCommands;
  readonly #channel: string;
  readonly #onInvalidate: (key: string | undefined) => void;
  readonly #onState: (isListening: boolean) => void;
  readonly #times: SubscriptionTimes;
  /** Aborted when it is closed. */
  readonly #closing = new AbortController();
  /** Whether there was a time in which it did not listen. */
  #mayHaveMissed = false;
  #onListening: () => void = () => {};

  /** Settles when it listens for the first time, or is closed. Never rejects. */
  readonly listening: Promise<void>;

  constructor(
    commands: RedisCommands,
    channel: string,
    onInvalidate: (key: string | undefined) => void,
    onState: (isListening: boolean) => void = () => {},
    times: Partial<SubscriptionTimes> = {},
  ) {
    this.#onState = onState;
    onState(false);
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
    this.#closing.abort();
    this.#onListening();
  }

  async #run(): Promise<void> {
    const { firstWait, longestWait } = this.#times;
    const { signal } = this.#closing;
    let wait = firstWait;
    while (!signal.aborted) {
      // Why it ended does not matter: the app's own client reports the same trouble.
      const hasListened = await this.#listen().catch(() => false);
      this.#mayHaveMissed = true;
      wait = hasListened ? firstWait : Math.min(wait * 2, longestWait);
      // With jitter, so that the processes of a fleet do not all come at the same moment.
      await pause(wait * (0.5 + Math.random() / 2), signal);
    }
  }

  /** One connection, from its beginning to its end. Rejects when it never listened. */
  async #listen(): Promise<true> {
    const { patience, heartbeat } = this.#times;
    const lost = new AbortController();
    const onLost = (): void => lost.abort();
    const connection = await within(patience, () =>
      this.#commands.listener(this.#onMessage, onLost),
    );
    const close = (): void => {
      onLost();
      connection.close();
    };
    const closing = this.#closing.signal;
    if (closing.aborted) close();
    else closing.addEventListener('abort', close, { once: true });
    try {
      if (closing.aborted) return true;
      await within(patience, () => connection.open(this.#channel));
      if (this.#mayHaveMissed) this.#invalidate(undefined);
      this.#onState(true);
      this.#onListening();
      while (!lost.signal.aborted) {
        await pause(heartbeat, lost.signal);
        // A connection that a firewall has dropped looks like one without messages.
        if (!lost.signal.aborted) await within(patience, () => connection.ping()).catch(onLost);
      }
      return true;
    } finally {
      if (!closing.aborted) this.#onState(false);
      closing.removeEventListener('abort', close);
      connection.close();
    }
  }

  readonly #onMessage = (message: string): void => {
    const invalidation = decodeInvalidation(message);
    if (invalidation !== undefined) this.#invalidate(invalidation.key);
    else {
      reportUnreadable(this, 'RedisCache.subscribe', 'an invalidation, as this cache publishes it');
    }
  };

  #invalidate(key: string | undefined): void {
    // In the next turn: what the listener throws is not the connection's fault.
    queueMicrotask(() => {
      if (!this.#closing.signal.aborted) this.#onInvalidate(key);
    });
  }
}

/** A message for the channel: which key to forget, or without one all. */
export const encodeInvalidation = (key: string | undefined): string =>
  JSON.stringify({ v: 1, key });

/**
 * The key in a message, or `undefined` for all. A message of an unknown version invalidates something, so
 * it stands for all keys. Anything else is no message.
 */
export function decodeInvalidation(message: string): { key: string | undefined } | undefined {
  let parsed: unknown;
  try {
    parsed = JSON.parse(message);
  } catch {
    return undefined;
  }
  const { v, key } = (parsed ?? {}) as { v?: unknown; key?: unknown };
  if (typeof v !== 'number') return undefined;
  if (v !== 1) return { key: undefined };
  return key === undefined || typeof key === 'string' ? { key } : undefined;
}

/** Waits, or until the signal is aborted. It holds no process that has nothing else to do. */
function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      cancel();
      signal.removeEventListener('abort', end);
      resolve();
    };
    const cancel = later(milliseconds, end);
    if (signal.aborted) end();
    else signal.addEventListener('abort', end);
  });
}
