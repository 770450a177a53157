import { type AccessToken, MemoryTokenStore, type TokenStore } from 'marketgate';
import { describeTokenStore, type TestRunner, type TokenStoreSetup } from 'marketgate/testing';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { collector, HandClock } from './support.js';

/** A store that keeps the contract, to be broken in one point at a time. */
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

/** Runs the suite on a store and gives the names of the tests that failed. */
function failuresOf(Store: new (clock: () => number) => TokenStore): Promise<string[]> {
  const { runner, failures } = collector();
  const make = (): TokenStoreSetup => {
    const { clock, advance } = new HandClock();
    return { store: new Store(clock), clock, advance };
  };
  describeTokenStore('a store', make, runner);
  return failures();
}

describe('the suite passes', () => {
  it('a store that keeps the contract', async () => {
    expect(await failuresOf(Reference)).toEqual([]);
  });

  it('a store that has no claim, which it need not have', async () => {
    const Unclaiming = class extends Reference {
      declare claim: never;
      constructor(clock: () => number) {
        super(clock);
        Object.defineProperty(this, 'claim', { value: undefined });
      }
    };
    expect(await failuresOf(Unclaiming)).toEqual([]);
  });
});

/** What is broken, how, and one test that must fail for it. */
const BROKEN: [string, new (clock: () => number) => TokenStore, string][] = [
  [
    "gives another user's token",
    class extends Reference {
      override key() {
        return 'everybody';
      }
    },
    'keeps users apart',
  ],
  [
    'gives null for nothing',
    class extends Reference {
      override async get(userId: string) {
        return (await super.get(userId)) ?? (null as never);
      }
    },
    'gives undefined for a user it does not know',
  ],
  [
    'keeps rows in a plain object',
    class extends Reference {
      readonly object: Record<string, AccessToken> = {};
      override async get(userId: string) {
        return this.object[userId];
      }
    },
    'gives undefined for a user it does not know',
  ],
  [
    'keeps seconds only',
    class extends Reference {
      override set(userId: string, token: AccessToken) {
        const issuedAt = Math.floor(token.issuedAt / 1000) * 1000;
        return super.set(userId, { ...token, issuedAt });
      }
    },
    'gives back what was set, exactly',
  ],
  [
    'keeps 255 characters only',
    class extends Reference {
      override set(userId: string, token: AccessToken) {
        return super.set(userId, { ...token, value: token.value.slice(0, 255) });
      }
    },
    'keeps a long value with any characters',
  ],
  [
    'keeps the first token for ever',
    class extends Reference {
      override async set(userId: string, token: AccessToken) {
        if (!this.rows.has(userId)) await super.set(userId, token);
      }
    },
    'puts a new token in place of the old one',
  ],
  [
    'gives a token once',
    class extends Reference {
      override async get(userId: string) {
        const token = await super.get(userId);
        this.rows.delete(userId);
        return token;
      }
    },
    'gives back what was set, exactly',
  ],
  [
    'deletes nothing',
    class extends Reference {
      override async delete() {}
    },
    'forgets a token that is deleted, and can keep one again',
  ],
  [
    'deletes everything',
    class extends Reference {
      override async delete() {
        this.rows.clear();
      }
    },
    'keeps users apart',
  ],
  [
    'complains when there is nothing to delete',
    class extends Reference {
      override async delete(userId: string) {
        if (!this.rows.delete(userId)) throw new Error('nothing there');
      }
    },
    'takes it calmly when there is nothing to delete',
  ],
  [
    'shares the object that it is given',
    class extends Reference {
      override async set(userId: string, token: AccessToken) {
        this.rows.set(userId, token);
      }
    },
    'is not changed by what happens to the objects',
  ],
  [
    'shares the object that it holds',
    class extends Reference {
      override async get(userId: string) {
        const token = this.rows.get(userId);
        return token !== undefined && token.expiresAt > this.clock() ? token : undefined;
      }
    },
    'is not changed by what happens to the objects',
  ],
  [
    'keeps only one of those set at once',
    class extends Reference {
      busy = false;
      override async set(userId: string, token: AccessToken) {
        if (this.busy) return;
        this.busy = true;
        await super.set(userId, token);
        await Promise.resolve();
        this.busy = false;
      }
    },
    'copes with many at once',
  ],
  [
    'never lets a token end',
    class extends Reference {
      override async get(userId: string) {
        const token = this.rows.get(userId);
        return token && { ...token };
      }
    },
    'forgets a token when it ends',
  ],
  [
    'takes a token that is over',
    class extends Reference {
      override async get(userId: string) {
        const token = this.rows.get(userId);
        const fresh = token && token.issuedAt + 3_600_000 > this.clock() - 7_200_000;
        return fresh ? { ...token } : undefined;
      }
    },
    'does not give a token that was over when it was set',
  ],
  [
    'keeps the old token when the new one is over',
    class extends Reference {
      override async set(userId: string, token: AccessToken) {
        if (token.expiresAt > this.clock()) await super.set(userId, token);
      }
    },
    'drops the old token also for one that is over',
  ],
  [
    'lets every token end with the first one',
    class extends Reference {
      readonly ends = new Map<string, number>();
      override async set(userId: string, token: AccessToken) {
        if (!this.ends.has(userId)) this.ends.set(userId, token.expiresAt);
        await super.set(userId, token);
      }
      override async get(userId: string) {
        return (this.ends.get(userId) ?? 0) > this.clock() ? super.get(userId) : undefined;
      }
    },
    'goes by the token that was set last',
  ],
  [
    'lets tokens end a minute early',
    class extends Reference {
      override async get(userId: string) {
        const token = await super.get(userId);
        return token && token.expiresAt - 60_000 > this.clock() ? token : undefined;
      }
    },
    'forgets a token when it ends',
  ],
  [
    'trims user ids',
    class extends Reference {
      override key(userId: string) {
        return userId.trim();
      }
    },
    'keeps user ids apart that differ only by a blank at the end',
  ],
  [
    'ignores capitals',
    class extends Reference {
      override key(userId: string) {
        return userId.toLowerCase();
      }
    },
    'keeps user ids apart that differ only by capitals',
  ],
  [
    'cuts user ids',
    class extends Reference {
      override key(userId: string) {
        return userId.slice(0, 255);
      }
    },
    'keeps user ids apart that differ only after 5,000 characters',
  ],
  [
    'normalises user ids',
    class extends Reference {
      override key(userId: string) {
        return userId.normalize();
      }
    },
    'keeps user ids apart that differ only in how é is written',
  ],
  [
    'strips what could be code',
    class extends Reference {
      override key(userId: string) {
        return userId.replaceAll('--', '');
      }
    },
    'keeps user ids apart that differ only by dashes',
  ],
  [
    'refuses some user ids',
    class extends Reference {
      override key(userId: string) {
        if (/[^\w]/.test(userId)) throw new Error('bad key');
        return userId;
      }
    },
    'takes a user id with blanks',
  ],
  [
    'claims twice',
    class extends Reference {
      override async claim() {
        return true;
      }
    },
    'lets the first claim win, and no other (if it has claim)',
  ],
  [
    'claims never',
    class extends Reference {
      override async claim() {
        return false;
      }
    },
    'lets the first claim win, and no other (if it has claim)',
  ],
  [
    'looks first and claims then',
    class extends Reference {
      override async claim(name: string, ttl: number) {
        const taken = (this.claims.get(name) ?? 0) > this.clock();
        await Promise.resolve();
        this.claims.set(name, this.clock() + ttl);
        return !taken;
      }
    },
    'lets one of 50 win who claim at once (if it has claim)',
  ],
  [
    'has one claim for all names',
    class extends Reference {
      override claim(_name: string, ttl: number) {
        return super.claim('all', ttl);
      }
    },
    'keeps names apart (if it has claim)',
  ],
  [
    'keeps claims where the tokens are',
    class extends Reference {
      override async claim(name: string) {
        if (this.rows.has(name)) return false;
        this.rows.set(name, { value: 'claim', issuedAt: 0, expiresAt: Number.MAX_SAFE_INTEGER });
        return true;
      }
    },
    'does not mix up claims and tokens (if it has claim)',
  ],
  [
    'claims for ever',
    class extends Reference {
      override claim(name: string) {
        return super.claim(name, Number.POSITIVE_INFINITY);
      }
    },
    'frees a name when its time is over, and not before (if it has claim)',
  ],
  [
    'prolongs a claim with each who asks',
    class extends Reference {
      override async claim(name: string, ttl: number) {
        const won = await super.claim(name, ttl);
        this.claims.set(name, this.clock() + ttl);
        return won;
      }
    },
    'frees a name when its time is over, and not before (if it has claim)',
  ],
  [
    'frees a claim at once',
    class extends Reference {
      override claim(name: string, ttl: number) {
        return super.claim(name, Math.min(ttl, 100));
      }
    },
    'frees a name when its time is over, and not before (if it has claim)',
  ],
];

