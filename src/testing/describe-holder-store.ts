import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { HolderStore } from '../stores/holder-store.js';
import { atOnce, HOUR, pass, type SuiteSetup, suite, type TestRunner } from './suite.js';

/** What {@link describeHolderStore} is given for each test. */
export interface HolderStoreSetup extends SuiteSetup {
  /** The store. It need not be empty, because every test uses new codes. */
  store: HolderStore;
  /** Another store on the same backend, as in another process. Default: `store` itself. */
  peer?: HolderStore | undefined;
  /**
   * A store in which a released seat stays taken for `milliseconds`, if yours can do that. Without `advance`, the suite
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
  suite('describeHolderStore', name, 'store', make, runner, (addTest) => {
    const add = (title: string, test: HolderTest) =>
      addTest(title, (setup) => test(setup.store, setup.peer ?? setup.store, randomUUID(), setup));

    add('gives a code to as many holders as max, and refuses the next', async (...given) => {
      const [store, peer, code] = given;
      for (const unknown of [code, '__proto__']) await assertHolders(store, unknown, []);
      assert.equal(await store.take(code, 'anna', 1), true, 'the first holder');
      assert.equal(await peer.take(code, 'bert', 1), false, 'a second holder with max 1');
      assert.equal(await peer.take(code, 'anna', 1), true, 'the holder again');
      assert.equal(await store.take(randomUUID(), 'bert', 1), true, 'another code');
      assert.equal(await store.take(code, 'bert', 2), true, 'a second holder with max 2');
      assert.equal(await peer.take(code, 'carl', 2), false, 'a third holder with max 2');
      assert.equal(await peer.take(code, 'bert', 1), true, 'a holder, although max is lower now');
      await assertHolders(peer, code, ['anna', 'bert']);
    });

    add('does not let go of a holder after a while', async (store, peer, code, setup) => {
      await store.take(code, 'anna', 1);
      await pass(setup, setup.advance ? 1000 * HOUR : 1500);
      await assertHolders(peer, code, ['anna']);
      assert.equal(await peer.take(code, 'bert', 1), false, 'another holder, later');
    });

    add('releases one holder of a code, or all, and no other', async (store, peer, code) => {
      const other = randomUUID();
      for (const each of [code, other]) {
        for (const holder of ['anna', 'bert']) await store.take(each, holder, 2);
      }
      await peer.release(code, 'carl');
      assert.equal(await store.take(code, 'carl', 2), false, 'after the release of no holder');
      for (const _twice of [1, 2]) await peer.release(code, 'anna');
      // An id that was not found must not release all. A store can refuse it.
      const refused = async () => peer.release(code, '');
      await refused().catch(() => {});
      await assertHolders(store, code, ['bert']);
      assert.equal(await store.take(code, 'carl', 2), true, 'one seat is free');
      assert.equal(await store.take(code, 'anna', 2), false, 'and only one');
      for (const _twice of [1, 2]) {
        await peer.release(code);
        await assertHolders(store, code, []);
      }
      await assertHolders(store, other, ['anna', 'bert']);
    });

    add('keeps a released seat taken for its cooldown, if it has one', async (...given) => {
      const [, , code, setup] = given;
      if (setup.cooldown === undefined) return;
      const { store, milliseconds } = setup.cooldown;
      for (const holder of ['anna', 'bert']) await store.take(code, holder, 2);
      await store.release(code, 'anna');
      await assertHolders(store, code, ['bert']);
      assert.equal(await store.take(code, 'carl', 2), false, 'another one, during the cooldown');
      assert.equal(await store.take(code, 'anna', 2), true, 'who had the seat, at once');
      await store.release(code);
      await assertHolders(store, code, []);
      assert.equal(await store.take(code, 'carl', 2), false, 'after the release of all');
      await pass(setup, milliseconds + 100);
      assert.equal(await store.take(code, 'carl', 2), true, 'another one, after the cooldown');
      assert.equal(await store.take(code, 'dora', 2), true, 'as many as max');
      assert.equal(await store.take(code, 'anna', 2), false, 'who had a seat before');
    });

    add('keeps codes and holders apart, whatever they are', async (store, peer, code) => {
      // Codes have up to 128 characters.
      const long = code.padEnd(127, '0');
      const codes = [`${long}1`, `${long}2`, code.replaceAll('-', '')];
      for (const each of codes) {
        assert.equal(await store.take(each, `holder of ${each}`, 1), true, `the code ${each}`);
      }
      for (const each of codes) await assertHolders(peer, each, [`holder of ${each}`]);
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
      const taken = await atOnce(500, [store, peer], (each, i) => each.take(code, `${i}`, 3));
      const winners = taken.flatMap((isHeld, i) => (isHeld === true ? [`${i}`] : []));
      assert.equal(winners.length, 3, 'exactly 3 of 500 must get true');
      const refused = taken.filter((each) => each === false).length;
      assert.equal(refused, 497, 'all others must get false');
      await assertHolders(store, code, winners);
    });

    add('counts a holder once that takes 50 times at once', async (store, peer, code) => {
      const taken = await atOnce(50, [store, peer], (each) => each.take(code, 'anna', 2));
      assert.deepEqual([...new Set(taken)], [true], 'all must get true');
      assert.equal(await store.take(code, 'bert', 2), true, 'the second seat must be free');
      assert.equal(await store.take(code, 'carl', 2), false, 'there is no third seat');
    });
  });
}

/** A test of a store and its peer. `code` is one that no earlier run has used. */
type HolderTest = (
  store: HolderStore,
  peer: HolderStore,
  code: string,
  setup: HolderStoreSetup,
) => Promise<void>;

/** Ids that a store must neither refuse nor mix up. */
const ODD_IDS: readonly string[] = [
  ...['7', '07', ' 7', 'anna', 'Anna', 'anna ', 'a:b', 'a,b', '{a}', '"\'`%_*?;--$\\'],
  ...['line\r\nbreak', 'é', 'e\u0301', '名前-🔑', '__proto__', 'x'.repeat(1000)],
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
