import { EventEmitter } from 'node:events';
import { RedisCache, type RedisClient } from 'marketgate/redis';
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
  async answer(with_: 'yes' | Error = 'yes'): Promise<void> {
    while (this.questions.length > 0) {
      for (const { resolve, reject } of this.questions.splice(0)) {
        if (with_ === 'yes') resolve(undefined);
        else reject(with_);
      }
      await vi.advanceTimersByTimeAsync(0);
    }
  }
}

async function begin() {
  const subscriber = new Subscriber();
  const reported: boolean[] = [];
  const given = { client: new FakeNodeRedis().asClient, subscriber: subscriber as never };
  const cache = new RedisCache(given as { client: RedisClient; subscriber: RedisClient });
  const subscription = cache.subscribe(
    () => {},
    (isListening) => reported.push(isListening),
  );
  return { subscriber, reported, subscription };
}

it('whatever happens to the connection, messages count as missed until the server has confirmed it anew', async () => {
  const { subscriber, reported } = await begin();
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
});

it('an outage with a thousand events asks once', async () => {
  const { subscriber, reported } = await begin();
  await subscriber.answer();
  for (let n = 0; n < 1000; n++) subscriber.emit('error', new Error('down'));
  expect(subscriber.questions).toHaveLength(1);
  await subscriber.answer();
  expect(reported.at(-1)).toBe(true);
});

it('one that fails is tried again after ten seconds, and not before; it is reported once', async () => {
  const warnings = hearWarnings();
  const { subscriber, reported } = await begin();
  for (let n = 0; n < 3; n++) {
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

it('an event takes the place of the timer', async () => {
  const { subscriber } = await begin();
  await subscriber.answer(new Error('down'));
  for (let n = 0; n < 5; n++) {
    subscriber.emit('ready');
    await subscriber.answer(new Error('down'));
  }
  expect(vi.getTimerCount()).toBe(1);
});

it('one that has listened, and whose connection is closed, is not reported', async () => {
  const warnings = hearWarnings();
  const { subscriber, subscription } = await begin();
  await subscriber.answer();
  subscriber.isOpen = false;
  subscriber.emit('end');
  await vi.advanceTimersByTimeAsync(60_000);
  expect(warnings).toEqual([]);
  await (await subscription)();
  expect(vi.getTimerCount()).toBe(0);
});

it('after its end nothing is asked or reported, and no listener stays', async () => {
  const { subscriber, reported, subscription } = await begin();
  await subscriber.answer();
  const end = await subscription;
  subscriber.emit('ready');
  await end();
  reported.length = 0;
  await subscriber.answer();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(reported).toEqual([]);
  expect(subscriber.eventNames()).toEqual([]);
  expect(subscriber.unsubscribe).toHaveBeenCalled();
});
