import { type AccessToken, MemoryTokenStore, type TokenStore } from 'marketgate';
import { describeTokenStore, type TestRunner, type TokenStoreSetup } from 'marketgate/testing';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { collector, HandClock } from '../stores/support.js';

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

type Overrides = { [K in keyof TokenStore | 'key']?: unknown } & ThisType<
  Reference & Record<'inner', Reference>
>;

/** A reference store with some methods replaced; `this.inner` has the original ones. */
function broken(overrides: Overrides, clock: () => number): TokenStore {
  const store = new Reference(clock);
  const original = {
    get: store.get.bind(store),
    set: store.set.bind(store),
    claim: store.claim.bind(store),
  };
  return Object.assign(store, { inner: original }, overrides) as TokenStore;
}

/** Runs the suite on a store and gives the names of the tests that failed. */
function failuresOf(overrides: Overrides): Promise<string[]> {
  const { runner, failures } = collector();
  const make = (): TokenStoreSetup => {
    const { clock, advance } = new HandClock();
    return { store: broken(overrides, clock), clock, advance };
  };
  describeTokenStore('a store', make, runner);
  return failures();
}

it.each<[string, Overrides]>([
  ['keeps the contract', {}],
  ['has no claim, which is optional', { claim: undefined }],
])('the suite passes a store that %s', async (_what, overrides) => {
  expect(await failuresOf(overrides)).toEqual([]);
});

/** What is broken, one test that must fail for it, and how it is broken. */
const BROKEN: [string, string, Overrides][] = [
  ["gives another user's token", 'keeps users apart', { key: () => 'everybody' }],
  [
    'gives null for nothing',
    'gives undefined for an unknown user',
    {
      async get(userId: string) {
        return (await this.inner.get(userId)) ?? null;
      },
    },
  ],
  [
    'keeps rows in a plain object',
    'gives undefined for an unknown user',
    { get: async (userId: string) => ({})[userId] },
  ],
  [
    'keeps seconds only',
    'gives back exactly what was set',
    {
      set(userId: string, token: AccessToken) {
        const issuedAt = Math.floor(token.issuedAt / 1000) * 1000;
        return this.inner.set(userId, { ...token, issuedAt });
      },
    },
  ],
  [
    'keeps 255 characters only',
    'gives back exactly what was set',
    {
      set(userId: string, token: AccessToken) {
        return this.inner.set(userId, { ...token, value: token.value.slice(0, 255) });
      },
    },
  ],
  [
    'keeps the first token for ever',
    'replaces the old token by a new one',
    {
      async set(userId: string, token: AccessToken) {
        if (!this.rows.has(userId)) await this.inner.set(userId, token);
      },
    },
  ],
  [
    'gives a token once',
    'gives back exactly what was set',
    {
      async get(userId: string) {
        const token = await this.inner.get(userId);
        this.rows.delete(userId);
        return token;
      },
    },
  ],
  ['deletes nothing', 'deletes a token, and can keep one again', { delete: async () => {} }],
  [
    'deletes everything',
    'keeps users apart',
    {
      async delete() {
        this.rows.clear();
      },
    },
  ],
  [
    'fails when there is nothing to delete',
    'deletes a token, and can keep one again',
    {
      async delete(userId: string) {
        if (!this.rows.delete(userId)) throw new Error('nothing there');
      },
    },
  ],
  [
    'shares the object that it is given',
    'keeps a copy, and gives a copy',
    {
      async set(userId: string, token: AccessToken) {
        this.rows.set(userId, token);
      },
    },
  ],
  [
    'shares the object that it holds',
    'keeps a copy, and gives a copy',
    {
      async get(userId: string) {
        return (await this.inner.get(userId)) && this.rows.get(userId);
      },
    },
  ],
  [
    'keeps only one of those set at once',
    'handles many calls at once',
    {
      async set(userId: string, token: AccessToken) {
        if (this.claims.has('busy')) return;
        this.claims.set('busy', 1);
        await this.inner.set(userId, token);
        await Promise.resolve();
        this.claims.delete('busy');
      },
    },
  ],
  [
    'never expires a token',
    'forgets a token when it expires',
    {
      async get(userId: string) {
        const token = this.rows.get(userId);
        return token && { ...token };
      },
    },
  ],
  [
    'keeps an expired token',
    'drops a token for one that has expired',
    {
      async get(userId: string) {
        const token = this.rows.get(userId);
        const isRecent = token && token.issuedAt + 3 * 3_600_000 > this.clock();
        return isRecent ? { ...token } : undefined;
      },
    },
  ],
  [
    'keeps the old token when the new one has expired',
    'drops a token for one that has expired',
    {
      async set(userId: string, token: AccessToken) {
        if (token.expiresAt > this.clock()) await this.inner.set(userId, token);
      },
    },
  ],
  [
    'expires every token with the first one',
    'forgets a token when it expires',
    {
      async set(userId: string, token: AccessToken) {
        if (!this.claims.has(userId)) this.claims.set(userId, token.expiresAt);
        await this.inner.set(userId, token);
      },
      async get(userId: string) {
        return (this.claims.get(userId) ?? 0) > this.clock() ? this.inner.get(userId) : undefined;
      },
    },
  ],
  [
    'expires tokens a minute early',
    'forgets a token when it expires',
    {
      async get(userId: string) {
        const token = await this.inner.get(userId);
        return token && token.expiresAt - 60_000 > this.clock() ? token : undefined;
      },
    },
  ],
  ...(
    [
      ['trims user ids', 'by a blank at the end', (id) => id.trim()],
      ['ignores capitals', 'by capitals', (id) => id.toLowerCase()],
      ['cuts user ids', 'after 5,000 characters', (id) => id.slice(0, 255)],
      ['normalises user ids', 'in how é is written', (id) => id.normalize()],
      ['strips what could be code', 'by dashes', (id) => id.replaceAll('--', '')],
      ['decodes user ids', 'by escaping', (id) => id.replaceAll('%2F', '/')],
    ] satisfies [string, string, (id: string) => string][]
  ).map(([what, difference, key]): [string, string, Overrides] => [
    what,
    `keeps user ids apart that differ only ${difference}`,
    { key },
  ]),
  [
    'refuses some user ids',
    'accepts a user id with blanks',
    {
      key(userId: string) {
        if (/[^\w]/.test(userId)) throw new Error('bad key');
        return userId;
      },
    },
  ],
  [
    'grants each claim',
    'grants the first claim of each name, and no other (if it has claim)',
    { claim: async () => true },
  ],
  [
    'grants no claim',
    'grants the first claim of each name, and no other (if it has claim)',
    { claim: async () => false },
  ],
  [
    'reads first and writes then',
    'grants one of 50 claims made at once (if it has claim)',
    {
      async claim(name: string, ttl: number) {
        const isTaken = (this.claims.get(name) ?? 0) > this.clock();
        await Promise.resolve();
        this.claims.set(name, this.clock() + ttl);
        return !isTaken;
      },
    },
  ],
  [
    'has one claim for all names',
    'grants the first claim of each name, and no other (if it has claim)',
    {
      claim(_name: string, ttl: number) {
        return this.inner.claim('all', ttl);
      },
    },
  ],
  [
    'keeps claims where the tokens are',
    'keeps claims and tokens apart (if it has claim)',
    {
      async claim(name: string) {
        if (this.rows.has(name)) return false;
        this.rows.set(name, { value: 'claim', issuedAt: 0, expiresAt: Number.MAX_SAFE_INTEGER });
        return true;
      },
    },
  ],
  ...(
    [
      ['claims for ever', () => Number.POSITIVE_INFINITY],
      ['frees a claim at once', (ttl) => Math.min(ttl, 100)],
    ] satisfies [string, (ttl: number) => number][]
  ).map(([what, ttlOf]): [string, string, Overrides] => [
    what,
    'frees a name after its ttl, and not before (if it has claim)',
    {
      claim(name: string, ttl: number) {
        return this.inner.claim(name, ttlOf(ttl));
      },
    },
  ]),
  [
    'prolongs a claim with each further one',
    'frees a name after its ttl, and not before (if it has claim)',
    {
      async claim(name: string, ttl: number) {
        const isGranted = await this.inner.claim(name, ttl);
        this.claims.set(name, this.clock() + ttl);
        return isGranted;
      },
    },
  ],
];

