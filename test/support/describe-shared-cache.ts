import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import type { SharedCache } from 'marketgate';
import {
  atOnce,
  HOUR,
  letExpire,
  lifetimeIn,
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

/** Tests the contract of a `SharedCache`. */
export function describeSharedCache(
  name: string,
  make: () => SharedCacheSetup | Promise<SharedCacheSetup>,
  runner: TestRunner,
): void {
  suite('describeSharedCache', name, 'cache', make, runner, (addTest) => {
    const add = (title: string, test: CacheTest) =>
      addTest(title, (setup) => test(setup.cache, setup.peer ?? setup.cache, randomUUID(), setup));

    add('reads what was written, here and in another process', async (cache, peer, key) => {
      for (const unknown of [key, 'constructor']) await assertRow(cache, unknown, undefined, 0);
      const odd = JSON.stringify({ text: 'é 日本 🔑 "\\ \n' });
      for (const [i, value] of ['1:2', odd, '', 'x'.repeat(200_000)].entries()) {
        assert.equal(await peer.write(key, value, HOUR, i), true, 'write must give true');
        for (const each of [cache, peer]) await assertRow(each, key, value, i);
      }
    });

    add('keeps keys apart, to their last character', async (cache, peer) => {
      // As in production, where keys are HMACs in base64url.
      const key = randomBytes(32).toString('base64url').slice(0, -1);
      const keys = [`${key}A`, `${key}a`, `${key}-`];
      for (const each of keys) await cache.write(each, `of ${each}`, HOUR, 1);
      for (const each of keys) await assertRow(peer, each, `of ${each}`, 1);
    });

    add('keeps the later of two writes, however they arrive', async (cache, peer, key) => {
      // As in production, orders are times in microseconds, with 16 digits.
      const { now } = await cache.read(key);
      assert.equal(await cache.write(key, 'second', HOUR, now + 1), true);
      assert.equal(await peer.write(key, 'first', HOUR, now), false, 'an earlier one must lose');
      assert.equal(await peer.write(key, 'same', HOUR, now + 1), false, 'an equal one must lose');
      await assertRow(peer, key, 'second', now + 1);
      assert.equal(await peer.write(key, 'third', HOUR, now + 2), true);
      await assertRow(cache, key, 'third', now + 2);
    });

    add('decides in one step between 50 writes at once', async (cache, peer, key) => {
      await atOnce(50, [cache, peer], (each, i) => {
        // All of them, in no order.
        const order = 1 + ((i * 37) % 50);
        return each.write(key, `${order}`, HOUR, order);
      });
      await assertRow(cache, key, '50', 50);
    });

    add('deletes a row with its order, and nothing without an error', async (cache, peer, key) => {
      const other = randomUUID();
      for (const each of [key, other]) await cache.write(each, 'value', HOUR, 7);
      for (const _twice of [1, 2]) await peer.delete(key);
      await assertRow(cache, key, undefined, 0);
      await assertRow(cache, other, 'value', 7);
      assert.equal(await cache.write(key, 'earlier', HOUR, 6), true, 'its order is forgotten too');
    });

    add('forgets a row after its ttl', async (cache, _peer, key, setup) => {
      const renewed = randomUUID();
      await cache.write(renewed, 'old', lifetimeIn(setup), 7);
      await cache.write(renewed, 'new', 2 * HOUR, 8);
      const begin = () => cache.write(key, 'value', lifetimeIn(setup), 7);
      const isOver = async () => (await cache.read(key)).value === undefined;
      await letExpire(setup, 'a row', begin, isOver);
      await assertRow(cache, key, undefined, 0);
      assert.equal(await cache.write(key, 'earlier', HOUR, 6), true, 'write over an expired row');
      await assertRow(cache, renewed, 'new', 8);
    });

    add('gives all processes one time in microseconds, which never goes back', async (...given) => {
      const [cache, peer, key, setup] = given;
      const times: number[] = [];
      for (let i = 0; i < 5; i++) times.push((await (i % 2 ? cache : peer).read(key)).now);
      const sorted = times.toSorted((a, b) => a - b);
      assert.deepEqual(times, sorted, '"now" must not go back');
      assert.ok(times.every(Number.isSafeInteger), '"now" must be whole microseconds');
      const [now = 0] = times;
      // Half of what passes at least, because clocks are corrected.
      const isLater = async () => (await cache.read(key)).now - now > 50_000;
      // A server's own time can be one that `advance` does not move.
      await setup.advance?.(100);
      await poll(isLater, '"now" must go on as the time does');
      assert.ok((await cache.read(key)).now - now < 60_000_000, '"now" goes on too fast');
    });

    add('gives a lock to one of 50 that ask at once, until it is released', async (...given) => {
      const [cache, peer, key] = given;
      await cache.write(key, 'value', HOUR, 7);
      const got = await atOnce(50, [cache, peer], (each) => each.lock(key, HOUR));
      const [release, ...others] = got.filter((each) => each !== undefined);
      assert.equal(others.length, 0, 'only one of 50 must get the lock');
      await assertRow(cache, key, 'value', 7);
      await (await requireLock(cache, randomUUID(), 'another key'))();
      await cache.delete(key);
      assert.equal(await peer.lock(key, HOUR), undefined, 'delete must not release the lock');
      assert.ok(typeof release === 'function', 'one of 50 must get the lock, as a function');
      await release();
      await (await requireLock(peer, key, 'one after the release'))();
    });

    add('releases a lock after its ttl', async (cache, peer, key, setup) => {
      let late: Awaited<ReturnType<typeof cache.lock>>;
      const begin = async () => {
        late = await requireLock(cache, key, 'the first', lifetimeIn(setup));
      };
      let second: Awaited<ReturnType<typeof cache.lock>>;
      await letExpire(setup, 'a lock', begin, async () => {
        second = await peer.lock(key, HOUR);
        return second !== undefined;
      });
      // The release of a slow holder must not release the next holder's lock.
      await late?.();
      assert.equal(await cache.lock(key, HOUR), undefined, 'a late release must release nothing');
      await second?.();
      await (await requireLock(cache, key, 'one after the second released it'))();
    });

    add('publishes each message to all subscriptions, until their end', async (...given) => {
      const [cache, peer, key] = given;
      const [here, there, ended] = [await listen(cache), await listen(peer), await listen(peer)];
      // In production, messages are encrypted, and have up to 200 characters.
      const messages = [key, 'é 日本 🔑 "\\ \n', '', randomBytes(150).toString('base64url')];
      for (const message of messages) {
        await cache.publish(message);
        await poll(() => there.heard.has(message), `another process must receive "${message}"`);
        await poll(() => here.heard.has(message), `the publisher must receive "${message}"`);
      }
      await ended.end();
      await cache.publish('last');
      await poll(() => there.heard.has('last'), 'the other subscription must go on');
      assert.ok(!ended.heard.has('last'), 'the ended subscription must receive nothing');
      for (const { end } of [here, there]) await end();
    });
  });
}

async function assertRow(
  cache: SharedCache,
  key: string,
  value: string | undefined,
  order: number,
): Promise<void> {
  const row = await cache.read(key);
  assert.deepEqual([row.value, row.order], [value, order], `the value and the order of ${key}`);
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

/** Takes a lock that is free. @returns the function that releases it. */
async function requireLock(
  cache: SharedCache,
  key: string,
  who: string,
  ttl = HOUR,
): Promise<() => Promise<void>> {
  const release = await cache.lock(key, ttl);
  assert.ok(typeof release === 'function', `${who} must get the lock, as a function`);
  return release;
}

/** A test of a cache and its peer. `key` is one that no earlier run has used. */
type CacheTest = (
  cache: SharedCache,
  peer: SharedCache,
  key: string,
  setup: SharedCacheSetup,
) => Promise<void>;

/** Milliseconds that a message can take. */
const TOLERANCE = 3000;

/** Waits until `isTrue`, or fails with `message`. */
async function poll(isTrue: () => boolean | Promise<boolean>, message: string): Promise<void> {
  const deadline = performance.now() + TOLERANCE;
  while (!(await isTrue())) {
    assert.ok(performance.now() < deadline, message);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
