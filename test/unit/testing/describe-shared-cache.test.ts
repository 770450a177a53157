import type { SharedCache, SharedRow } from 'marketgate';
import { describeSharedCache } from 'marketgate/testing';
import { expect, it, vi } from 'vitest';
import { collector, HandClock } from '../stores/support.js';

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

type Overrides = { [K in keyof SharedCache]?: unknown } & ThisType<
  Reference & Record<'inner', Reference>
>;

/** Runs the suite, in no time, on caches with some methods replaced; gives the names of failed tests. */
async function failuresOf(overrides: Overrides, isShared = true): Promise<string[]> {
  const { runner, failures } = collector();
  const make = () => {
    const { clock, advance } = new HandClock();
    const backend = new Backend(clock);
    const cacheOn = (each: Backend) =>
      Object.assign(new Reference(each), { inner: new Reference(each) }, overrides) as SharedCache;
    const peer = cacheOn(isShared ? backend : new Backend(clock));
    return { cache: cacheOn(backend), peer, clock, advance };
  };
  describeSharedCache('a cache', make, runner);
  vi.useFakeTimers();
  try {
    const failed = failures();
    await vi.advanceTimersByTimeAsync(5000);
    return await failed;
  } finally {
    vi.useRealTimers();
  }
}

const without = (...methods: string[]): Overrides =>
  Object.fromEntries(methods.map((method) => [method, undefined]));

it.each<[string, Overrides]>([
  ['keeps the whole contract', {}],
  ['has no optional method', without('lock', 'subscribe', 'publish', 'read', 'write')],
  ['has no order', without('read', 'write')],
])('the suite passes a cache that %s', async (_what, overrides) => {
  expect(await failuresOf(overrides)).toEqual([]);
});

it('the suite fails a cache that keeps its values from other processes', async () => {
  const failed = await failuresOf({}, false);
  expect(failed).toContain('gives back the last value set, here and in another process');
});

/** What is broken, one test that must fail for it, and how it is broken. */
const BROKEN: [string, string, Overrides][] = [
  [
    'gives undefined for an empty string',
    'gives back the last value set, here and in another process',
    {
      async get(key: string) {
        return (await this.inner.get(key)) || undefined;
      },
    },
  ],
  [
    'never expires a value',
    'forgets a value after its ttl',
    {
      set(key: string, value: string) {
        return this.inner.set(key, value, Number.POSITIVE_INFINITY);
      },
    },
  ],
  [
    'gives a lock to everybody',
    'gives a lock to one, until it is released (if it has lock)',
    { lock: async () => async () => {} },
  ],
  [
    'reads first and locks then',
    'gives a lock to one of 50 that ask at once (if it has lock)',
    {
      async lock(key: string, ttl: number) {
        const { locks, clock } = this.backend;
        if ((locks.get(key)?.end ?? 0) > clock()) return undefined;
        await Promise.resolve();
        locks.set(key, { owner: Symbol(key), end: clock() + ttl });
        return async () => void locks.delete(key);
      },
    },
  ],
  [
    "releases another's lock",
    'releases a lock after its ttl (if it has lock)',
    {
      async lock(key: string, ttl: number) {
        const release = await this.inner.lock(key, ttl);
        return release && (async () => void this.backend.locks.delete(key));
      },
    },
  ],
  [
    'locks for ever',
    'releases a lock after its ttl (if it has lock)',
    {
      lock(key: string) {
        return this.inner.lock(key, Number.POSITIVE_INFINITY);
      },
    },
  ],
  [
    'publishes all keys as an empty one',
    'publishes a key, or all keys, to every process (if it has subscribe and publish)',
    {
      publish(key: string | undefined) {
        return this.inner.publish(key ?? '');
      },
    },
  ],
  [
    'goes on after the end of a subscription',
    'ends one subscription and no other (if it has subscribe and publish)',
    {
      async subscribe(onInvalidate: (key: string | undefined) => void) {
        await this.inner.subscribe(onInvalidate);
        return async () => {};
      },
    },
  ],
  [
    'has subscribe without publish',
    'publishes a key, or all keys, to every process (if it has subscribe and publish)',
    without('publish'),
  ],
  [
    'keeps the last write',
    'keeps the later of two writes, however they arrive (if it has read and write)',
    {
      async write(key: string, value: string, ttl: number, order: number) {
        this.backend.values.set(key, { value, order, end: this.backend.clock() + ttl });
        return true;
      },
    },
  ],
  [
    'reads first and writes then',
    'decides in one step between 50 writes at once (if it has read and write)',
    {
      async write(key: string, value: string, ttl: number, order: number) {
        const { values, clock } = this.backend;
        if ((values.get(key)?.order ?? 0) >= order) return false;
        await new Promise((resolve) => setTimeout(resolve, (order * 37) % 11));
        values.set(key, { value, order, end: clock() + ttl });
        return true;
      },
    },
  ],
  [
    'gives a time that goes back',
    'gives all processes one time, which never goes back (if it has read and write)',
    {
      async read(key: string) {
        const row = await this.inner.read(key);
        return { ...row, now: row.now - this.backend.ticks * 10 };
      },
    },
  ],
];

it.each(BROKEN)('the suite fails a cache that %s', async (_what, test, overrides) => {
  expect(await failuresOf(overrides)).toContain(test);
});
