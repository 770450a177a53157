import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import type { SharedCache } from '../cache/shared-cache.js';
import {
  HOUR,
  letExpire,
  lifetimeIn,
  type PeerTest,
  poll,
  type SuiteSetup,
  suite,
  type TestRunner,
} from './suite.js';

/** What {@link describeSharedCache} is given for each test. */
export interface SharedCacheSetup extends SuiteSetup {
  /** The cache. It need not be empty, because every test uses new keys. */
  cache: SharedCache;
  /** Another cache on the same backend, as in another process. Default: `cache` itself. */
  peer?: SharedCache | undefined;
}

/**
 * Tests the contract of a `SharedCache`, for authors of caches. Runs under vitest, jest,
 * node:test or mocha:
 *
 * ```ts
 * import { describe, it } from 'vitest';
 * import { describeSharedCache } from 'marketgate/testing';
 *
 * describeSharedCache('MyCache', async () => {
 *   const [client, another] = await Promise.all([connect(), connect()]);
 *   return {
 *     cache: new MyCache(client),
 *     peer: new MyCache(another),
 *     close: () => Promise.all([client.end(), another.end()]),
 *   };
 * }, { describe, it });
 * ```
 *
 * A cache that takes a clock is tested without waiting when the setup has `clock` and `advance`.
 */
