import type { SharedCache } from 'marketgate';
import { describeSharedCache } from 'marketgate/testing';
import { expect, it, vi } from 'vitest';
import { MemorySharedCache } from '../../support/memory-shared-cache.js';
import { brokenRows, collector, HandClock } from '../stores/support.js';

/** Replaces some methods of a cache, whose own ones `inner` has. */
type Break = (inner: MemorySharedCache, clock: () => number) => Partial<SharedCache>;

/** The same cache, with some methods replaced. */
const linkTo = (inner: MemorySharedCache, others: Partial<SharedCache>): SharedCache => ({
  read: (key) => inner.read(key),
  write: (...given) => inner.write(...given),
  delete: (key) => inner.delete(key),
  lock: (...given) => inner.lock(...given),
  publish: (message) => inner.publish(message),
  subscribe: (...given) => inner.subscribe(...given),
  ...others,
});

/** Runs the suite, in no time, on caches with some methods replaced; gives the names of failed tests. */
async function failuresOf(breakIt: Break, isShared = true): Promise<string[]> {
  const { runner, failures } = collector();
  const make = () => {
    const { clock, advance } = new HandClock();
    const cacheOn = (inner: MemorySharedCache) => linkTo(inner, breakIt(inner, clock));
    const inner = new MemorySharedCache(clock);
    const peer = cacheOn(isShared ? inner : new MemorySharedCache(clock));
    return { cache: cacheOn(inner), peer, clock, advance };
  };
  describeSharedCache('a cache', make, runner);
  vi.useFakeTimers();
  const failed = failures();
  await vi.advanceTimersByTimeAsync(5000);
  return failed;
}

it('the suite passes a cache that keeps the whole contract', async () => {
  expect(await failuresOf(() => ({}))).toEqual([]);
});

it('the suite fails a cache that keeps its rows from other processes', async () => {
  const failed = await failuresOf(() => ({}), false);
  expect(failed).toContain('reads what was written, here and in another process');
});

/** A cache whose keys are stored in another form. */
const withKeys =
  (change: (key: string) => string): Break =>
  (inner) => ({
    read: (key) => inner.read(change(key)),
    write: (key, ...rest) => inner.write(change(key), ...rest),
    delete: (key) => inner.delete(change(key)),
  });

/** By the test that must fail: what is broken, and how. */
const BROKEN: Record<string, Record<string, Break>> = {
  'reads what was written, here and in another process': {
    'gives null for no value': (inner) => ({
      read: async (key) => ({ ...(await inner.read(key)), value: null as never }),
    }),
  },
  'keeps keys apart, to their last character': {
    'ignores the case of keys': withKeys((key) => key.toLowerCase()),
  },
  'keeps the later of two writes, however they arrive': {
    'keeps the last write': ({ rows }, clock) => ({
      async write(key, value, ttl, order) {
        rows.set(key, { value, order, expiresAt: clock() + ttl });
        return true;
      },
    }),
    'lets an equal order win': (inner) => ({
      async write(...row) {
        if ((await inner.read(row[0])).order === row[3]) await inner.delete(row[0]);
        return inner.write(...row);
      },
    }),
  },
  'decides in one step between 50 writes at once': {
    'reads first and writes then': ({ rows }, clock) => ({
      async write(key, value, ttl, order) {
        if ((rows.get(key)?.order ?? 0) >= order) return false;
        for (let turn = (order * 37) % 11; turn > 0; turn--) await new Promise(setImmediate);
        rows.set(key, { value, order, expiresAt: clock() + ttl });
        return true;
      },
    }),
  },
  'deletes a row with its order, and nothing without an error': {
    'deletes nothing': () => ({ delete: async () => {} }),
  },
  'forgets a row after its ttl': {
    'never expires a row': (inner) => ({
      write: (key, value, _ttl, order) => inner.write(key, value, Infinity, order),
    }),
  },
  'gives a lock to one of 50 that ask at once, until it is released': {
    'reads first and locks then': ({ locks }, clock) => ({
      async lock(key, ttl) {
        if ((locks.get(key) ?? 0) > clock()) return undefined;
        await Promise.resolve();
        locks.set(key, clock() + ttl);
        return async () => void locks.delete(key);
      },
    }),
  },
  'releases a lock after its ttl': {
    "releases another's lock": (inner) => ({
      lock: async (key, ttl) =>
        (await inner.lock(key, ttl)) && (async () => void inner.locks.delete(key)),
    }),
  },
  'publishes each message to all subscriptions, until their end': {
    'goes on after the end of a subscription': (inner) => ({
      async subscribe(...given) {
        await inner.subscribe(...given);
        return async () => {};
      },
    }),
  },
  'gives all processes one time in microseconds, which never goes back': {
    'gives a time that goes back': (inner) => {
      let reads = 0;
      return {
        async read(key) {
          const row = await inner.read(key);
          return { ...row, now: row.now - reads++ * 10 };
        },
      };
    },
  },
};

it.each(brokenRows(BROKEN))('the suite fails a cache that %s', async (_what, test, breakIt) => {
  expect(await failuresOf(breakIt)).toContain(test);
});
