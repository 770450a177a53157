import { EventEmitter } from 'node:events';
import { RedisCache } from 'marketgate/redis';
import { beforeEach, expect, it, vi } from 'vitest';
import { deferred } from '../../support/deferred.js';
import { hearWarnings } from '../../support/warnings.js';
import { FakeNodeRedis } from './redis-fakes.js';

// What becomes of a subscription on the app's connection, step by step. With real servers: test/system/redis.

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));

/** A subscriber of node-redis whose answers the test gives. */
class Subscriber extends EventEmitter {
  isOpen = true;
  readonly questions: ReturnType<typeof deferred<unknown>>[] = [];
  readonly unsubscribe = vi.fn(async () => undefined);

  subscribe(): Promise<unknown> {
    const question = deferred<unknown>();
    this.questions.push(question);
    return question.promise;
  }

  /** Answers the questions that there are, and those that follow. */
  async answer(error?: Error): Promise<void> {
    while (this.questions.length > 0) {
      for (const { resolve, reject } of this.questions.splice(0)) {
        if (error === undefined) resolve(undefined);
        else reject(error);
      }
      await vi.advanceTimersByTimeAsync(0);
    }
  }
}

function begin() {
  const subscriber = new Subscriber();
  const reported: boolean[] = [];
  const client = new FakeNodeRedis().asClient;
  const cache = new RedisCache({ client, subscriber: subscriber as never });
  const subscription = cache.subscribe(
    () => {},
    (isListening) => reported.push(isListening),
  );
  return { subscriber, reported, subscription };
}

it('whatever happens to the connection, messages count as missed until the server has confirmed the subscription anew', async () => {
  const { subscriber, reported } = begin();
  expect(reported).toEqual([false]);
  await subscriber.answer();
  expect(reported).toEqual([false, true]);
  for (const event of ['reconnecting', 'ready', 'node-ready', '-node', 'topology-change']) {
    reported.length = 0;
    subscriber.emit(event);
    expect(reported, event).toEqual([false]);
    await subscriber.answer();
    expect(reported, event).toEqual([false, true]);
  }
  // An outage with a thousand events asks once.
  for (let n = 0; n < 1000; n++) subscriber.emit('error', new Error('down'));
  expect(subscriber.questions).toHaveLength(1);
});

it('a subscription that fails is tried again after ten seconds, or with the next event; it is reported once', async () => {
  const warnings = hearWarnings();
  const { subscriber, reported } = begin();
  for (let n = 0; n < 3; n++) {
    await subscriber.answer(new Error('NOPERM no channel'));
    subscriber.emit('ready');
    await subscriber.answer(new Error('NOPERM no channel'));
    await vi.advanceTimersByTimeAsync(9999);
    expect(subscriber.questions).toHaveLength(0);
    await vi.advanceTimersByTimeAsync(1);
    expect(subscriber.questions).toHaveLength(1);
  }
  expect(warnings).toEqual(['MARKETGATE_NO_INVALIDATIONS']);
  await subscriber.answer();
  expect(reported.at(-1)).toBe(true);
  expect(vi.getTimerCount()).toBe(0);
});

it('a subscription that has listened, and whose connection is closed, is not reported; after its end nothing of it is left', async () => {
  const warnings = hearWarnings();
  const { subscriber, reported, subscription } = begin();
  await subscriber.answer();
  const end = await subscription;
  subscriber.isOpen = false;
  subscriber.emit('end');
  await vi.advanceTimersByTimeAsync(60_000);
  expect(warnings).toEqual([]);
  subscriber.isOpen = true;
  subscriber.emit('ready');
  await end();
  reported.length = 0;
  await subscriber.answer();
  expect(reported).toEqual([]);
  expect(vi.getTimerCount()).toBe(0);
  expect(subscriber.eventNames()).toEqual([]);
  expect(subscriber.unsubscribe).toHaveBeenCalled();
});

// Node warns of a leak where an event has eleven listeners.
it.each([
  ['node-redis', { isOpen: true }],
  ['ioredis', { status: 'ready' }],
])(
  'any number of subscriptions share one listener of an event, which goes with the last: %s',
  async (_library, state) => {
    const subscriber = Object.assign(new EventEmitter(), state);
    const done = async () => undefined;
    Object.assign(subscriber, { subscribe: done, unsubscribe: done });
    const client = new FakeNodeRedis().asClient;
    const cache = new RedisCache({ client, subscriber: subscriber as never });
    const heard: string[] = [];
    const ends = [];
    for (const name of ['a', 'b']) {
      const subscription = cache.subscribe(
        (text) => heard.push(`${name} ${text}`),
        () => {},
      );
      ends.push(await subscription);
    }
    for (const event of subscriber.eventNames()) expect(subscriber.listenerCount(event)).toBe(1);
    await ends[0]?.();
    subscriber.emit('message', 'marketgate:cache:invalidate', 'x');
    expect(heard).toEqual('status' in state ? ['b x'] : []);
    await ends[1]?.();
    expect(subscriber.eventNames()).toEqual([]);
  },
);
