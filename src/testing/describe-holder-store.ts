import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { HolderStore } from '../stores/holder-store.js';
import { HOUR, type PeerTest, type SuiteSetup, suite, type TestRunner } from './suite.js';

/** What {@link describeHolderStore} is given for each test. */
export interface HolderStoreSetup extends SuiteSetup {
  /** The store. It need not be empty, because every test uses new codes. */
  store: HolderStore;
  /** Another store on the same backend, as in another process. Default: `store` itself. */
  peer?: HolderStore | undefined;
  /**
   * A store in which a released place stays taken for `milliseconds`, if yours can do that. Without `advance`, the suite
   * waits for so long.
   */
  cooldown?:
    | {
        /** The store with a cooldown. */
        readonly store: HolderStore;
        /** Its cooldown. */
        readonly milliseconds: number;
      }
    | undefined;
}

/**
 * Tests the contract of a `HolderStore`, for authors of stores. Runs under vitest, jest, node:test or mocha:
 *
 * ```ts
 * import { describe, it } from 'node:test';
 * import { describeHolderStore } from 'marketgate/testing';
 *
 * describeHolderStore('MyHolderStore', async () => {
 *   const [client, another] = await Promise.all([connect(), connect()]);
 *   return {
 *     store: new MyHolderStore(client),
 *     peer: new MyHolderStore(another),
 *     close: () => Promise.all([client.end(), another.end()]),
 *   };
 * }, { describe, it });
 * ```
 */