it.each(BROKEN)('the suite fails a store that %s', async (_what, test, overrides) => {
  expect(await failuresOf(overrides)).toContain(test);
});

describe('a store whose clock cannot be moved', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  /** The outcome of the test about the expiry of a token, while time passes by itself. */
  async function expiryOf(store: TokenStore): Promise<unknown> {
    const { runner, tests } = collector();
    describeTokenStore('a store', () => ({ store }), runner);
    const test = tests.find(({ name }) => name === 'forgets a token when it expires');
    const outcome = test?.body().then(
      () => 'passed',
      (error: Error) => error.message,
    );
    await vi.advanceTimersByTimeAsync(5000);
    return outcome;
  }

  it('is read again and again until the token has expired', async () => {
    expect(await expiryOf(new MemoryTokenStore())).toBe('passed');
  });

  it('fails within five seconds when nothing expires', async () => {
    const store = new MemoryTokenStore({ clock: () => 0 });
    expect(await expiryOf(store)).toBe('get still gives a token after its expiresAt');
  });
});

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

  it("accepts the functions of jest, by its types' shape", () => {
    const jest = {
      describe: (_name: number | string | (() => void), _fn: () => void) => {},
      it: (_name: string, _fn?: (() => Promise<unknown>) | ((done: () => void) => void)) => {},
      expect: (_actual: unknown) => ({}),
    };
    const make = () => ({ store: new MemoryTokenStore() });
    expect(() => describeTokenStore('a store', make, jest)).not.toThrow();
  });

  it.each<[string, unknown, unknown, string]>([
    ['no make', undefined, { describe, it }, 'the 2nd argument of describeTokenStore'],
    ['no runner', () => {}, undefined, `must have the runner's "describe"`],
    ['no it', () => {}, { describe }, `must have the runner's "it"`],
  ])('says what is missing: %s', (_what, make, runner, message) => {
    const run = () =>
      describeTokenStore('a store', make as () => TokenStoreSetup, runner as TestRunner);
    expect(run).toThrow(TypeError);
    expect(run).toThrow(message);
  });
});