export function describeSharedCache(
  name: string,
  make: () => SharedCacheSetup | Promise<SharedCacheSetup>,
  runner: TestRunner,
): void {
  suite('describeSharedCache', name, make, runner, (addTest) => {
    const add = (title: string, test: PeerTest<SharedCache, SharedCacheSetup>) =>
      addTest(title, (setup) => test(setup.cache, setup.peer ?? setup.cache, randomUUID(), setup));

    add('reads neither value nor order of an unknown key', async (cache, _peer, key) => {
      for (const each of [key, 'constructor']) {
        const { value, order } = await cache.read(each);
        assert.deepEqual([value, order], [undefined, 0], 'read must give no value, and order 0');
      }
    });

    add('reads what was written, here and in another process', async (cache, peer, key) => {
      const odd = JSON.stringify({ text: 'é 日本 🔑 "\\ \n' });
      for (const [i, value] of ['1:2', odd, '', 'x'.repeat(200_000)].entries()) {
        assert.equal(await peer.write(key, value, HOUR, i), true, 'write must give true');
        for (const [where, each] of Object.entries({ there: cache, here: peer })) {
          const row = await each.read(key);
          assert.equal(row.value, value, `the value, read ${where}`);
          assert.equal(row.order, i, `the order, read ${where}`);
        }
      }
    });

    add('keeps keys apart, to their last character', async (cache, peer) => {
      // As in production, where keys are HMACs in base64url.
      const key = randomBytes(32).toString('base64url').slice(0, -1);
      const keys = [`${key}A`, `${key}a`, `${key}-`];
      for (const each of keys) await cache.write(each, `of ${each}`, HOUR, 1);
      for (const each of keys) {
        assert.equal((await peer.read(each)).value, `of ${each}`, `the key ${each}`);
      }
    });

    add('keeps the later of two writes, however they arrive', async (cache, peer, key) => {
      // As in production, orders are times in microseconds, with 16 digits.
      const { now } = await cache.read(key);
      assert.equal(await cache.write(key, 'second', HOUR, now + 1), true);
      assert.equal(await peer.write(key, 'first', HOUR, now), false, 'an earlier one must lose');
      assert.equal(await peer.write(key, 'same', HOUR, now + 1), false, 'an equal one must lose');
      assert.equal((await peer.read(key)).value, 'second');
      assert.equal(await peer.write(key, 'third', HOUR, now + 2), true);
      assert.equal((await cache.read(key)).value, 'third');
    });

    add('decides in one step between 50 writes at once', async (cache, peer, key) => {
      const orders = Array.from({ length: 50 }, (_, i) => i + 1);
      const shuffled = orders.toSorted((a, b) => ((a * 7919) % 53) - ((b * 7919) % 53));
      const write = (each: number, i: number) =>
        (i % 2 ? cache : peer).write(key, `${each}`, HOUR, each);
      await Promise.all(shuffled.map(write));
      const row = await cache.read(key);
      assert.deepEqual([row.value, row.order], ['50', 50]);
    });

    add('deletes a row with its order, and nothing without an error', async (cache, peer, key) => {
      const other = randomUUID();
      for (const each of [key, other]) await cache.write(each, 'value', HOUR, 7);
      await peer.delete(key);
      await peer.delete(key);
      const { value, order } = await cache.read(key);
      assert.deepEqual([value, order], [undefined, 0], 'the deleted key');
      assert.equal((await cache.read(other)).value, 'value', 'another key');
      assert.equal(await cache.write(key, 'earlier', HOUR, 6), true, 'its order is forgotten too');
    });

    add('forgets a row after its ttl', async (cache, _peer, key, setup) => {
      const renewed = randomUUID();
      await cache.write(renewed, 'old', lifetimeIn(setup), 7);
      await cache.write(renewed, 'new', 2 * HOUR, 8);
      await cache.write(key, 'value', lifetimeIn(setup), 7);
      const isGone = async () => (await cache.read(key)).value === undefined;
      const whenGone = ['read gives no value before its ttl', 'read gives one after it'] as const;
      await letExpire(setup, isGone, ...whenGone);
      assert.equal((await cache.read(key)).order, 0, 'the order of an expired row');
      assert.equal(await cache.write(key, 'earlier', HOUR, 6), true, 'write over an expired row');
      const { value } = await cache.read(renewed);
      assert.equal(value, 'new', 'a row that was written again for longer');
    });

    add('gives all processes one time, which never goes back', async (cache, peer, key) => {
      const times: number[] = [];
      for (let i = 0; i < 5; i++) times.push((await (i % 2 ? cache : peer).read(key)).now);
      const sorted = times.toSorted((a, b) => a - b);
      assert.deepEqual(times, sorted, '"now" must not go back');
      assert.ok(times.every(Number.isSafeInteger), '"now" must be whole microseconds');
    });

    add('counts the time in microseconds', async (cache, _peer, key, setup) => {
      const { now } = await cache.read(key);
      // Half of what passes at least, because clocks are corrected.
      const isLater = async () => (await cache.read(key)).now - now > 50_000;
      // A server's own time can be one that `advance` does not move.
      await setup.advance?.(100);
      await poll(isLater, '"now" must go on as the time does');
      assert.ok((await cache.read(key)).now - now < 60_000_000, '"now" goes on too fast');
    });

    add('gives a lock to one, until it is released', async (cache, peer, key) => {
      const release = requireRelease(await cache.lock(key, HOUR), 'the first');
      assert.equal(await cache.lock(key, HOUR), undefined, 'a second here must get undefined');
      assert.equal(await peer.lock(key, HOUR), undefined, 'one in another process, too');
      await release();
      await requireRelease(await peer.lock(key, HOUR), 'one after the release')();
    });

    add('gives a lock to one of 50 that ask at once', async (cache, _peer, key) => {
      const got = await Promise.all(Array.from({ length: 50 }, () => cache.lock(key, HOUR)));
      const releases = got.filter((release) => release !== undefined);
      assert.equal(releases.length, 1, 'exactly one of 50 must get the lock');
      for (const release of releases) await release();
    });

    add('keeps locks apart from rows and each other', async (cache, _peer, key) => {
      await cache.write(key, 'value', HOUR, 7);
      const release = requireRelease(await cache.lock(key, HOUR), 'a key that has a value');
      assert.equal((await cache.read(key)).value, 'value', 'the value of a locked key');
      await requireRelease(await cache.lock(randomUUID(), HOUR), 'another key')();
      await cache.delete(key);
      assert.equal(await cache.lock(key, HOUR), undefined, 'delete must not release the lock');
      await release();
    });

    add('releases a lock after its ttl', async (cache, peer, key, setup) => {
      const late = requireRelease(await cache.lock(key, lifetimeIn(setup)), 'the first');
      let second: Awaited<ReturnType<typeof cache.lock>>;
      const isFree = async () => {
        second = await peer.lock(key, HOUR);
        return second !== undefined;
      };
      const whenFree = 'the lock must be free after its ttl, and not before';
      await letExpire(setup, isFree, whenFree, whenFree);
      // The release of a slow holder must not release the next holder's lock.
      await late();
      assert.equal(await cache.lock(key, HOUR), undefined, 'a late release must release nothing');
      await requireRelease(second, 'the second')();
      await requireRelease(await cache.lock(key, HOUR), 'one after the second released it')();
    });

    add('publishes a message to every process, unchanged', async (cache, peer, key) => {
      const [here, there] = await Promise.all([listen(cache), listen(peer)]);
      // In production, messages are encrypted, and have up to 200 characters.
      const messages = [key, 'é 日本 🔑 "\\ \n', '', randomBytes(150).toString('base64url')];
      for (const message of messages) {
        await cache.publish(message);
        await poll(() => there.heard.has(message), `another process must receive "${message}"`);
        await poll(() => here.heard.has(message), `the publisher must receive "${message}"`);
      }
      for (const { end } of [here, there]) await end();
    });

    add('ends one subscription and no other', async (cache, peer, key) => {
      const [ended, going] = await Promise.all([listen(peer), listen(peer)]);
      await ended.end();
      await cache.publish(key);
      await poll(() => going.heard.has(key), 'the other subscription must receive the message');
      assert.ok(!ended.heard.has(key), 'the ended subscription must receive nothing');
      await going.end();
    });
  });
}

/** Subscribes, and waits until the cache reports that messages arrive. */
async function listen(cache: SharedCache) {
  const heard = new Set<string>();
  let isListening = false;
  const end = await cache.subscribe(
    (message) => heard.add(message),
    (each) => {
      isListening = each;
    },
  );
  await poll(() => isListening, 'onListening must be called with true once messages arrive');
  return { heard, end };
}

/** Asserts that a lock was given. @returns the function that releases it. */
function requireRelease(
  release: (() => Promise<void>) | undefined,
  who: string,
): () => Promise<void> {
  assert.ok(typeof release === 'function', `${who} must get the lock, as a function`);
  return release;
}
