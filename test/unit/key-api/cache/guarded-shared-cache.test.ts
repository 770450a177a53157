import { afterEach, describe, expect, it, vi } from 'vitest';
import {
  GuardedSharedCache,
  UNAVAILABLE,
} from '../../../../src/key-api/cache/guarded-shared-cache.js';
import { MemorySharedCache } from '../../../support/memory-shared-cache.js';

const never = (): Promise<never> => new Promise(() => {});
const down = (): Promise<never> => Promise.reject(new Error('down'));

/** Where a promise stands at a moment of fake time. */
async function standsAfter<T>(milliseconds: number, promise: Promise<T>): Promise<T | 'waiting'> {
  let outcome: T | 'waiting' = 'waiting';
  promise.then(
    (value) => {
      outcome = value;
    },
    () => {},
  );
  await vi.advanceTimersByTimeAsync(milliseconds);
  return outcome;
}

afterEach(() => {
  vi.useRealTimers();
});

describe('each call', () => {
  const calls: [string, (guarded: GuardedSharedCache) => Promise<unknown>, unknown][] = [
    ['get', (guarded) => guarded.get('a'), UNAVAILABLE],
    ['set', (guarded) => guarded.set('a', 'x', 5), false],
    ['delete', (guarded) => guarded.delete('a'), false],
    ['lock', (guarded) => guarded.lock('a', 5), UNAVAILABLE],
    ['publish', (guarded) => guarded.publish('a'), false],
  ];

  it.each(calls)('%s ends within 100 milliseconds, with no answer', async (method, call, none) => {
    vi.useFakeTimers();
    const shared = new MemorySharedCache();
    vi.spyOn(shared, method as 'get').mockImplementation(never);
    const called = call(new GuardedSharedCache(shared));
    expect(await standsAfter(98, called)).toBe('waiting');
    expect(await standsAfter(4, called)).toBe(none);
  });

  it.each(calls)('%s that fails, or throws, is no answer', async (method, call, none) => {
    const shared = new MemorySharedCache();
    const spy = vi.spyOn(shared, method as 'get').mockImplementation(down);
    expect(await call(new GuardedSharedCache(shared))).toBe(none);
    spy.mockImplementation(() => {
      throw new Error('down');
    });
    expect(await call(new GuardedSharedCache(shared))).toBe(none);
  });

  it.each(calls)('%s is made with what it was given, on the cache itself', async (_m, call) => {
    const shared = new MemorySharedCache();
    await shared.set('a', 'kept');
    const result = await call(new GuardedSharedCache(shared));
    expect(typeof result === 'function' ? await result() : result).not.toBe(UNAVAILABLE);
    expect(result).not.toBe(false);
  });

  it('passes on the name, the value and the life', async () => {
    const shared = new MemorySharedCache();
    const spies = (['get', 'set', 'delete', 'lock', 'publish'] as const).map((method) =>
      vi.spyOn(shared, method),
    );
    const guarded = new GuardedSharedCache(shared);
    for (const [, call] of calls) await call(guarded);
    expect(spies.map((spy) => spy.mock.calls)).toEqual([
      [['a']],
      [['a', 'x', 5]],
      [['a']],
      [['a', 5]],
      [['a']],
    ]);
  });

  it('is answered in time when the answer came while this process was busy', async () => {
    const shared = new MemorySharedCache();
    vi.spyOn(shared, 'get').mockImplementation(
      () => new Promise((resolve) => setImmediate(() => resolve('there'))),
    );
    const called = new GuardedSharedCache(shared).get('a');
    const busyUntil = performance.now() + 120;
    while (performance.now() < busyUntil);
    expect(await called).toBe('there');
  });
});

describe('a lock', () => {
  it('of a cache that has none cannot be had, and is not another’s', async () => {
    const shared = new MemorySharedCache();
    Object.assign(shared, { lock: undefined });
    const guarded = new GuardedSharedCache(shared);
    for (let i = 0; i < 10; i++) expect(await guarded.lock('a', 5)).toBe(UNAVAILABLE);
    // Nor is the cache taken to be down for it.
    shared.values.set('a', 'there');
    expect(await guarded.get('a')).toBe('there');
  });

  it('is given back once it is unlocked; another’s is undefined', async () => {
    const shared = new MemorySharedCache();
    const guarded = new GuardedSharedCache(shared);
    const unlock = await guarded.lock('a', 5);
    expect(shared.locks.size).toBe(1);
    expect(await guarded.lock('a', 5)).toBeUndefined();
    await (unlock as () => Promise<void>)();
    expect(shared.locks.size).toBe(0);
  });

  it('that cannot be given back is no error', async () => {
    const shared = new MemorySharedCache();
    vi.spyOn(shared, 'lock').mockResolvedValue(down);
    const unlock = await new GuardedSharedCache(shared).lock('a', 5);
    await expect((unlock as () => Promise<void>)()).resolves.toBeUndefined();
  });
});

