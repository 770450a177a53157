import { type HolderStore, MemoryHolderStore } from 'marketgate';
import { describeHolderStore } from 'marketgate/testing';
import { beforeEach, expect, it, vi } from 'vitest';
import { brokenRows, collector } from '../stores/support.js';

/** Replaces some methods of a store, whose own ones `inner` has. */
type Break = (inner: HolderStore) => Partial<HolderStore>;

/** Runs the suite on stores with some methods replaced; gives the names of the tests that fail. */
async function failuresOf(breakIt: Break): Promise<string[]> {
  const { runner, failures } = collector();
  const make = () => {
    const inner = new MemoryHolderStore();
    const on = (inner: HolderStore): HolderStore => ({
      take: (...args) => inner.take(...args),
      release: (...args) => inner.release(...args),
      holders: (code) => inner.holders(code),
      ...breakIt(inner),
    });
    const cooling = on(new MemoryHolderStore({ cooldown: 1000 }));
    return {
      store: on(inner),
      peer: on(inner),
      cooldown: { store: cooling, milliseconds: 1000 },
    };
  };
  describeHolderStore('a store', make, runner);
  return soon(failures());
}

/** What a run of the suite gives, without the time that it waits. */
async function soon<T>(run: Promise<T>): Promise<T> {
  await vi.advanceTimersByTimeAsync(5000);
  return run;
}

beforeEach(
  () => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date', 'performance'] }),
);

it('the suite passes a store that keeps the contract', async () => {
  expect(await failuresOf(() => ({}))).toEqual([]);
});

it('the suite needs no peer, and closes what the setup has opened', async () => {
  const { runner, tests, failures } = collector();
  let closed = 0;
  const make = () => ({ store: new MemoryHolderStore(), close: () => void closed++ });
  describeHolderStore('a store', make, runner);
  expect(await soon(failures())).toEqual([]);
  expect(closed).toBe(tests.length);
});

/** A store whose codes are stored in another form. */
const withCodes =
  (change: (code: string) => string): Break =>
  (inner) => ({
    take: (code, holder, max) => inner.take(change(code), holder, max),
    release: (code, holder) => inner.release(change(code), holder),
    holders: (code) => inner.holders(change(code)),
  });

/** By the test that must fail: what is broken, and how. */
const BROKEN: Record<string, Record<string, Break>> = {
  'gives a code to as many holders as max, and refuses the next': {
    'lets everybody in': () => ({ take: async () => true }),
    'refuses a holder who comes again': (inner) => ({
      take: async (code, holder, max) =>
        (await inner.holders(code)).length < max && inner.take(code, holder, max),
    }),
  },
  'does not let go of a holder after a while': {
    'lets go after a second': (inner) => ({
      async take(code, holder, max) {
        const isHeld = await inner.take(code, holder, max);
        setTimeout(() => void inner.release(code, holder), 1000);
        return isHeld;
      },
    }),
  },
  'lets 3 of 500 hold a code that all take at once': {
    'counts first and adds then': (inner) => ({
      async take(code, holder, max) {
        const holders = await inner.holders(code);
        if (holders.includes(holder)) return true;
        if (holders.length >= max) return false;
        await Promise.resolve();
        return inner.take(code, holder, Number.MAX_SAFE_INTEGER);
      },
    }),
  },
  'releases one holder of a code, or all, and no other': {
    'releases no more than one': (inner) => ({
      async release(code, holder) {
        const [first = ''] = await inner.holders(code);
        if (first !== '') await inner.release(code, holder ?? first);
      },
    }),
    'releases all for an empty holder': (inner) => ({
      release: (code, holder) => inner.release(code, holder || undefined),
    }),
  },
  'keeps a released place taken for its cooldown, if it has one': {
    'frees it at once': () => {
      const inner = new MemoryHolderStore();
      return {
        take: (...args) => inner.take(...args),
        release: (...args) => inner.release(...args),
        holders: (code) => inner.holders(code),
      };
    },
  },
  'keeps codes and holders apart, whatever they are': {
    'ignores the case of holders': (inner) => ({
      take: (code, holder, max) => inner.take(code, holder.toLowerCase(), max),
    }),
    'cuts codes to 127 characters': withCodes((code) => code.slice(0, 127)),
  },
  'counts a holder once that takes 50 times at once': {
    'counts a holder each time': (inner) => {
      let takes = 0;
      return {
        async take(code, holder, max) {
          await Promise.resolve();
          return inner.take(code, `${holder}${takes++}`, max);
        },
      };
    },
  },
};

it.each(brokenRows(BROKEN))('the suite fails a store that %s', async (_what, test, breakIt) => {
  expect(await failuresOf(breakIt)).toContain(test);
});
