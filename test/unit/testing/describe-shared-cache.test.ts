import type { SharedCache, SharedRow } from 'marketgate';
import { describeSharedCache } from 'marketgate/testing';
import { expect, it, vi } from 'vitest';
import { brokenRows, collector, HandClock } from '../stores/support.js';

/** The server that several caches share. */
class Backend {
  readonly values = new Map<string, { value: string; end: number; order: number }>();
  readonly locks = new Map<string, { owner: symbol; end: number }>();
  readonly listeners = new Set<(key: string | undefined) => void>();
  ticks = 0;
  constructor(readonly clock: () => number) {}
}

/** A cache that keeps the contract; tests break it in one point at a time. */
class Reference implements SharedCache {
  constructor(public backend: Backend) {}

  async get(key: string): Promise<string | undefined> {
    return (await Reference.prototype.read.call(this, key)).value;
  }
  async set(key: string, value: string, ttl: number): Promise<void> {
    this.backend.values.set(key, { value, end: this.backend.clock() + ttl, order: 0 });
  }
  async delete(key: string): Promise<void> {
    this.backend.values.delete(key);
  }
  async lock(key: string, ttl: number): Promise<(() => Promise<void>) | undefined> {
    const { locks, clock } = this.backend;
    if ((locks.get(key)?.end ?? 0) > clock()) return undefined;
    const owner = Symbol(key);
    locks.set(key, { owner, end: clock() + ttl });
    return async () => {
      if (locks.get(key)?.owner === owner) locks.delete(key);
    };
  }
  async subscribe(onInvalidate: (key: string | undefined) => void): Promise<() => Promise<void>> {
    this.backend.listeners.add(onInvalidate);
    return async () => void this.backend.listeners.delete(onInvalidate);
  }
  async publish(key: string | undefined): Promise<void> {
    for (const listener of this.backend.listeners) void Promise.resolve().then(() => listener(key));
  }
  async read(key: string): Promise<SharedRow> {
    const { values, clock } = this.backend;
    const now = clock() * 1000 + this.backend.ticks++;
    const row = values.get(key);
    if (row === undefined || row.end <= clock()) return { value: undefined, order: 0, ttl: 0, now };
    return { value: row.value, order: row.order, ttl: row.end - clock(), now };
  }
  async write(key: string, value: string, ttl: number, order: number): Promise<boolean> {
    if ((await this.read(key)).order >= order) return false;
    const { values, clock } = this.backend;
    // Decided again in the same turn as the write, as in one step of a server.
    if ((values.get(key)?.order ?? 0) >= order) return false;
    values.set(key, { value, end: clock() + ttl, order });
    return true;
  }
}

/** Replaces some methods of a cache, whose own ones `inner` has. */
type Break = (inner: Reference) => { [K in keyof SharedCache]?: SharedCache[K] | undefined };

/** Runs the suite, in no time, on caches with some methods replaced; gives the names of failed tests. */
async function failuresOf(breakIt: Break, isShared = true): Promise<string[]> {
  const { runner, failures } = collector();
  const make = () => {
    const { clock, advance } = new HandClock();
    const backend = new Backend(clock);
    const cacheOn = (each: Backend) =>
      Object.assign(new Reference(each), breakIt(new Reference(each))) as SharedCache;
    const peer = cacheOn(isShared ? backend : new Backend(clock));
    return { cache: cacheOn(backend), peer, clock, advance };
  };
  describeSharedCache('a cache', make, runner);
  vi.useFakeTimers();
  const failed = failures();
  await vi.advanceTimersByTimeAsync(5000);
  return failed;
}

const without =
  (...methods: string[]): Break =>
  () =>
    Object.fromEntries(methods.map((method) => [method, undefined]));

it.each<[string, Break]>([
  ['keeps the whole contract', without()],
  ['has no optional method', without('lock', 'subscribe', 'publish', 'read', 'write')],
  ['has no order', without('read', 'write')],
])('the suite passes a cache that %s', async (_what, breakIt) => {
  expect(await failuresOf(breakIt)).toEqual([]);
});

it('the suite fails a cache that keeps its values from other processes', async () => {
  const failed = await failuresOf(without(), false);
  expect(failed).toContain('gives back the last value set, here and in another process');
});

