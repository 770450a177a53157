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
      for (const unknown of [key, 'constructor']) await assertValue(cache, unknown, undefined);
      const odd = JSON.stringify({ text: 'é 日本 🔑 "\\ \n' });
      for (const value of ['1:2', odd, '', 'x'.repeat(200_000)]) {
        await write(peer, key, value);
        for (const each of [cache, peer]) await assertValue(each, key, value);
      }
    });

    add('keeps keys apart, to their last character', async (cache, peer) => {
      // As in production, where keys are HMACs in base64url.
      const key = randomBytes(32).toString('base64url').slice(0, -1);
      const keys = [`${key}A`, `${key}a`, `${key}-`];
      for (const each of keys) await write(cache, each, `of ${each}`);
      for (const each of keys) await assertValue(peer, each, `of ${each}`);
    });

    add('gives the age that a value was written with, and the time since', async (...given) => {
      const [cache, peer, key, setup] = given;
      await write(cache, key, 'value', 5 * MINUTE);
      const { age } = await peer.read(key);
      assert.ok(age >= 5 * MINUTE && age < 5 * MINUTE + TOLERANCE, `the age is ${age}`);
      const isOlder = async () => (await peer.read(key)).age - age > 50;
      // A server's own time can be one that `advance` does not move.
      await setup.advance?.(100);
      await poll(isOlder, 'the age must grow as time passes');
      await peer.withdraw(key, 'no', HOUR);
      assert.ok((await cache.read(key)).age < TOLERANCE, 'a withdrawal has the age 0');
    });

    add('stores nothing under a lease that has ended', async (cache, peer, key) => {
      for (const value of [undefined, 'no']) {
        await write(cache, key, 'old');
        const leases = [await cache.read(key), await peer.read(key)].map(({ lease }) => lease);
        await peer.withdraw(key, value, HOUR);
        await assertValue(cache, key, value);
        for (const lease of leases) {
          assert.equal(await cache.write(key, 'late', 0, HOUR, lease), false, 'a late write');
        }
        await assertValue(peer, key, value);
        await write(peer, key, 'new');
        await assertValue(cache, key, 'new');
        await peer.withdraw(key, undefined, HOUR);
      }
    });

    add('ends the leases of one key, and of each withdrawal', async (cache, peer, key) => {
      const other = randomUUID();
      const { lease } = await cache.read(other);
      await peer.withdraw(key, undefined, HOUR);
      assert.equal(await cache.write(other, 'value', 0, HOUR, lease), true, 'another key');
      const between = (await cache.read(key)).lease;
      await peer.withdraw(key, undefined, HOUR);
      assert.equal(await cache.write(key, 'late', 0, HOUR, between), false, 'the second one');
    });

    add('lets one of a withdrawal and 50 writes at once be the last', async (cache, peer, key) => {
      const { lease } = await cache.read(key);
      await Promise.all([
        atOnce(50, [cache, peer], (each, i) => each.write(key, `${i}`, 0, HOUR, lease)),
        peer.withdraw(key, 'no', HOUR),
      ]);
      await assertValue(cache, key, 'no');
    });

    add('forgets a row after its ttl', async (cache, peer, key, setup) => {
      const renewed = randomUUID();
      await write(cache, renewed, 'old', 0, lifetimeIn(setup));
      await write(cache, renewed, 'new', 0, 2 * HOUR);
      const begin = () => write(cache, key, 'value', 0, lifetimeIn(setup));
      const isOver = async () => (await peer.read(key)).value === undefined;
      await letExpire(setup, 'a row', begin, isOver);
      await assertValue(cache, renewed, 'new');
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

async function assertValue(
  cache: SharedCache,
  key: string,
  value: string | undefined,
): Promise<void> {
  assert.equal((await cache.read(key)).value, value, `the value of ${key}`);
}

/** Stores a value under the current lease. */
async function write(
  cache: SharedCache,
  key: string,
  value: string,
  age = 0,
  ttl = HOUR,
): Promise<void> {
  const { lease } = await cache.read(key);
  assert.equal(await cache.write(key, value, age, ttl, lease), true, 'write must give true');
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

/** A test of a cache and its peer. `key` is one that no earlier run has used. */
type CacheTest = (
  cache: SharedCache,
  peer: SharedCache,
  key: string,
  setup: SharedCacheSetup,
) => Promise<void>;

const MINUTE = 60_000;
/** Milliseconds that a message or a call can take. */
const TOLERANCE = 3000;

/** Waits until `isTrue`, or fails with `message`. */
async function poll(isTrue: () => boolean | Promise<boolean>, message: string): Promise<void> {
  const deadline = performance.now() + TOLERANCE;
  while (!(await isTrue())) {
    assert.ok(performance.now() < deadline, message);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
