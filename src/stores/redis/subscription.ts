import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { sleep, withTimeout } from '../../deadline.js';
import type { RedisCommands, RedisSubscriber } from './clients.js';

/** The deadline of connecting and subscribing, in milliseconds. */
const CONNECT_TIMEOUT = 5000;
/** Milliseconds between two heartbeats, and the deadline of one. */
const HEARTBEAT = 1000;
/** The wait before another attempt, in milliseconds. */
const RETRY_WAIT = 200;

/** What a {@link Subscription} needs of its cache. */
interface Source {
  /** The app's client. Once it is closed, no connection is opened for it, and none stays. */
  readonly client: RedisCommands;
  /** The app's `subscriber`, if there is one. */
  readonly subscriber: RedisCommands | undefined;
  readonly channel: string;
  /** Publishes an empty message to a channel. */
  publish(channel: string): Promise<unknown>;
}

/**
 * Listens to a channel until it is closed, and reports whether messages arrive.
 *
 * Clients report most losses by events, but not that a firewall has dropped the connection, that the server is frozen,
 * or that a node has left its cluster. So it also listens to a channel of its own, to which it publishes a heartbeat
 * each second. It is listening as long as they arrive.
 */
export class Subscription {
  readonly #listeners: ReadonlyMap<string, (message: string) => void>;
  readonly #heartbeatChannel: string;
  /** Aborted when it is closed. */
  readonly #closing = new AbortController();
  #isListening = false;
  #onHeartbeat = (): void => {};

  constructor(
    private readonly source: Source,
    onMessage: (message: string) => void,
    private readonly onListening: (isListening: boolean) => void,
  ) {
    this.#heartbeatChannel = `${source.channel}:${randomUUID()}`;
    this.#listeners = new Map([
      [source.channel, (message) => this.#closing.signal.aborted || onMessage(message)],
      [this.#heartbeatChannel, () => this.#onHeartbeat()],
    ]);
    onListening(false);
    void this.#run();
  }

  /** Ends the subscription, and its connection unless that is the app's. */
  close(): void {
    this.#closing.abort();
  }

  async #run(): Promise<void> {
    const { signal } = this.#closing;
    while (!signal.aborted) {
      // The reason is not reported: the app's own client reports the same trouble.
      if (this.source.client.state !== 'closed') await this.#listen().catch(() => {});
      this.#report(false);
      // With jitter, so that not all processes reconnect at the same moment.
      await sleep(RETRY_WAIT * (0.5 + Math.random()), signal);
    }
  }

  /** Listens on one connection until it is lost. Rejects when it cannot, or when a heartbeat does not arrive. */
  async #listen(): Promise<void> {
    const { client, subscriber = client } = this.source;
    const lost = new AbortController();
    const whenLost = once(lost.signal, 'abort');
    const over = AbortSignal.any([this.#closing.signal, lost.signal]);
    const isOver = () => over.aborted || client.state === 'closed';
    const onLost = (): void => {
      this.#report(false);
      lost.abort();
    };
    let connection: RedisSubscriber | undefined;
    // When it is closed, it first waits until it has connected: node-redis cannot be closed while it connects.
    try {
      connection = await withTimeout(CONNECT_TIMEOUT, () =>
        subscriber.subscriber(this.#listeners, subscriber !== client, onLost),
      );
      await Promise.race([whenLost, withTimeout(CONNECT_TIMEOUT, connection.open)]);
      while (!isOver()) {
        await Promise.race([whenLost, withTimeout(HEARTBEAT, () => this.#heartbeat())]);
        if (isOver()) return;
        this.#report(true);
        await sleep(HEARTBEAT, over);
      }
    } finally {
      connection?.close(this.#closing.signal.aborted);
    }
  }

  /** Resolves when a message that is published now arrives. */
  #heartbeat(): Promise<void> {
    return new Promise((resolve) => {
      this.#onHeartbeat = resolve;
      const publish = () => this.source.publish(this.#heartbeatChannel);
      // Again, because a client of a cluster can have sent it to a node that is down.
      publish()
        .catch(publish)
        .catch(() => {});
    });
  }

  #report(isListening: boolean): void {
    if (this.#closing.signal.aborted || this.#isListening === isListening) return;
    this.#isListening = isListening;
    this.onListening(isListening);
  }
}