/** A cache whose keys are stored in another form. */
const withKeys =
  (change: (key: string) => string): Break =>
  (inner) => ({
    get: (key) => inner.get(change(key)),
    set: (key, value, ttl) => inner.set(change(key), value, ttl),
    delete: (key) => inner.delete(change(key)),
  });

/** By the test that must fail: what is broken, and how. */
const BROKEN: Record<string, Record<string, Break>> = {
  'gives back the last value set, here and in another process': {
    'gives undefined for an empty string': (inner) => ({
      get: async (key) => (await inner.get(key)) || undefined,
    }),
  },
  'keeps keys apart, to their last character': {
    'cuts keys to 36 characters': withKeys((key) => key.slice(0, 36)),
    'cuts keys to 42 characters': withKeys((key) => key.slice(0, 42)),
    'ignores the case of keys': withKeys((key) => key.toLowerCase()),
  },
  'forgets a value after its ttl': {
    'never expires a value': (inner) => ({ set: (key, value) => inner.set(key, value, Infinity) }),
  },
  'gives a lock to one, until it is released': {
    'gives a lock to everybody': () => ({ lock: async () => async () => {} }),
  },
  'gives a lock to one of 50 that ask at once': {
    'reads first and locks then': ({ backend: { locks, clock } }) => ({
      async lock(key, ttl) {
        if ((locks.get(key)?.end ?? 0) > clock()) return undefined;
        await Promise.resolve();
        locks.set(key, { owner: Symbol(key), end: clock() + ttl });
        return async () => void locks.delete(key);
      },
    }),
  },
  'releases a lock after its ttl': {
    "releases another's lock": (inner) => ({
      lock: async (key, ttl) =>
        (await inner.lock(key, ttl)) && (async () => void inner.backend.locks.delete(key)),
    }),
    'locks for ever': (inner) => ({ lock: (key) => inner.lock(key, Infinity) }),
  },
  'publishes a key, or all keys, to every process': {
    'publishes all keys as one': (inner) => ({ publish: (key) => inner.publish(key ?? '') }),
    'cuts messages at 64': (inner) => ({ publish: (key) => inner.publish(key?.slice(0, 64)) }),
    'changes capitals': (inner) => ({ publish: (key) => inner.publish(key?.toLowerCase()) }),
    'has subscribe without publish': without('publish'),
  },
  'ends one subscription and no other': {
    'goes on after the end of a subscription': (inner) => ({
      async subscribe(onInvalidate) {
        await inner.subscribe(onInvalidate);
        return async () => {};
      },
    }),
  },
  'keeps the later of two writes, however they arrive': {
    'keeps the last write': ({ backend }) => ({
      async write(key, value, ttl, order) {
        backend.values.set(key, { value, order, end: backend.clock() + ttl });
        return true;
      },
    }),
  },
  'decides in one step between 50 writes at once': {
    'reads first and writes then': ({ backend: { values, clock } }) => ({
      async write(key, value, ttl, order) {
        if ((values.get(key)?.order ?? 0) >= order) return false;
        await new Promise((resolve) => setTimeout(resolve, (order * 37) % 11));
        values.set(key, { value, order, end: clock() + ttl });
        return true;
      },
    }),
  },
  'gives all processes one time, which never goes back': {
    'gives a time that goes back': (inner) => ({
      async read(key) {
        const row = await inner.read(key);
        return { ...row, now: row.now - inner.backend.ticks * 10 };
      },
    }),
  },
  'counts the time in microseconds': {
    'gives milliseconds': (inner) => ({
      async read(key) {
        const row = await inner.read(key);
        return { ...row, now: Math.round(row.now / 1000) };
      },
    }),
    'gives nanoseconds': (inner) => ({
      async read(key) {
        const row = await inner.read(key);
        return { ...row, now: (row.now - 1_799_999_999_000_000) * 1000 };
      },
    }),
    'gives one time': (inner) => ({
      read: async (key) => ({ ...(await inner.read(key)), now: 1 }),
    }),
  },
};

it.each(brokenRows(BROKEN))('the suite fails a cache that %s', async (_what, test, breakIt) => {
  expect(await failuresOf(breakIt)).toContain(test);
});
