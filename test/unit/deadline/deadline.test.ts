import { MessageChannel } from 'node:worker_threads';
import { describe, expect, it, vi } from 'vitest';
import { NoAnswer, schedule, withTimeout } from '../../../src/deadline.js';
import { deferred } from '../../support/deferred.js';

it('what is to happen later does not keep the process alive', () => {
  const timers = vi.spyOn(globalThis, 'setTimeout');
  schedule(1, () => {});
  const [timer] = timers.mock.results.map(({ value }) => value as NodeJS.Timeout);
  expect(timer?.hasRef()).toBe(false);
});

describe('a limit of time', () => {
  it('gives the answer, or the failure, that came in time, and leaves no timer', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const fail = () => {
      throw new Error('no');
    };
    expect(await withTimeout(50, () => 'answer')).toBe('answer');
    await expect(withTimeout(50, fail)).rejects.toThrow('no');
    await expect(withTimeout(50, async () => fail())).rejects.toThrow('no');
    expect(vi.getTimerCount()).toBe(0);
  });

  it('ends the wait; the work may fail later', async () => {
    const work = deferred();
    await expect(withTimeout(5, () => work.promise)).rejects.toEqual(
      new NoAnswer('did not answer within 5 ms'),
    );
    // Vitest fails the run for a rejection that nobody listens to.
    work.reject(new Error('too late to matter'));
  });

  it('is not exceeded by an answer that arrived while the process was busy', async () => {
    const { port1, port2 } = new MessageChannel();
    const message = deferred<string>();
    port1.once('message', message.resolve);
    const answer = withTimeout(20, () => message.promise);
    port2.postMessage('answer');
    const end = performance.now() + 60;
    while (performance.now() < end);
    expect(await answer).toBe('answer');
    port1.close();
  });
});
