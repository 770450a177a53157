import type { SharedCache } from 'marketgate';
import { describeSharedCache, type SharedCacheSetup } from 'marketgate/testing';
import { describe, expect, it, vi } from 'vitest';
import { collector, HandClock } from './support.js';

/** What several caches have in common: the server, as it were. */
class Backend {
  readonly values = new Map<string, { value: string; end: number }>();
  readonly locks = new Map<string, { owner: symbol; end: number }>();
  readonly listeners = new Set<(key: string | undefined) => void>();
  constructor(readonly clock: () => number) {}
}

/** A cache that keeps the contract, to be broken in one point at a time. */
class Reference implements SharedCache {
  constructor(readonly backend: Backend) {}

  async get(key: string): Promise<string | undefined> {
    const row = this.backend.values.get(key);
    return row !== undefined && row.end > this.backend.clock() ? row.value : undefined;
  }
  async set(key: string, value: string, ttl: number): Promise<void> {
    this.backend.values.set(key, { value, end: this.backend.clock() + ttl });
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
}

type CacheClass = new (backend: Backend) => SharedCache;

function setupOf(Cache: CacheClass): SharedCacheSetup {
  const { clock, advance } = new HandClock();
  const backend = new Backend(clock);
  return { cache: new Cache(backend), peer: new Cache(backend), clock, advance };
}

describeSharedCache('a cache that keeps the contract', () => setupOf(Reference), {
  describe,
  it,
  expect,
});

/** Runs the suite on a cache, in no time, and gives the names of the tests that failed. */
async function failuresOf(Cache: CacheClass): Promise<string[]> {
  const { runner, failures } = collector();
  describeSharedCache('a cache', () => setupOf(Cache), runner);
  vi.useFakeTimers();
  try {
    const failed = failures();
    await vi.advanceTimersByTimeAsync(5000);
    return await failed;
  } finally {
    vi.useRealTimers();
  }
}

it('the suite passes a cache that only keeps values', async () => {
  class Values {
    readonly #inner: Reference;
    constructor(backend: Backend) {
      this.#inner = new Reference(backend);
    }
    get = (key: string) => this.#inner.get(key);
    set = (key: string, value: string, ttl: number) => this.#inner.set(key, value, ttl);
    delete = (key: string) => this.#inner.delete(key);
  }
  expect(await failuresOf(Values)).toEqual([]);
});

const BROKEN: [string, CacheClass, string][] = [
  [
    'keeps values to itself',
    class extends Reference {
      constructor(backend: Backend) {
        super(new Backend(backend.clock));
      }
    },
    'gives back what was set, here and in another process',
  ],
  [
    'takes an empty string for nothing',
    class extends Reference {
      override async get(key: string) {
        return (await super.get(key)) || undefined;
      }
    },
    'keeps an empty string and a long one',
  ],
  [
    'never lets a value end',
    class extends Reference {
      override set(key: string, value: string) {
        return super.set(key, value, Number.POSITIVE_INFINITY);
      }
    },
    'forgets a value when its time is over',
  ],
  [
    'gives a lock to everybody',
    class extends Reference {
      override async lock() {
        return async () => {};
      }
    },
    'gives the lock to one, until it is given back (if it has lock)',
  ],
  [
    'looks first and locks then',
    class extends Reference {
      override async lock(key: string, ttl: number) {
        const { locks, clock } = this.backend;
        if ((locks.get(key)?.end ?? 0) > clock()) return undefined;
        await Promise.resolve();
        locks.set(key, { owner: Symbol(key), end: clock() + ttl });
        return async () => void locks.delete(key);
      }
    },
    'gives the lock to one of 50 who ask at once (if it has lock)',
  ],
  [
    'gives back the lock of another',
    class extends Reference {
      override async lock(key: string, ttl: number) {
        const release = await super.lock(key, ttl);
        return release && (async () => void this.backend.locks.delete(key));
      }
    },
    'frees a lock when its time is over (if it has lock)',
  ],
  [
    'locks for ever',
    class extends Reference {
      override lock(key: string) {
        return super.lock(key, Number.POSITIVE_INFINITY);
      }
    },
    'frees a lock when its time is over (if it has lock)',
  ],
  [
    'says all keys by an empty one',
    class extends Reference {
      override publish(key: string | undefined) {
        return super.publish(key ?? '');
      }
    },
    'tells undefined for all keys, as undefined (if it has subscribe and publish)',
  ],
  [
    'goes on telling after the end',
    class extends Reference {
      override async subscribe(onInvalidate: (key: string | undefined) => void) {
        await super.subscribe(onInvalidate);
        return async () => {};
      }
    },
    'tells nothing more after the end (if it has subscribe and publish)',
  ],
  [
    'has half of the messages',
    class extends Reference {
      declare publish: never;
      constructor(backend: Backend) {
        super(backend);
        Object.defineProperty(this, 'publish', { value: undefined });
      }
    },
    'tells every process which key to forget (if it has subscribe and publish)',
  ],
];

describe('the suite fails a cache that', () => {
  it.each(BROKEN)('%s', async (_what, Cache, test) => {
    expect(await failuresOf(Cache)).toContain(test);
  });
});
