import { randomBytes, randomUUID } from 'node:crypto';
import type { SharedCache } from 'marketgate';
import { describe, expect, it, vi } from 'vitest';

/** What {@link describeSharedCache} is given for each test. */
export interface SharedCacheSetup {
  /** The cache. It need not be empty, because every test uses new keys. */
  cache: SharedCache;
  /** Another cache on the same backend, as in another process. Default: `cache` itself. */
  peer?: SharedCache;
  /** Lets milliseconds pass for all rows. */
  advance(milliseconds: number): unknown;
}

/** A test of a cache and its peer. `key` is one that no earlier run has used. */
type CacheTest = (given: Required<SharedCacheSetup> & { key: string }) => Promise<void>;

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
/** Milliseconds that a message or a call can take. */
const TOLERANCE = 3000;
const SOON = { timeout: TOLERANCE, interval: 10 };
/** A text that an encoding could change. */
const ODD = JSON.stringify({ text: 'é 日本 🔑 "\\ \n' });

const valueIn = async (cache: SharedCache, key: string) => (await cache.read(key)).value;

/** Stores a value under the current lease. */
async function write(cache: SharedCache, key: string, value: string, age = 0, ttl = HOUR) {
  const { lease } = await cache.read(key);
  expect(await cache.write(key, value, age, ttl, lease)).toBe(true);
}

/** Subscribes, and waits until the cache reports that messages arrive. */
async function listen(cache: SharedCache) {
  const heard = new Set<string>();
  const onListening = vi.fn();
  const end = await cache.subscribe((message) => heard.add(message), onListening);
  await vi.waitFor(() => expect(onListening).toHaveBeenLastCalledWith(true), SOON);
  return { heard, end };
}

const TESTS: Record<string, CacheTest> = {
  async 'reads what was written under exactly this key'({ cache, peer, key }) {
    for (const unknown of [key, 'constructor']) {
      expect(await valueIn(cache, unknown)).toBeUndefined();
    }
    // In production, keys are HMACs in base64url.
    const name = randomBytes(32).toString('base64url').slice(0, -1);
    const ends = { A: '1:2', a: ODD, '-': '', _: 'x'.repeat(200_000) };
    const rows = Object.entries(ends);
    for (const [end] of rows) await write(peer, name + end, 'old');
    for (const [end, value] of rows) await write(peer, name + end, value);
    for (const [end, value] of rows) {
      for (const each of [cache, peer]) expect(await valueIn(each, name + end)).toBe(value);
    }
  },

  async 'gives a value and its age until the ttl'({ cache, peer, key, advance }) {
    const renewed = randomUUID();
    await write(cache, renewed, 'old');
    await write(cache, renewed, 'new', 0, 2 * HOUR);
    await write(cache, key, 'value', 2 * HOUR);
    await advance(HOUR - MINUTE);
    const { value, age } = await peer.read(key);
    expect(value).toBe('value');
    expect(age).toBeGreaterThanOrEqual(3 * HOUR - MINUTE);
    expect(age).toBeLessThan(3 * HOUR - MINUTE + TOLERANCE);
    await advance(MINUTE);
    expect(await valueIn(peer, key)).toBeUndefined();
    expect(await valueIn(cache, renewed)).toBe('new');
    await peer.withdraw(renewed, 'no', HOUR);
    expect((await cache.read(renewed)).age).toBeLessThan(TOLERANCE);
  },

  async 'stores nothing under a lease that has ended'({ cache, peer, key }) {
    const other = randomUUID();
    const { lease: ofOther } = await cache.read(other);
    for (const value of [undefined, 'no']) {
      await write(cache, key, 'old');
      const leases = [await cache.read(key), await peer.read(key)].map(({ lease }) => lease);
      await peer.withdraw(key, value, HOUR);
      for (const lease of leases) {
        expect(await cache.write(key, 'late', 0, HOUR, lease)).toBe(false);
      }
      for (const each of [cache, peer]) expect(await valueIn(each, key)).toBe(value);
      await write(peer, key, 'new');
      expect(await valueIn(cache, key)).toBe('new');
    }
    expect(await cache.write(other, 'value', 0, HOUR, ofOther)).toBe(true);
  },

  async 'remembers the end of a lease for two minutes'({ cache, peer, key, advance }) {
    const { lease } = await cache.read(key);
    await peer.withdraw(key, 'no', 1000);
    await advance(1000);
    await write(peer, key, 'value', 0, 1000);
    await advance(118_000);
    expect(await valueIn(cache, key)).toBeUndefined();
    expect(await cache.write(key, 'late', 0, HOUR, lease)).toBe(false);
  },

  async 'lets one of a withdrawal and 50 writes at once be the last'({ cache, peer, key }) {
    const { lease } = await cache.read(key);
    const writes = Array.from({ length: 50 }, (_, i) =>
      (i % 2 ? cache : peer).write(key, `${i}`, 0, HOUR, lease),
    );
    await Promise.all([...writes, peer.withdraw(key, 'no', HOUR)]);
    expect(await valueIn(cache, key)).toBe('no');
  },

  async 'publishes each message to all subscriptions, until their end'({ cache, peer, key }) {
    const [here, there, ended] = [await listen(cache), await listen(peer), await listen(peer)];
    const hears = ({ heard }: typeof here, message: string) =>
      vi.waitFor(() => expect([...heard]).toContain(message), SOON);
    // In production, messages are encrypted, and have up to 200 characters.
    for (const message of [key, ODD, '', randomBytes(150).toString('base64url')]) {
      await cache.publish(message);
      for (const each of [here, there]) await hears(each, message);
    }
    await ended.end();
    await cache.publish('last');
    await hears(there, 'last');
    expect([...ended.heard]).not.toContain('last');
    for (const { end } of [here, there]) await end();
  },
};

/** Tests the contract of a `SharedCache`. */
export function describeSharedCache(name: string, make: () => SharedCacheSetup): void {
  describe(name, () => {
    it.each(Object.entries(TESTS))('%s', async (_title, test) => {
      const { cache, peer = cache, advance } = make();
      await test({ cache, peer, key: randomUUID(), advance });
    });
  });
}
