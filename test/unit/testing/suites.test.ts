import {
  type AccessToken,
  type HolderStore,
  MemoryHolderStore,
  MemoryTokenStore,
  type TokenStore,
} from 'marketgate';
import {
  describeHolderStore,
  describeTokenStore,
  type TestRunner,
  type TokenStoreSetup,
} from 'marketgate/testing';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { HandClock } from '../stores/support.js';

beforeEach(
  () => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date', 'performance'] }),
);

/** Runs a suite, without the time that it waits; gives its tests and the names of those that failed. */
async function run(suite: (runner: TestRunner) => void, milliseconds = 5000) {
  const tests: { name: string; body: () => Promise<void> }[] = [];
  suite({ describe: (_name, body) => body(), it: (name, body) => tests.push({ name, body }) });
  const ends = Promise.allSettled(tests.map(({ body }) => body()));
  await vi.advanceTimersByTimeAsync(milliseconds);
  const failed = new Map<string, string>();
  for (const [n, end] of (await ends).entries()) {
    if (end.status === 'rejected') failed.set(tests[n]?.name ?? '', `${end.reason}`);
  }
  return { tests, failed };
}

/** Replaces some methods of a store, whose own ones `inner` has. */
type Break<Store, Inner = Store> = (inner: Inner, clock: () => number) => Partial<Store>;
/** What is broken, the test that must fail for it, and how it is broken. */
type Broken<Store, Inner = Store> = [what: string, test: string, breakIt: Break<Store, Inner>][];

/** A store with these methods of another one, some of them replaced. */
function linkTo<Store extends object>(inner: Store, names: string, others: object): Store {
  const own = names.split(' ').map((name) => {
    const method = inner[name as keyof Store] as (...given: unknown[]) => unknown;
    return [name, (...given: unknown[]) => method.apply(inner, given)];
  });
  return Object.assign(Object.fromEntries(own), others);
}

/** Methods whose first argument reaches the store in another form. */
const changing =
  <Store extends object>(names: string, change: (key: string) => string): Break<Store> =>
  (inner) => {
    const link = linkTo(inner, names, {}) as Record<string, (...given: unknown[]) => unknown>;
    const changed = Object.entries(link).map(([name, method]) => [
      name,
      (key: string, ...more: unknown[]) => method(change(key), ...more),
    ]);
    return Object.fromEntries(changed);
  };