describe('a cache that keeps failing', () => {
  it('is left alone for half a second, then twice as long each time, five seconds at most', async () => {
    vi.useFakeTimers();
    const shared = new MemorySharedCache();
    const get = vi.spyOn(shared, 'get').mockImplementation(down);
    const guarded = new GuardedSharedCache(shared);
    for (let i = 0; i < 10; i++) expect(await guarded.get('a')).toBe(UNAVAILABLE);
    expect(get).toHaveBeenCalledTimes(5);
    for (const rest of [500, 1000, 2000, 4000, 5000, 5000]) {
      get.mockClear();
      await vi.advanceTimersByTimeAsync(rest - 1);
      await guarded.get('a');
      expect(get).not.toHaveBeenCalled();
      await vi.advanceTimersByTimeAsync(1);
      await Promise.all([guarded.get('a'), guarded.get('a')]);
      expect(get).toHaveBeenCalledTimes(1);
    }
    get.mockClear();
    get.mockResolvedValue('there');
    await vi.advanceTimersByTimeAsync(5000);
    expect(await guarded.get('a')).toBe('there');
    expect(await guarded.get('a')).toBe('there');
    expect(get).toHaveBeenCalledTimes(2);
  });
});

describe('a subscription', () => {
  it('is begun once, and closed once', async () => {
    const shared = new MemorySharedCache();
    const guarded = new GuardedSharedCache(shared);
    expect(guarded.isSubscribed).toBe(false);
    const heard = vi.fn();
    await Promise.all([guarded.subscribe(heard), guarded.subscribe(heard)]);
    expect(guarded.isSubscribed).toBe(true);
    expect(shared.listeners).toBe(1);
    await guarded.publish('x');
    expect(heard.mock.calls).toEqual([['x']]);
    await guarded.close();
    expect(shared.listeners).toBe(0);
    await guarded.subscribe(heard);
    expect(shared.listeners).toBe(0);
    await guarded.close();
  });

  it('is nothing to do for a cache without messages, and publishing there is done', async () => {
    const shared = Object.assign(new MemorySharedCache(), {
      subscribe: undefined,
      publish: undefined,
    });
    const guarded = new GuardedSharedCache(shared as never);
    expect(guarded.isSubscribed).toBe(true);
    await guarded.subscribe(() => {});
    expect(await guarded.publish('x')).toBe(true);
    await guarded.close();
  });

  it.each([
    ['rejects', down],
    [
      'throws',
      () => {
        throw new Error('down');
      },
    ],
  ])('that %s is begun anew with the next call', async (_name, fails) => {
    const shared = new MemorySharedCache();
    vi.spyOn(shared, 'subscribe').mockImplementationOnce(fails);
    const guarded = new GuardedSharedCache(shared);
    await guarded.subscribe(() => {});
    expect(guarded.isSubscribed).toBe(false);
    await guarded.close();
    const other = new GuardedSharedCache(shared);
    vi.mocked(shared.subscribe).mockImplementationOnce(fails);
    await other.subscribe(() => {});
    await other.subscribe(() => {});
    expect(other.isSubscribed).toBe(true);
    expect(shared.listeners).toBe(1);
  });

  it('that takes long is waited for 100 milliseconds, and goes on', async () => {
    vi.useFakeTimers();
    const shared = new MemorySharedCache();
    const { subscribe } = MemorySharedCache.prototype;
    vi.spyOn(shared, 'subscribe').mockImplementation(async (listener) => {
      await new Promise((resolve) => setTimeout(resolve, 300));
      return subscribe.call(shared, listener);
    });
    const guarded = new GuardedSharedCache(shared);
    const subscribed = guarded.subscribe(() => {}).then(() => 'begun');
    expect(await standsAfter(99, subscribed)).toBe('waiting');
    expect(await standsAfter(2, subscribed)).toBe('begun');
    expect(guarded.isSubscribed).toBe(true);
    await vi.advanceTimersByTimeAsync(200);
    expect(shared.listeners).toBe(1);
    await guarded.close();
    expect(shared.listeners).toBe(0);
  });

  it.each([
    ['hangs', never],
    ['fails', down],
  ])('whose end %s does not hold close up for long', async (_name, end) => {
    vi.useFakeTimers();
    const shared = new MemorySharedCache();
    vi.spyOn(shared, 'subscribe').mockResolvedValue(end);
    const guarded = new GuardedSharedCache(shared);
    await guarded.subscribe(() => {});
    expect(
      await standsAfter(
        101,
        guarded.close().then(() => 'closed'),
      ),
    ).toBe('closed');
  });

  it('that gave nothing to end it with is left as it is', async () => {
    const shared = new MemorySharedCache();
    vi.spyOn(shared, 'subscribe').mockResolvedValue(undefined as never);
    const guarded = new GuardedSharedCache(shared);
    await guarded.subscribe(() => {});
    await expect(guarded.close()).resolves.toBeUndefined();
  });
});
