import {
  type AccessToken,
  type HolderStore,
  MemoryHolderStore,
  MemoryTokenStore,
  type TokenStore,
} from 'marketgate';
import { describeHolderStore, describeTokenStore, type TestRunner } from 'marketgate/testing';
import { beforeEach, describe, expect, it, vi } from 'vitest';

// What a suite waits for passes at once.
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date', 'performance'] });
  vi.setTimerTickMode('nextTimerAsync');
});

/** Runs a suite; gives its tests, and what went wrong in those that failed. */
async function run(suite: (runner: TestRunner) => void) {
  const tests: { name: string; body: () => Promise<void> }[] = [];
  suite({ describe: (_name, body) => body(), it: (name, body) => tests.push({ name, body }) });
  const failed = new Map<string, string>();
  for (const { name, body } of tests) await body().catch((error) => failed.set(name, `${error}`));
  return { tests, failed };
}

/** Makes some methods of a store wrong, whose right ones `inner` has. */
type Break<Store> = (inner: Store) => Partial<Store>;

/** A store whose methods are those of another one, but for the wrong ones. */
const broken = <Store extends object>(inner: Store, breakIt: Break<Store>): Store =>
  new Proxy(inner, {
    get(_inner, name) {
      const method = Reflect.get(breakIt(inner), name) ?? Reflect.get(inner, name);
      return typeof method === 'function' ? method.bind(inner) : method;
    },
  });

describe('describeTokenStore', () => {
  const failuresOf = async (breakIt: Break<TokenStore>) => {
    const setup = () => ({ store: broken<TokenStore>(new MemoryTokenStore(), breakIt) });
    return (await run((runner) => describeTokenStore('a store', setup, runner))).failed;
  };

  const rows = new Map<string, AccessToken>();
  let isBusy = false;
  // biome-ignore format: a table is read by its columns
  it.each<[what: string, test: string, breakIt: Break<TokenStore>]>([
    ['gives null for an unknown user', 'gives back exactly what was set', (inner) => ({ get: async (id) => (await inner.get(id)) ?? (null as never) })],
    ['deletes nothing', 'replaces, deletes and keeps a token again', () => ({ delete: async () => {} })],
    ['shares the object that it holds', 'keeps a copy, and gives a copy', () => ({
      get: async (id) => rows.get(id),
      set: async (id, token) => void rows.set(id, { ...token }),
    })],
    ['keeps one of those set at once', 'handles many calls at once', (inner) => ({
      async set(id, token) {
        if (isBusy) return;
        isBusy = true;
        await inner.set(id, token);
        isBusy = false;
      },
    })],
    ['never expires a token', 'forgets a token when it expires', () => ({
      get: async (id) => rows.get(id) && { ...(rows.get(id) as AccessToken) },
      set: async (id, token) => void rows.set(id, { ...token }),
    })],
    ['expires a token at once', 'forgets a token when it expires', (inner) => ({ set: (id, token) => inner.set(id, { ...token, expiresAt: Date.now() + 500 }) })],
    ['keeps the old token when the new one has expired', 'drops a token for one that has expired', (inner) => ({ set: async (id, token) => void (token.expiresAt > Date.now() && (await inner.set(id, token))) })],
    ['normalises ids', 'accepts any user ids, and keeps them apart', (inner) => ({
      get: (id) => inner.get(id.normalize()),
      set: (id, token) => inner.set(id.normalize(), token),
    })],
  ])('fails a store that %s', async (_what, test, breakIt) => {
    expect([...(await failuresOf(breakIt)).keys()]).toContain(test);
  });

  it('makes a store for each test and closes it, also after a failure', async () => {
    const close = vi.fn();
    const store = broken<TokenStore>(new MemoryTokenStore(), () => ({ set: async () => {} }));
    const make = vi.fn(async () => ({ store, close }));
    const { tests, failed } = await run((runner) => {
      describeTokenStore('a store', make, runner);
      expect(make).not.toHaveBeenCalled();
    });
    expect(failed.size).toBeGreaterThan(0);
    for (const each of [make, close]) expect(each).toHaveBeenCalledTimes(tests.length);
  });

  it('says what is missing: a setup, a runner, or the store', async () => {
    const describeIt = (make: unknown, runner: unknown) => () =>
      describeTokenStore('a store', make as never, runner as TestRunner);
    expect(describeIt(undefined, { describe, it })).toThrow(
      'the 2nd argument of describeTokenStore',
    );
    expect(describeIt(() => {}, { describe })).toThrow(
      `must have the runner's "describe" and "it"`,
    );
    const { failed } = await run((runner) => describeIt(() => ({}), runner)());
    const message = '2nd argument of describeTokenStore must give an object with "store"';
    for (const problem of failed.values()) expect(problem).toContain(message);
    expect(failed.size).toBeGreaterThan(0);
  });
});

describe('describeHolderStore', () => {
  const failuresOf = async (breakIt: Break<HolderStore>) => {
    const inner = new MemoryHolderStore();
    const setup = () => ({ store: broken<HolderStore>(inner, breakIt) });
    return (await run((runner) => describeHolderStore('a store', setup, runner))).failed;
  };

  let takes = 0;
  // biome-ignore format: a table is read by its columns
  it.each<[what: string, test: string, breakIt: Break<HolderStore>]>([
    ['lets everybody in', 'gives a code to as many holders as max, and refuses the next', () => ({ take: async () => true })],
    ['refuses a holder who comes again', 'gives a code to as many holders as max, and refuses the next', (inner) => ({ take: async (code, holder, max) => (await inner.holders(code)).length < max && inner.take(code, holder, max) })],
    ['counts first and adds then', 'lets 3 of 500 hold a code that all take at once', (inner) => ({
      async take(code, holder, max) {
        const holders = await inner.holders(code);
        if (holders.includes(holder)) return true;
        if (holders.length >= max) return false;
        await Promise.resolve();
        return inner.take(code, holder, Number.MAX_SAFE_INTEGER);
      },
    })],
    ['releases all for an empty holder', 'releases one holder of a code, or all, and no other', (inner) => ({ release: (code, holder) => inner.release(code, holder || undefined) })],
    ['ignores the case of holders', 'keeps codes and holders apart, whatever they are', (inner) => ({ take: (code, holder, max) => inner.take(code, holder.toLowerCase(), max) })],
    ['cuts codes to 127 characters', 'keeps codes and holders apart, whatever they are', (inner) => ({ take: (code, holder, max) => inner.take(code.slice(0, 127), holder, max) })],
    ['counts a holder each time', 'counts a holder once that takes 50 times at once', (inner) => ({ take: (code, holder, max) => inner.take(code, `${holder}${takes++}`, max) })],
  ])('fails a store that %s', async (_what, test, breakIt) => {
    expect([...(await failuresOf(breakIt)).keys()]).toContain(test);
  });
});