describe('the suite fails a store that', () => {
  it.each(BROKEN)('%s', async (_what, Store, test) => {
    expect(await failuresOf(Store)).toContain(test);
  });
});

describe('a store without a clock to move', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  /** The outcome of the one test about the end of a token, while time runs by itself. */
  async function endOfToken(Store: new (clock: () => number) => TokenStore): Promise<unknown> {
    const { runner, tests } = collector();
    describeTokenStore('a store', () => ({ store: new Store(Date.now) }), runner);
    const test = tests.find(({ name }) => name === 'forgets a token when it ends');
    const outcome = test?.body().then(
      () => 'passed',
      (error: unknown) => error,
    );
    await vi.advanceTimersByTimeAsync(1400);
    await vi.advanceTimersByTimeAsync(3200);
    return outcome;
  }

  it('is waited for, by looking again and again', async () => {
    expect(await endOfToken(Reference)).toBe('passed');
    expect(await endOfToken(MemoryClocked)).toBe('passed');
  });

  it('is failed within five seconds when nothing ends', async () => {
    const Endless = class extends Reference {
      override async get(userId: string) {
        const token = this.rows.get(userId);
        return token && { ...token };
      }
    };
    expect(await endOfToken(Endless)).toMatchObject({
      message: 'get still gives a token after its expiresAt',
    });
  });
});

class MemoryClocked extends MemoryTokenStore {
  constructor(clock: () => number) {
    super({ clock });
  }
}

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

  it("takes the functions of jest, by its types' shape", () => {
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