export function describeHolderStore(
  name: string,
  make: () => HolderStoreSetup | Promise<HolderStoreSetup>,
  runner: TestRunner,
): void {
  suite('describeHolderStore', name, make, runner, (addTest) => {
    const add = (title: string, test: PeerTest<HolderStore, HolderStoreSetup>) =>
      addTest(title, (setup) => test(setup.store, setup.peer ?? setup.store, randomUUID(), setup));

    add('gives a code to the first holder, and refuses the next', async (store, peer, code) => {
      for (const unknown of [code, 'constructor', '__proto__']) {
        await assertHolders(store, unknown, []);
      }
      assert.equal(await store.take(code, 'anna', 1), true, 'the first holder');
      assert.equal(await peer.take(code, 'bert', 1), false, 'a second holder with max 1');
      assert.equal(await peer.take(code, 'anna', 1), true, 'the holder again');
      assert.equal(await store.take(randomUUID(), 'bert', 1), true, 'another code');
      await assertHolders(peer, code, ['anna']);
    });

    add('gives a code to as many holders as max', async (store, peer, code) => {
      for (const holder of ['anna', 'bert', 'anna', 'carl', 'bert']) {
        assert.equal(await store.take(code, holder, 3), true, `${holder}, with max 3`);
      }
      assert.equal(await peer.take(code, 'dora', 3), false, 'a fourth holder with max 3');
      assert.equal(await peer.take(code, 'carl', 1), true, 'a holder, although max is lower now');
      await assertHolders(store, code, ['anna', 'bert', 'carl']);
      assert.equal(await peer.take(code, 'dora', 4), true, 'a fourth holder with max 4');
    });

    add('does not let go of a holder after a while', async (store, peer, code, { advance }) => {
      await store.take(code, 'anna', 1);
      if (advance) await advance(1000 * HOUR);
      else await new Promise((resolve) => setTimeout(resolve, 1500));
      await assertHolders(peer, code, ['anna']);
      assert.equal(await peer.take(code, 'bert', 1), false, 'another holder, later');
    });

    add('releases one holder, and no other', async (store, peer, code) => {
      for (const holder of ['anna', 'bert']) await store.take(code, holder, 2);
      await peer.release(code, 'carl');
      assert.equal(await store.take(code, 'carl', 2), false, 'after the release of no holder');
      await peer.release(code, 'anna');
      await peer.release(code, 'anna');
      // An id that was not found must not release all. A store can refuse it.
      const refused = async () => peer.release(code, '');
      await refused().catch(() => {});
      await assertHolders(store, code, ['bert']);
      assert.equal(await store.take(code, 'carl', 2), true, 'one place is free');
      assert.equal(await store.take(code, 'anna', 2), false, 'and only one');
    });

    add('releases all holders of a code, and of no other', async (store, peer, code) => {
      const other = randomUUID();
      for (const each of [code, other]) {
        for (const holder of ['anna', 'bert']) await store.take(each, holder, 2);
      }
      await peer.release(code);
      await assertHolders(store, code, []);
      await peer.release(code);
      await assertHolders(store, other, ['anna', 'bert']);
      assert.equal(await store.take(code, 'carl', 1), true, 'after the release of all');
    });

    add(
      'keeps a released place taken for its cooldown, if it has one',
      async (_store, _peer, code, setup) => {
        const { cooldown, advance } = setup;
        if (cooldown === undefined) return;
        const { store: cooling, milliseconds } = cooldown;
        const pass = async (time: number) => {
          if (advance) await advance(time);
          else await new Promise((resolve) => setTimeout(resolve, time + 100));
        };
        for (const holder of ['anna', 'bert']) await cooling.take(code, holder, 2);
        await cooling.release(code, 'anna');
        await assertHolders(cooling, code, ['bert']);
        assert.equal(
          await cooling.take(code, 'carl', 2),
          false,
          'another one, during the cooldown',
        );
        assert.equal(await cooling.take(code, 'anna', 2), true, 'who had the place, at once');
        await assertHolders(cooling, code, ['anna', 'bert']);
        await cooling.release(code);
        await assertHolders(cooling, code, []);
        assert.equal(await cooling.take(code, 'carl', 2), false, 'after the release of all');
        await pass(milliseconds);
        assert.equal(await cooling.take(code, 'carl', 2), true, 'another one, after the cooldown');
        assert.equal(await cooling.take(code, 'dora', 2), true, 'as many as max');
        assert.equal(await cooling.take(code, 'anna', 2), false, 'who had a place before');
      },
    );

    add('keeps codes apart, whatever they are', async (store, peer, code) => {
      // Codes have up to 128 characters.
      const long = code.padEnd(127, '0');
      const codes = [`${long}1`, `${long}2`, code, code.replaceAll('-', '')];
      for (const each of codes) {
        assert.equal(await store.take(each, `holder of ${each}`, 1), true, `the code ${each}`);
      }
      for (const each of codes) await assertHolders(peer, each, [`holder of ${each}`]);
    });

    add('keeps holders apart, whatever their ids are', async (store, _peer, code) => {
      for (const [index, holder] of ODD_IDS.entries()) {
        assert.equal(await store.take(code, holder, index + 1), true, JSON.stringify(holder));
        const next = await store.take(code, `${holder}x`, index + 1);
        assert.equal(next, false, `${JSON.stringify(holder)} must count as one holder of its own`);
      }
      await assertHolders(store, code, ODD_IDS);
      for (const holder of ODD_IDS.slice(1)) await store.release(code, holder);
      await assertHolders(store, code, ODD_IDS.slice(0, 1));
    });

    add('lets 3 of 500 hold a code that all take at once', async (store, peer, code) => {
      const all = Array.from({ length: 500 }, (_, i) => `holder-${i}`);
      const taken = await Promise.all(
        all.map((each, i) => (i % 2 ? store : peer).take(code, each, 3)),
      );
      const winners = all.filter((_, i) => taken[i] === true);
      assert.equal(winners.length, 3, 'exactly 3 of 500 must get true');
      const refused = taken.filter((each) => each === false).length;
      assert.equal(refused, 497, 'all others must get false');
      await assertHolders(store, code, winners);
    });

    add('counts a holder once that takes 50 times at once', async (store, peer, code) => {
      const stores = Array.from({ length: 50 }, (_, i) => (i % 2 ? store : peer));
      const taken = await Promise.all(stores.map((each) => each.take(code, 'anna', 2)));
      assert.deepEqual([...new Set(taken)], [true], 'all must get true');
      assert.equal(await store.take(code, 'bert', 2), true, 'the second place must be free');
      assert.equal(await store.take(code, 'carl', 2), false, 'there is no third place');
    });

    add('takes and releases many codes at once', async (store, peer, code) => {
      const visit = async (i: number) => {
        const own = `${code}-${i}`;
        const [here, there] = i % 2 ? [store, peer] : [peer, store];
        await here.take(own, `holder-${i}`, 1);
        await assertHolders(there, own, [`holder-${i}`]);
        // One code that all take: never too many, also while some are released.
        const isHeld = await here.take(code, `holder-${i}`, 2);
        const { length } = await there.holders(code);
        assert.ok(length <= 2, `there are ${length} holders with max 2`);
        if (isHeld) await there.release(code, `holder-${i}`);
      };
      await Promise.all(Array.from({ length: 60 }, (_, i) => visit(i)));
      await assertHolders(store, code, []);
    });
  });
}

/** Ids that a store must neither refuse nor mix up. */
const ODD_IDS: readonly string[] = [
  '7',
  '07',
  ' 7',
  'anna',
  'Anna',
  'anna ',
  'a:b',
  'a,b',
  '{a}',
  '"\'`%_*?;--$\\',
  'line\r\nbreak',
  'é',
  'e\u0301',
  '名前-🔑',
  '__proto__',
  'x'.repeat(1000),
];

async function assertHolders(
  store: HolderStore,
  code: string,
  expected: readonly string[],
): Promise<void> {
  const found = await store.holders(code);
  assert.ok(Array.isArray(found), 'holders must give an array');
  assert.deepEqual(found.toSorted(), expected.toSorted(), 'holders gave others');
}