describe('describeTokenStore', () => {
  const failuresOf = async (breakIt: Break<TokenStore>) => {
    const make = (): TokenStoreSetup => {
      const { clock, advance } = new HandClock();
      const inner = new MemoryTokenStore({ clock });
      const store = linkTo<TokenStore>(inner, 'get set delete claim', breakIt(inner, clock));
      return { store, clock, advance };
    };
    return (await run((runner) => describeTokenStore('a store', make, runner))).failed;
  };

  it.each<[string, Break<TokenStore>]>([
    ['keeps the contract', () => ({})],
    ['has no claim, which is optional', () => ({ claim: undefined as never })],
  ])('passes a store that %s', async (_what, breakIt) => {
    expect([...(await failuresOf(breakIt))]).toEqual([]);
  });

  /** A `claim` that notes in a map until when a name is taken. */
  const claiming = (
    claim: (taken: Map<string, number>, clock: () => number) => TokenStore['claim'],
  ): Break<TokenStore> => {
    return (_inner, clock) => ({ claim: claim(new Map(), clock) as never });
  };

  // biome-ignore format: a table is read by its columns
  const broken: Broken<TokenStore> = [
    ['gives null for an unknown user', 'gives back exactly what was set', (inner) => ({ get: async (id) => (await inner.get(id)) ?? (null as never) })],
    ['deletes nothing', 'replaces, deletes and keeps a token again', () => ({ delete: async () => {} })],
    ['shares the object that it holds', 'keeps a copy, and gives a copy', () => {
      const rows = new Map<string, AccessToken>();
      return {
        get: async (id) => rows.get(id),
        set: async (id, token) => void rows.set(id, { ...token }),
      };
    }],
    ['keeps only one of those set at once', 'handles many calls at once', (inner) => {
      let isBusy = false;
      return {
        async set(id, token) {
          if (isBusy) return;
          isBusy = true;
          await inner.set(id, token);
          isBusy = false;
        },
      };
    }],
    ['never expires a token', 'forgets a token when it expires', (inner) => {
      const times = new Map<string, AccessToken>();
      const expiresAt = 1e15;
      return {
        get: async (id) => (await inner.get(id)) && { ...(times.get(id) as AccessToken) },
        set: async (id, token) => {
          times.set(id, { ...token });
          await inner.set(id, { ...token, expiresAt });
        },
      };
    }],
    ['keeps the old token when the new one has expired', 'drops a token for one that has expired', (inner, clock) => ({ set: async (id, token) => void (token.expiresAt > clock() && (await inner.set(id, token))) })],
    ['normalises ids', 'accepts any user ids, and keeps them apart', changing('get set delete', (id) => id.normalize())],
    ['keeps claims where the tokens are', 'grants the first claim of each name, and no other', (inner) => ({
      async claim(name) {
        if ((await inner.get(name)) !== undefined) return false;
        await inner.set(name, { value: 'claim', issuedAt: 0, expiresAt: 1e15 });
        return true;
      },
    })],
    ['reads first and writes then', 'grants one of 50 claims made at once', claiming((taken, clock) => async (name, ttl) => {
      const isTaken = (taken.get(name) ?? 0) > clock();
      await Promise.resolve();
      taken.set(name, clock() + ttl);
      return !isTaken;
    })],
    ['prolongs a claim with each further one', 'frees a claimed name after its ttl, and not before', claiming((taken, clock) => async (name, ttl) => {
      const isTaken = (taken.get(name) ?? 0) > clock();
      taken.set(name, clock() + ttl);
      return !isTaken;
    })],
  ];
  it.each(broken)('fails a store that %s', async (_what, test, breakIt) => {
    expect([...(await failuresOf(breakIt)).keys()]).toContain(test);
  });

  it('passes a store without a clock that is slow: a lifetime counts from before the call', async () => {
    const inner = new MemoryTokenStore();
    const slowly = (method: 'set' | 'claim') => async (name: string, value: never) => {
      const answer = await inner[method](name, value);
      await new Promise((resolve) => setTimeout(resolve, 1200));
      return answer;
    };
    const own = { set: slowly('set') as TokenStore['set'], claim: slowly('claim') as never };
    const store = linkTo<TokenStore>(inner, 'get delete', own);
    const { failed } = await run(
      (runner) => describeTokenStore('a store', () => ({ store }), runner),
      60_000,
    );
    expect([...failed]).toEqual([]);
  });

  it.each([
    ['expires tokens', () => Date.now(), 'it passed'],
    ['expires nothing', () => 0, 'a token did not end after its time'],
  ])(
    'waits less than five seconds for a store without a clock that %s',
    async (_what, clock, expected) => {
      const make = () => ({ store: new MemoryTokenStore({ clock }) });
      const { failed } = await run((runner) => describeTokenStore('a store', make, runner));
      expect(failed.get('forgets a token when it expires') ?? 'it passed').toMatch(expected);
    },
  );

  it('makes a store for each test and closes it, also after a failure', async () => {
    const close = vi.fn();
    const make = vi.fn(async () => ({ store: new MemoryTokenStore({ clock: () => 1e15 }), close }));
    const { tests, failed } = await run((runner) => {
      describeTokenStore('a store', make, runner);
      expect(make).not.toHaveBeenCalled();
    });
    expect(failed.size).toBeGreaterThan(0);
    for (const each of [make, close]) expect(each).toHaveBeenCalledTimes(tests.length);
  });

  it('says in each test what the setup lacks', async () => {
    const make = () => ({}) as TokenStoreSetup;
    const { tests, failed } = await run((runner) => describeTokenStore('a store', make, runner));
    expect(failed.size).toBe(tests.length);
    for (const problem of failed.values())
      expect(problem).toContain(
        '2nd argument of describeTokenStore must give an object with "store"',
      );
  });

  it.each<[string, unknown, unknown, string]>([
    ['no make', undefined, { describe, it }, 'the 2nd argument of describeTokenStore'],
    ['no runner', () => {}, undefined, `must have the runner's "describe" and "it"`],
    ['no it', () => {}, { describe }, `must have the runner's "describe" and "it"`],
  ])('says what is missing: %s', (_what, make, runner, message) => {
    const describeIt = () => describeTokenStore('a store', make as never, runner as TestRunner);
    expect(describeIt).toThrow(TypeError);
    expect(describeIt).toThrow(message);
  });
});

