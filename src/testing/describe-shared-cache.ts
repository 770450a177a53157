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

    /** Adds tests that a cache without these methods, which are optional, passes. */
    const optional =
      (...methods: ('lock' | 'subscribe' | 'publish' | 'read' | 'write')[]) =>
      (title: string, test: PeerTest<Required<SharedCache>, SharedCacheSetup>) =>
        add(title, async (cache, peer, ...rest) => {
          const has = (each: SharedCache) => methods.filter((method) => each[method] !== undefined);
          if (has(cache).length === 0) return;
          for (const each of [cache, peer]) {
            assert.deepEqual(has(each), methods, `needs all of ${methods.join(', ')}, or none`);
          }
          await test(cache as Required<SharedCache>, peer as Required<SharedCache>, ...rest);
        });

    add('gives undefined for an unknown key', async (cache, _peer, key) => {
      for (const each of [key, 'constructor']) {
        assert.equal(await cache.get(each), undefined, 'get must give undefined');
      }
    });

    add('gives back the last value set, here and in another process', async (cache, peer, key) => {
      const odd = JSON.stringify({ text: 'é 日本 🔑 "\\ \n' });
      for (const value of [odd, '', 'x'.repeat(200_000)]) {
        await peer.set(key, value, HOUR);
        assert.equal(await cache.get(key), value, 'get in another process');
        assert.equal(await peer.get(key), value, 'get here');
      }
    });

    add('keeps keys apart, to their last character', async (cache, peer) => {
      // As in production, where keys are HMACs in base64url.
      const key = randomBytes(32).toString('base64url').slice(0, -1);
      const keys = [`${key}A`, `${key}a`, `${key}-`];
      for (const each of keys) await cache.set(each, `of ${each}`, HOUR);
      for (const each of keys) assert.equal(await peer.get(each), `of ${each}`, `the key ${each}`);
    });

    add('deletes a value, and nothing without an error', async (cache, peer, key) => {
      const other = randomUUID();
      await cache.set(key, 'value', HOUR);
      await cache.set(other, 'kept', HOUR);
      await peer.delete(key);
      await peer.delete(key);
      assert.equal(await cache.get(key), undefined, 'the deleted key');
      assert.equal(await cache.get(other), 'kept', 'another key');
    });

    add('handles many calls at once', async (cache) => {
      const keys = Array.from({ length: 50 }, () => randomUUID());
      await Promise.all(keys.map((key) => cache.set(key, `of ${key}`, HOUR)));
      const values = await Promise.all(keys.map((key) => cache.get(key)));
      const expected = keys.map((key) => `of ${key}`);
      assert.deepEqual(values, expected);
    });

    add('forgets a value after its ttl', async (cache, _peer, key, setup) => {
      const renewed = randomUUID();
      await cache.set(renewed, 'old', lifetimeIn(setup));
      await cache.set(renewed, 'new', 2 * HOUR);
      await cache.set(key, 'value', lifetimeIn(setup));
      const isGone = async () => (await cache.get(key)) === undefined;
      const whenGone = ['get gives no value before its ttl', 'get gives one after it'] as const;
      await letExpire(setup, isGone, ...whenGone);
      assert.equal(await cache.get(renewed), 'new', 'a value that was set again for longer');
    });

    const addLock = optional('lock');

    addLock('gives a lock to one, until it is released', async (cache, peer, key) => {
      const release = requireRelease(await cache.lock(key, HOUR), 'the first');
      assert.equal(await cache.lock(key, HOUR), undefined, 'a second here must get undefined');
      assert.equal(await peer.lock(key, HOUR), undefined, 'one in another process, too');
      await release();
      await requireRelease(await peer.lock(key, HOUR), 'one after the release')();
    });

    addLock('gives a lock to one of 50 that ask at once', async (cache, _peer, key) => {
      const got = await Promise.all(Array.from({ length: 50 }, () => cache.lock(key, HOUR)));
      const releases = got.filter((release) => release !== undefined);
      assert.equal(releases.length, 1, 'exactly one of 50 must get the lock');
      for (const release of releases) await release();
    });

    addLock('keeps locks apart from values and each other', async (cache, _peer, key) => {
      await cache.set(key, 'value', HOUR);
      const release = requireRelease(await cache.lock(key, HOUR), 'a key that has a value');
      assert.equal(await cache.get(key), 'value', 'the value of a locked key');
      await requireRelease(await cache.lock(randomUUID(), HOUR), 'another key')();
      await cache.delete(key);
      assert.equal(await cache.lock(key, HOUR), undefined, 'delete must not release the lock');
      await release();
    });

    addLock('releases a lock after its ttl', async (cache, peer, key, setup) => {
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

    const addMessage = optional('subscribe', 'publish');

    addMessage('publishes a key, or all keys, to every process', async (cache, peer, key) => {
      const received = new Set<unknown>();
      const ends = [
        await cache.subscribe((each) => received.add(`here ${each}`)),
        await peer.subscribe((each) => received.add(each)),
      ];
      await cache.publish(key);
      await poll(() => received.has(key), 'another process must receive the key');
      await poll(() => received.has(`here ${key}`), 'the publisher itself must receive the key');
      // In production, messages are encrypted, and have up to 200 characters.
      const long = randomBytes(150).toString('base64url');
      await cache.publish(long);
      await poll(() => received.has(long), 'a message of 200 characters must arrive unchanged');
      await cache.publish(undefined);
      const message = 'publish(undefined), for all keys, must be received as undefined';
      await poll(() => received.has(undefined), message);
      for (const end of ends) await end();
    });

    addMessage('ends one subscription and no other', async (cache, peer, key) => {
      const [ended, going] = [new Set<unknown>(), new Set<unknown>()];
      const end = await peer.subscribe((each) => ended.add(each));
      const endOther = await peer.subscribe((each) => going.add(each));
      await end();
      await cache.publish(key);
      await poll(() => going.has(key), 'the other subscription must receive the key');
      assert.ok(!ended.has(key), 'the ended subscription must receive nothing');
      await endOther();
    });

    const addOrder = optional('read', 'write');

    addOrder('reads what was written, with order and ttl', async (cache, peer, key) => {
      const { value, order: none, ttl } = await cache.read(key);
      assert.deepEqual({ value, none, ttl }, { value: undefined, none: 0, ttl: 0 }, 'no row');
      assert.equal(await cache.write(key, 'é 1:2 "\n"', HOUR, 7), true, 'write must give true');
      for (const each of [cache, peer]) {
        const row = await each.read(key);
        assert.equal(row.value, 'é 1:2 "\n"');
        assert.equal(row.order, 7);
        assert.ok(row.ttl > 0 && row.ttl <= HOUR, 'ttl must be the rest of it');
      }
    });

    addOrder('keeps the later of two writes, however they arrive', async (cache, peer, key) => {
      // As in production, orders are times in microseconds, with 16 digits.
      const { now } = await cache.read(key);
      assert.equal(await cache.write(key, 'second', HOUR, now + 1), true);
      assert.equal(await peer.write(key, 'first', HOUR, now), false, 'an earlier one must lose');
      assert.equal(await peer.write(key, 'same', HOUR, now + 1), false, 'an equal one must lose');
      assert.equal((await peer.read(key)).value, 'second');
      assert.equal(await peer.write(key, 'third', HOUR, now + 2), true);
      assert.equal((await cache.read(key)).value, 'third');
    });

    addOrder('deletes what was written, whatever its order', async (cache, peer, key) => {
      await cache.write(key, 'value', HOUR, 7);
      await peer.delete(key);
      assert.equal((await cache.read(key)).value, undefined, 'the deleted key');
      assert.equal(await cache.write(key, 'earlier', HOUR, 6), true, 'its order is forgotten too');
    });

    addOrder('decides in one step between 50 writes at once', async (cache, peer, key) => {
      const orders = Array.from({ length: 50 }, (_, i) => i + 1);
      const shuffled = orders.toSorted((a, b) => ((a * 7919) % 53) - ((b * 7919) % 53));
      const write = (each: number, i: number) =>
        (i % 2 ? cache : peer).write(key, `${each}`, HOUR, each);
      await Promise.all(shuffled.map(write));
      const row = await cache.read(key);
      assert.deepEqual([row.value, row.order], ['50', 50]);
    });

    addOrder('gives all processes one time, which never goes back', async (cache, peer, key) => {
      const times: number[] = [];
      for (let i = 0; i < 5; i++) times.push((await (i % 2 ? cache : peer).read(key)).now);
      const sorted = times.toSorted((a, b) => a - b);
      assert.deepEqual(times, sorted, '"now" must not go back');
      assert.ok(times.every(Number.isSafeInteger), '"now" must be whole microseconds');
    });

    addOrder('counts the time in microseconds', async (cache, _peer, key, setup) => {
      const { now } = await cache.read(key);
      // Half of what passes at least, because clocks are corrected.
      const isLater = async () => (await cache.read(key)).now - now > 50_000;
      // A server's own time can be one that `advance` does not move.
      await setup.advance?.(100);
      await poll(isLater, '"now" must go on as the time does');
      assert.ok((await cache.read(key)).now - now < 60_000_000, '"now" goes on too fast');
    });
  });
}

/** Asserts that a lock was given. @returns the function that releases it. */
function requireRelease(
  release: (() => Promise<void>) | undefined,
  who: string,
): () => Promise<void> {
  assert.ok(typeof release === 'function', `${who} must get the lock, as a function`);
  return release;
}
