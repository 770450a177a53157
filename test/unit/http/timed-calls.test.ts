import { MessageChannel } from 'node:worker_threads';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { TimedCalls, TooLate, TooMany } from '../../../src/http/timed-calls.js';

const never = () => new Promise<never>(() => {});

describe('calls with one time for all', () => {
  beforeEach(() => {
    vi.useFakeTimers({
      toFake: ['setTimeout', 'clearTimeout', 'setImmediate', 'clearImmediate', 'performance'],
    });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it('give the answer, or the failure, that came in time', async () => {
    const calls = new TimedCalls(50);
    expect(await calls.run(async () => 'answer')).toBe('answer');
    await expect(calls.run(() => Promise.reject(new Error('no')))).rejects.toThrow('no');
  });

  it('end each after its own time, with one timer between them', async () => {
    const calls = new TimedCalls(50);
    const ended: string[] = [];
    const begin = (name: string) =>
      calls.run(never).catch((error: unknown) => {
        expect(error).toBeInstanceOf(TooLate);
        ended.push(name);
      });
    void begin('first');
    await vi.advanceTimersByTimeAsync(30);
    void begin('second');
    expect(vi.getTimerCount()).toBe(1);
    await vi.advanceTimersByTimeAsync(22);
    expect(ended).toEqual(['first']);
    expect(vi.getTimerCount()).toBe(1);
    await vi.advanceTimersByTimeAsync(30);
    expect(ended).toEqual(['first', 'second']);
    expect(vi.getTimerCount()).toBe(0);
    void begin('third');
    await vi.advanceTimersByTimeAsync(52);
    expect(ended).toEqual(['first', 'second', 'third']);
  });

  it('know when nobody waits for them any more, and may fail then', async () => {
    const calls = new TimedCalls(50);
    let fail: (error: Error) => void = () => {};
    let isOver = () => false;
    const call = calls.run((own) => {
      isOver = () => own.isOver;
      return new Promise<never>((_, reject) => {
        fail = reject;
      });
    });
    const outcome = expect(call).rejects.toBeInstanceOf(TooLate);
    expect(isOver()).toBe(false);
    await vi.advanceTimersByTimeAsync(60);
    await outcome;
    expect(isOver()).toBe(true);
    // Vitest fails the run for a rejection that nobody listens to.
    fail(new Error('too late to matter'));
  });

  it('are refused when too many are unanswered, until some are answered', async () => {
    const calls = new TimedCalls(50);
    const answers: (() => void)[] = [];
    const slow = () => new Promise<void>((resolve) => answers.push(resolve));
    const outcomes = Array.from({ length: 10_000 }, () => calls.run(slow).catch(() => {}));
    await vi.advanceTimersByTimeAsync(60);
    await Promise.all(outcomes);
    await expect(calls.run(async () => 'answer')).rejects.toBeInstanceOf(TooMany);
    for (const answer of answers) answer();
    await vi.advanceTimersByTimeAsync(0);
    expect(await calls.run(async () => 'answer')).toBe('answer');
  });
});

it('an answer that lies there after a long turn is not called late', async () => {
  const calls = new TimedCalls(20);
  const { port1, port2 } = new MessageChannel();
  const answer = calls.run(
    () =>
      new Promise<string>((resolve) => {
        port1.once('message', resolve);
      }),
  );
  port2.postMessage('answer');
  const end = performance.now() + 60;
  while (performance.now() < end);
  expect(await answer).toBe('answer');
  port1.close();
});
