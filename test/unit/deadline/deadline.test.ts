import { MessageChannel } from 'node:worker_threads';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { Deadline, NoAnswer, schedule, wait, withTimeout } from '../../../src/deadline.js';
import { deferred } from '../../support/deferred.js';

it('a wait keeps the process alive, and what is to happen later does not', async () => {
  const timers = vi.spyOn(globalThis, 'setTimeout');
  schedule(1, () => {});
  await wait(1);
  const [task, waiting] = timers.mock.results.map(({ value }) => value as NodeJS.Timeout);
  expect([task?.hasRef(), waiting?.hasRef()]).toEqual([false, true]);
});

const never = () => new Promise<never>(() => {});

describe('with a fake clock', () => {
  beforeEach(() => {
    vi.useFakeTimers({
      toFake: ['setTimeout', 'clearTimeout', 'setImmediate', 'clearImmediate', 'performance'],
    });
  });

  describe('a deadline', () => {
    const open = (signal?: AbortSignal) => new Deadline(50, () => new Error('late'), signal);

    it('ends every wait of its call when the time has elapsed', async () => {
      const deadline = open();
      const waits = [deadline.race(never()), deadline.wait(60)].map((wait) =>
        wait.catch((error: Error) => error.message),
      );
      await vi.advanceTimersByTimeAsync(30);
      expect(deadline.remaining).toBe(20);
      await vi.advanceTimersByTimeAsync(21);
      expect(await Promise.all(waits)).toEqual(['late', 'late']);
      expect(deadline).toMatchObject({ aborted: true, isAbortedByCaller: false, remaining: 0 });
      await expect(deadline.race(never())).rejects.toThrow('late');
      expect(vi.getTimerCount()).toBe(0);
    });

    it('ends with the reason of its signal, and knows the difference', async () => {
      const leaving = new AbortController();
      const deadline = open(leaving.signal);
      const wait = expect(deadline.wait(10)).rejects.toThrow('left');
      leaving.abort(new Error('left'));
      await wait;
      expect(deadline.isAbortedByCaller).toBe(true);
      expect(open(leaving.signal)).toMatchObject({ aborted: true, isAbortedByCaller: true });
      expect(vi.getTimerCount()).toBe(0);
    });

    it('holds no timer once it is disposed of', async () => {
      const deadline = open();
      expect(await deadline.race(Promise.resolve('answer'))).toBe('answer');
      deadline.dispose();
      expect(vi.getTimerCount()).toBe(0);
    });
  });

  describe('a limit of time', () => {
    it('gives the answer, or the failure, that came in time', async () => {
      expect(await withTimeout(50, () => 'answer')).toBe('answer');
      const fail = () => {
        throw new Error('no');
      };
      await expect(withTimeout(50, fail)).rejects.toThrow('no');
      await expect(withTimeout(50, async () => fail())).rejects.toThrow('no');
      expect(vi.getTimerCount()).toBe(0);
    });

    it('ends the wait; the work may fail later', async () => {
      const work = deferred();
      const outcome = expect(withTimeout(50, () => work.promise)).rejects.toEqual(
        new NoAnswer('did not answer within 50 ms'),
      );
      await vi.advanceTimersByTimeAsync(60);
      await outcome;
      // Vitest fails the run for a rejection that nobody listens to.
      work.reject(new Error('too late to matter'));
    });
  });

  it('a task for later runs once, or not at all when it is cancelled', async () => {
    const [task, cancelled] = [vi.fn(), vi.fn()];
    schedule(50, task);
    schedule(50, cancelled)();
    await vi.advanceTimersByTimeAsync(100);
    expect(task).toHaveBeenCalledTimes(1);
    expect(cancelled).not.toHaveBeenCalled();
  });
});

it('an answer that arrived while the process was busy is not late', async () => {
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
