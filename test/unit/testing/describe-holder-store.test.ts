import { type HolderStore, MemoryHolderStore } from 'marketgate';
import { describeHolderStore } from 'marketgate/testing';
import { expect, it } from 'vitest';
import { collector } from '../stores/support.js';

type Overrides = Partial<HolderStore> & ThisType<HolderStore & { inner: HolderStore }>;

/** Runs the suite on stores with some methods replaced; gives the names of the tests that fail. */
async function failuresOf(overrides: Overrides, isShared = true): Promise<string[]> {
  const { runner, failures } = collector();
  const make = () => {
    const backends = [new MemoryHolderStore(), new MemoryHolderStore()] as const;
    const on = (inner: HolderStore): HolderStore => ({
      take: (...args) => inner.take(...args),
      release: (...args) => inner.release(...args),
      holders: (code) => inner.holders(code),
      ...({ inner } as object),
      ...overrides,
    });
    return { store: on(backends[0]), peer: on(backends[isShared ? 0 : 1]) };
  };
  describeHolderStore('a store', make, runner);
  return failures();
}

it('the suite passes a store that keeps the contract', async () => {
  expect(await failuresOf({})).toEqual([]);
});

it('the suite needs no peer, and closes what the setup has opened', async () => {
  const { runner, tests, failures } = collector();
  let closed = 0;
  const make = () => ({ store: new MemoryHolderStore(), close: () => void closed++ });
  describeHolderStore('a store', make, runner);
  expect(await failures()).toEqual([]);
  expect(closed).toBe(tests.length);
});

it('the suite fails a store that keeps its holders from other processes', async () => {
  const failed = await failuresOf({}, false);
  expect(failed).toContain('gives a code to the first holder, and refuses the next');
  expect(failed).toContain('lets 3 of 500 hold a code that all take at once');
});

/** What is broken, one test that must fail for it, and how it is broken. */
const BROKEN: [string, string, Overrides][] = [
  [
    'lets everybody in',
    'gives a code to the first holder, and refuses the next',
    { take: async () => true },
  ],
  [
    'refuses a holder who comes again',
    'gives a code to the first holder, and refuses the next',
    {
      async take(code, holder, max) {
        return (await this.inner.holders(code)).length < max && this.inner.take(code, holder, max);
      },
    },
  ],
  [
    'gives something true-like',
    'gives a code to the first holder, and refuses the next',
    {
      async take(...args) {
        return ((await this.inner.take(...args)) ? 1 : 0) as never;
      },
    },
  ],
  [
    'counts first and adds then',
    'lets 3 of 500 hold a code that all take at once',
    {
      async take(code, holder, max) {
        const holders = await this.inner.holders(code);
        if (holders.includes(holder)) return true;
        if (holders.length >= max) return false;
        await Promise.resolve();
        return this.inner.take(code, holder, Number.MAX_SAFE_INTEGER);
      },
    },
  ],
  [
    'adds first and takes back what was too much',
    'lets 3 of 500 hold a code that all take at once',
    {
      async take(code, holder, max) {
        await this.inner.take(code, holder, Number.MAX_SAFE_INTEGER);
        if ((await this.inner.holders(code)).length <= max) return true;
        await this.inner.release(code, holder);
        return false;
      },
    },
  ],
  [
    'always allows one',
    'gives a code to as many holders as max',
    {
      take(code, holder) {
        return this.inner.take(code, holder, 1);
      },
    },
  ],
  [
    'drops holders when max is lowered',
    'gives a code to as many holders as max',
    {
      async take(code, holder, max) {
        for (const each of (await this.inner.holders(code)).slice(max)) {
          await this.inner.release(code, each);
        }
        return this.inner.take(code, holder, max);
      },
    },
  ],
  ['releases nobody', 'releases one holder, and no other', { release: async () => {} }],
  [
    'always releases all',
    'releases one holder, and no other',
    {
      release(code) {
        return this.inner.release(code);
      },
    },
  ],
  [
    'releases no more than one',
    'releases all holders of a code, and of no other',
    {
      async release(code, holder) {
        const [first = ''] = await this.inner.holders(code);
        if (first !== '') await this.inner.release(code, holder ?? first);
      },
    },
  ],
  [
    'ignores the case of holders',
    'keeps holders apart, whatever their ids are',
    {
      take(code, holder, max) {
        return this.inner.take(code, holder.toLowerCase(), max);
      },
    },
  ],
  [
    'counts a holder each time',
    'counts a holder once that takes 50 times at once',
    {
      async take(code, holder, max) {
        await Promise.resolve();
        return this.inner.take(code, `${holder}${Math.random()}`, max);
      },
    },
  ],
  [
    'has one record for all codes',
    'takes and releases many codes at once',
    {
      holders() {
        return this.inner.holders('all of them');
      },
      take(_code, holder, max) {
        return this.inner.take('all of them', holder, max);
      },
    },
  ],
];

it.each(BROKEN)('the suite fails a store that %s', async (_what, test, overrides) => {
  expect(await failuresOf(overrides)).toContain(test);
});
