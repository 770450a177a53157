import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { sleep, withTimeout } from '../../deadline.js';
import type { RedisCommands, RedisSubscriber } from './clients.js';
import type { RedisConnection } from './connection.js';

/** The deadline of connecting and subscribing, in milliseconds. */
const CONNECT_TIMEOUT = 5000;
/** Milliseconds between two heartbeats, and the deadline of one. */
const HEARTBEAT = 1000;
/** The wait before another attempt, in milliseconds. */
const RETRY_WAIT = 200;

/**
 * Listens to a channel until the returned function is called, and reports whether messages arrive.
 *
 * Clients report most losses by events, but not that a firewall has dropped the connection, that the server is frozen,
 * or that a node has left its cluster. So it also listens to a channel of its own, to which it publishes a heartbeat
 * each second. It is listening as long as they arrive.
 *
 * @param redis with the app's client. Once that is closed, no connection is opened for it, and none stays.
 * @param given the app's `subscriber`, if there is one.
 */
export function subscribe(
  redis: RedisConnection,
  given: RedisCommands | undefined,
  channel: string,
  onMessage: (message: string) => void,
  onListening: (isListening: boolean) => void,
): () => void {
  const client = redis.commands;
  const subscriber = given ?? client;
  const heartbeatChannel = `${channel}:${randomUUID()}`;
  const ending = new AbortController();
  const ended = ending.signal;
  let onHeartbeat = (): void => {};
  const listeners = new Map([
    [channel, (message: string) => ended.aborted || onMessage(message)],
    [heartbeatChannel, () => onHeartbeat()],
  ]);

  let isListening = false;
  const report = (current: boolean): void => {
    if (ended.aborted || isListening === current) return;
    isListening = current;
    onListening(current);
  };

  /** Resolves when a message that is published now arrives. */
  const heartbeat = () =>
    new Promise<void>((resolve) => {
      onHeartbeat = resolve;
      redis.call('publish', ({ publish }) => publish(heartbeatChannel, '')).catch(() => {});
    });

  /** Listens on one connection until it is lost. Rejects when it cannot, or when a heartbeat does not arrive. */
  async function listen(): Promise<void> {
    const lost = new AbortController();
    const whenLost = once(lost.signal, 'abort');
    const over = AbortSignal.any([ended, lost.signal]);
    const onLost = (): void => {
      report(false);
      lost.abort();
    };
    let connection: RedisSubscriber | undefined;
    // When it is ended, it first waits until it has connected: node-redis cannot be closed while it connects.
    try {
      connection = await withTimeout(CONNECT_TIMEOUT, () =>
        subscriber.subscriber(listeners, given !== undefined, onLost),
      );
      await Promise.race([whenLost, withTimeout(CONNECT_TIMEOUT, connection.open)]);
      while (!over.aborted && !client.isClosed) {
        await Promise.race([whenLost, withTimeout(HEARTBEAT, heartbeat)]);
        if (!over.aborted) report(true);
        await sleep(HEARTBEAT, over);
      }
    } finally {
      connection?.close();
    }
  }

  async function run(): Promise<void> {
    while (!ended.aborted) {
      // The reason is not reported: the app's own client reports the same trouble.
      if (!client.isClosed) await listen().catch(() => {});
      report(false);
      // With jitter, so that not all processes reconnect at the same moment.
      await sleep(RETRY_WAIT * (0.5 + Math.random()), ended);
    }
  }

  onListening(false);
  void run();
  return () => ending.abort();
}
