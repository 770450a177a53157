import { type AccessToken, MemoryTokenStore, type TokenStore } from 'marketgate';
import { describeTokenStore, type TestRunner, type TokenStoreSetup } from 'marketgate/testing';
import { describe, expect, it, vi } from 'vitest';
import { brokenRows, collector, HandClock } from '../stores/support.js';

/** A store that keeps the contract; tests break it in one point at a time. */
class Reference implements TokenStore {
  readonly rows = new Map<string, AccessToken>();
  readonly claims = new Map<string, number>();
  constructor(readonly clock: () => number) {}

  async get(userId: string): Promise<AccessToken | undefined> {
    const token = this.rows.get(this.key(userId));
    return token !== undefined && token.expiresAt > this.clock() ? { ...token } : undefined;
  }
  async set(userId: string, token: AccessToken): Promise<void> {
    this.rows.set(this.key(userId), { ...token });
  }
  async delete(userId: string): Promise<void> {
    this.rows.delete(this.key(userId));
  }
  async claim(name: string, ttl: number): Promise<boolean> {
    if ((this.claims.get(name) ?? 0) > this.clock()) return false;
    this.claims.set(name, this.clock() + ttl);
    return true;
  }
  key(userId: string): string {
    return userId;
  }
}

type Methods = { [K in keyof TokenStore]?: TokenStore[K] | undefined } & { key?: Reference['key'] };
/** Replaces some methods of a store, whose own ones `inner` has. */
type Break = (inner: Reference) => Methods;

/** Runs the suite on a store and gives the names of the tests that failed. */
function failuresOf(breakIt: Break): Promise<string[]> {
  const { runner, failures } = collector();
  const make = (): TokenStoreSetup => {
    const { clock, advance } = new HandClock();
    const inner = new Reference(clock);
    const { key = inner.key, ...methods } = breakIt(inner);
    inner.key = key;
    const store = {
      get: (userId: string) => inner.get(userId),
      set: (userId: string, token: AccessToken) => inner.set(userId, token),
      delete: (userId: string) => inner.delete(userId),
      claim: (name: string, ttl: number) => inner.claim(name, ttl),
      ...methods,
    } as TokenStore;
    return { store, clock, advance };
  };
  describeTokenStore('a store', make, runner);
  return failures();
}

it.each<[string, Break]>([
  ['keeps the contract', () => ({})],
  ['has no claim, which is optional', () => ({ claim: undefined })],
])('the suite passes a store that %s', async (_what, breakIt) => {
  expect(await failuresOf(breakIt)).toEqual([]);
});

/** By the test that must fail: what is broken, and how. */
const BROKEN: Record<string, Record<string, Break>> = {
  'gives back exactly what was set': {
    'gives null for an unknown user': (inner) => ({
      get: async (id) => (await inner.get(id)) ?? (null as never),
    }),
  },
  'replaces, deletes and keeps a token again': {
    'deletes nothing': () => ({ delete: async () => {} }),
  },
  'keeps a copy, and gives a copy': {
    'shares the object that it holds': (inner) => ({
      get: async (id) => (await inner.get(id)) && inner.rows.get(id),
    }),
  },
  'handles many calls at once': {
    'keeps only one of those set at once': (inner) => {
      let isBusy = false;
      return {
        async set(id, token) {
          if (isBusy) return;
          isBusy = true;
          await inner.set(id, token);
          isBusy = false;
        },
      };
    },
  },
  'forgets a token when it expires': {
    'never expires a token': ({ rows }) => ({ get: async (id) => copyOf(rows.get(id)) }),
  },
  'drops a token for one that has expired': {
    'keeps the old token when the new one has expired': (inner) => ({
      set: async (id, token) => {
        if (token.expiresAt > inner.clock()) await inner.set(id, token);
      },
    }),
  },
  'accepts any user ids, and keeps them apart': {
    'normalises ids': () => ({ key: (id) => id.normalize() }),
  },
  'grants the first claim of each name, and no other': {
    'keeps claims where the tokens are': ({ rows }) => ({
      async claim(name) {
        if (rows.has(name)) return false;
        rows.set(name, { value: 'claim', issuedAt: 0, expiresAt: Number.MAX_SAFE_INTEGER });
        return true;
      },
    }),
  },
  'grants one of 50 claims made at once': {
    'reads first and writes then': ({ claims, clock }) => ({
      async claim(name, ttl) {
        const isTaken = (claims.get(name) ?? 0) > clock();
        await Promise.resolve();
        claims.set(name, clock() + ttl);
        return !isTaken;
      },
    }),
  },
  'frees a claimed name after its ttl, and not before': {
    'prolongs a claim with each further one': (inner) => ({
      async claim(name, ttl) {
        const isGranted = await inner.claim(name, ttl);
        inner.claims.set(name, inner.clock() + ttl);
        return isGranted;
      },
    }),
  },
};

const copyOf = (token: AccessToken | undefined) => token && { ...token };

it.each(brokenRows(BROKEN))('the suite fails a store that %s', async (_what, test, breakIt) => {
  expect(await failuresOf(breakIt)).toContain(test);
});

it.each<[string, () => number, string]>([
  ['expires tokens', () => Date.now(), 'passed'],
  ['expires nothing', () => 0, 'a token did not end after its time'],
])(
  'waits for a store without a clock that %s, less than five seconds',
  async (_what, clock, expected) => {
    const store = new MemoryTokenStore({ clock });
    vi.useFakeTimers();
    const { runner, tests } = collector();
    describeTokenStore('a store', () => ({ store }), runner);
    const test = tests.find(({ name }) => name === 'forgets a token when it expires');
    const outcome = test?.body().then(
      () => 'passed',
      (error: Error) => error.message,
    );
    await vi.advanceTimersByTimeAsync(5000);
    expect(await outcome).toBe(expected);
  },
);

describe('describeTokenStore', () => {
  it('makes a store for each test and closes it, also after a failure', async () => {
    const { runner, tests, failures } = collector();
    const make = vi.fn();
    const close = vi.fn();
    const setup = async (): Promise<TokenStoreSetup> => {
      make();
      return { store: new Reference(() => 0), clock: () => 1e15, advance: () => {}, close };
    };
    describeTokenStore('a store', setup, runner);
    expect(make).not.toHaveBeenCalled();
    expect((await failures()).length).toBeGreaterThan(0);
    expect(make).toHaveBeenCalledTimes(tests.length);
    expect(close).toHaveBeenCalledTimes(tests.length);
  });

  it.each<[string, unknown, unknown, string]>([
    ['no make', undefined, { describe, it }, 'the 2nd argument of describeTokenStore'],
    ['no runner', () => {}, undefined, `must have the runner's "describe" and "it"`],
    ['no it', () => {}, { describe }, `must have the runner's "describe" and "it"`],
  ])('says what is missing: %s', (_what, make, runner, message) => {
    const run = () =>
      describeTokenStore('a store', make as () => TokenStoreSetup, runner as TestRunner);
    expect(run).toThrow(TypeError);
    expect(run).toThrow(message);
  });
});