describe('describeHolderStore', () => {
  const failuresOf = async (breakIt: Break<HolderStore>) => {
    const make = () => {
      const on = (inner: HolderStore) =>
        linkTo(inner, 'take release holders', breakIt(inner, Date.now));
      const inner = new MemoryHolderStore();
      const cooling = on(new MemoryHolderStore({ cooldown: 1000 }));
      const cooldown = { store: cooling, milliseconds: 1000 };
      return { store: on(inner), peer: on(inner), cooldown };
    };
    const { failed } = await run((runner) => describeHolderStore('a store', make, runner));
    return [...failed.keys()];
  };

  it('passes a store that keeps the contract', async () => {
    expect(await failuresOf(() => ({}))).toEqual([]);
  });

  it('needs no peer, and closes what the setup has opened', async () => {
    const close = vi.fn();
    const make = () => ({ store: new MemoryHolderStore(), close });
    const { tests, failed } = await run((runner) => describeHolderStore('a store', make, runner));
    expect([...failed]).toEqual([]);
    expect(close).toHaveBeenCalledTimes(tests.length);
  });

  // biome-ignore format: a table is read by its columns
  const broken: Broken<HolderStore> = [
    ['lets everybody in', 'gives a code to as many holders as max, and refuses the next', () => ({ take: async () => true })],
    ['refuses a holder who comes again', 'gives a code to as many holders as max, and refuses the next', (inner) => ({ take: async (code, holder, max) => (await inner.holders(code)).length < max && inner.take(code, holder, max) })],
    ['lets go after a second', 'does not let go of a holder after a while', (inner) => ({
      async take(code, holder, max) {
        const isHeld = await inner.take(code, holder, max);
        setTimeout(() => void inner.release(code, holder), 1000);
        return isHeld;
      },
    })],
    ['counts first and adds then', 'lets 3 of 500 hold a code that all take at once', (inner) => ({
      async take(code, holder, max) {
        const holders = await inner.holders(code);
        if (holders.includes(holder)) return true;
        if (holders.length >= max) return false;
        await Promise.resolve();
        return inner.take(code, holder, Number.MAX_SAFE_INTEGER);
      },
    })],
    ['releases no more than one', 'releases one holder of a code, or all, and no other', (inner) => ({
      async release(code, holder) {
        const [first = ''] = await inner.holders(code);
        if (first !== '') await inner.release(code, holder ?? first);
      },
    })],
    ['releases all for an empty holder', 'releases one holder of a code, or all, and no other', (inner) => ({ release: (code, holder) => inner.release(code, holder || undefined) })],
    ['frees a released seat at once', 'keeps a released seat taken for its cooldown, if it has one', () => linkTo<HolderStore>(new MemoryHolderStore(), 'take release holders', {})],
    ['ignores the case of holders', 'keeps codes and holders apart, whatever they are', (inner) => ({ take: (code, holder, max) => inner.take(code, holder.toLowerCase(), max) })],
    ['cuts codes to 127 characters', 'keeps codes and holders apart, whatever they are', changing('take release holders', (code) => code.slice(0, 127))],
    ['counts a holder each time', 'counts a holder once that takes 50 times at once', (inner) => {
      let takes = 0;
      return {
        async take(code, holder, max) {
          await Promise.resolve();
          return inner.take(code, `${holder}${takes++}`, max);
        },
      };
    }],
  ];
  it.each(broken)('fails a store that %s', async (_what, test, breakIt) => {
    expect(await failuresOf(breakIt)).toContain(test);
  });
});
