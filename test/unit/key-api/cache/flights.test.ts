import { describe, expect, it, vi } from 'vitest';
import { abortable } from '../../../../src/key-api/cache/abortable.js';
import { type Answered, Flights } from '../../../../src/key-api/cache/flights.js';

const settle = (): Promise<void> => new Promise(setImmediate);

/** Questions whose answers the test gives, and what of them was kept. */
function questions() {
  const flights = new Flights<string>();
  const kept: string[] = [];
  const ask = (key: string) => {
    let end: ((value: string | Error) => void) | undefined;
    const answered = new Promise<Answered<string>>((resolve, reject) => {
      end = (value) => (value instanceof Error ? reject(value) : resolve({ value, at: 1 }));
    });
    const promise = flights.start(
      key,
      () => answered,
      (answer, isOutdated) => {
        kept.push(`${answer.value}${isOutdated ? ' (outdated)' : ''}`);
        return answer;
      },
    );
    promise.catch(() => {});
    return {
      promise,
      answer: async (value: string | Error) => {
        end?.(value);
        await settle();
      },
    };
  };
  return { flights, kept, ask };
}

describe('questions under way', () => {
  it('are found by their key until they are answered, or fail', async () => {
    const { flights, ask } = questions();
    const one = ask('a');
    const other = ask('b');
    expect(flights.find('a')).toBe(one.promise);
    expect(flights.find('c')).toBeUndefined();
    expect(flights.size).toBe(2);
    await one.answer('yes');
    expect(flights.find('a')).toBeUndefined();
    await other.answer(new Error('down'));
    expect(flights.find('b')).toBeUndefined();
    expect(flights.size).toBe(0);
  });

  it('about the same: the newest is found, also when an older one ends', async () => {
    const { flights, ask } = questions();
    const old = ask('a');
    const newer = ask('a');
    expect(flights.find('a')).toBe(newer.promise);
    await old.answer('old');
    expect(flights.find('a')).toBe(newer.promise);
    await newer.answer('new');
    expect(flights.size).toBe(0);
  });
});

describe('an answer is outdated', () => {
  it('by one that was asked for later, and never by one that was asked for before', async () => {
    const { kept, ask } = questions();
    const [first, second, third] = [ask('a'), ask('a'), ask('a')];
    await second.answer('second');
    await first.answer('first');
    await third.answer('third');
    expect(kept).toEqual(['second', 'first (outdated)', 'third']);
  });

  it('by the last of many, all of them', async () => {
    const { kept, ask } = questions();
    const [first, second, third] = [ask('a'), ask('a'), ask('a')];
    await third.answer('third');
    await second.answer('second');
    await first.answer('first');
    expect(kept).toEqual(['third', 'second (outdated)', 'first (outdated)']);
  });

  it('by no failure, and by no answer that is outdated itself', async () => {
    const { kept, ask } = questions();
    const [first, second, third] = [ask('a'), ask('a'), ask('a')];
    await third.answer(new Error('down'));
    await second.answer('second');
    await first.answer('first');
    expect(kept).toEqual(['second', 'first (outdated)']);
  });

  it('by what was forgotten under another key: not', async () => {
    const { flights, kept, ask } = questions();
    const [one, other] = [ask('a'), ask('b')];
    flights.forget('a');
    flights.forget('c');
    expect(flights.find('a')).toBeUndefined();
    expect(flights.find('b')).toBe(other.promise);
    await one.answer('one');
    await other.answer('other');
    expect(kept).toEqual(['one (outdated)', 'other']);
  });

  it('when all is forgotten, with the older ones about the same', async () => {
    const { flights, kept, ask } = questions();
    const all = [ask('a'), ask('a'), ask('b')];
    flights.forget();
    expect(flights.size).toBe(0);
    const after = ask('a');
    for (const each of all) await each.answer('before');
    expect(flights.find('a')).toBe(after.promise);
    await after.answer('after');
    expect(kept).toEqual(['before (outdated)', 'before (outdated)', 'before (outdated)', 'after']);
  });

  it('and does not outdate what was asked for before it was forgotten', async () => {
    const { flights, kept, ask } = questions();
    const first = ask('a');
    flights.forget('a');
    const second = ask('a');
    await second.answer('second');
    await first.answer('first');
    expect(kept).toEqual(['second', 'first (outdated)']);
  });
});

describe('who waits', () => {
  it('without a signal waits for the very promise', () => {
    const promise = Promise.resolve(1);
    expect(abortable(promise, undefined)).toBe(promise);
  });

  it('gets the answer, and the failure', async () => {
    const { signal } = new AbortController();
    expect(await abortable(Promise.resolve(1), signal)).toBe(1);
    await expect(abortable(Promise.reject(new Error('down')), signal)).rejects.toThrow('down');
  });

  it('with a signal that is aborted leaves at once, with its reason', async () => {
    const signal = AbortSignal.abort(new Error('left'));
    const listened = vi.spyOn(signal, 'addEventListener');
    await expect(abortable(Promise.resolve(1), signal)).rejects.toThrow('left');
    expect(listened).not.toHaveBeenCalled();
  });

  it('leaves with the reason of the signal, and leaves no listener behind either way', async () => {
    for (const end of ['abort', 'answer'] as const) {
      const controller = new AbortController();
      const { signal } = controller;
      const added = vi.spyOn(signal, 'addEventListener');
      const removed = vi.spyOn(signal, 'removeEventListener');
      let resolve: (value: number) => void = () => {};
      const promise = new Promise<number>((r) => {
        resolve = r;
      });
      const waiting = abortable(promise, signal);
      if (end === 'abort') {
        controller.abort(new Error('left'));
        await expect(waiting).rejects.toThrow('left');
      }
      resolve(7);
      if (end === 'answer') expect(await waiting).toBe(7);
      await settle();
      expect(added.mock.calls).toEqual([['abort', expect.any(Function), { once: true }]]);
      expect(removed.mock.calls).toEqual([['abort', added.mock.calls[0]?.[1]]]);
    }
  });
});
