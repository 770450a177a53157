import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { HolderStore } from '../stores/holder-store.js';
import { atOnce, type SuiteSetup, suite, type TestRunner } from './suite.js';

/** What {@link describeHolderStore} is given for each test. */
export interface HolderStoreSetup extends SuiteSetup {
  /** The store. It need not be empty, because every test uses new codes. */
  store: HolderStore;
  /** Another store on the same backend, as in another process. Default: `store` itself. */
  peer?: HolderStore | undefined;
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
  /** A test of a store and its peer, with a code that no earlier run has used. */
  const on =
    (test: (store: HolderStore, peer: HolderStore, code: string) => Promise<void>) =>
    ({ store, peer = store }: HolderStoreSetup) =>
      test(store, peer, randomUUID());
  suite('describeHolderStore', name, make, runner, {
    'gives a code to as many holders as max, and refuses the next': on(
      async (store, peer, code) => {
        for (const unknown of [code, '__proto__']) await assertHolders(store, unknown, []);
        assert.equal(await store.take(code, 'anna', 1), true, 'the first holder');
        assert.equal(await peer.take(code, 'bert', 1), false, 'a second holder with max 1');
        assert.equal(await peer.take(code, 'anna', 1), true, 'the holder again');
        assert.equal(await store.take(randomUUID(), 'bert', 1), true, 'another code');
        assert.equal(await store.take(code, 'bert', 2), true, 'a second holder with max 2');
        assert.equal(await peer.take(code, 'carl', 2), false, 'a third holder with max 2');
        assert.equal(await peer.take(code, 'bert', 1), true, 'a holder, although max is lower now');
        await assertHolders(peer, code, ['anna', 'bert']);
      },
    ),

    'releases one holder of a code, or all, and no other': on(async (store, peer, code) => {
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
    }),

    'keeps codes and holders apart, whatever they are': on(async (store, peer, code) => {
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
    }),

    'lets 3 of 500 hold a code that all take at once': on(async (store, peer, code) => {
      const taken = await atOnce(500, (i) => (i % 2 ? store : peer).take(code, `${i}`, 3));
      const winners = taken.flatMap((isHeld, i) => (isHeld === true ? [`${i}`] : []));
      assert.equal(winners.length, 3, 'exactly 3 of 500 must get true');
      const refused = taken.filter((each) => each === false).length;
      assert.equal(refused, 497, 'all others must get false');
      await assertHolders(store, code, winners);
    }),

    'counts a holder once that takes 50 times at once': on(async (store, peer, code) => {
      const taken = await atOnce(50, (i) => (i % 2 ? store : peer).take(code, 'anna', 2));
      assert.deepEqual([...new Set(taken)], [true], 'all must get true');
      assert.equal(await store.take(code, 'bert', 2), true, 'the second seat must be free');
      assert.equal(await store.take(code, 'carl', 2), false, 'there is no third seat');
    }),
  });
}

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
