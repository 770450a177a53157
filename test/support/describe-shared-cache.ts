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
type CacheTest = (
  cache: SharedCache,
  peer: SharedCache,
  key: string,
  advance: SharedCacheSetup['advance'],
) => Promise<void>;

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
/** Milliseconds that a message or a call can take. */
const TOLERANCE = 3000;
const SOON = { timeout: TOLERANCE, interval: 10 };

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
  async 'reads what was written, here and in another process'(cache, peer, key) {
    for (const unknown of [key, 'constructor'])
      expect(await valueIn(cache, unknown)).toBeUndefined();
    const odd = JSON.stringify({ text: 'é 日本 🔑 "\\ \n' });
    for (const value of ['1:2', odd, '', 'x'.repeat(200_000)]) {
      await write(peer, key, value);
      for (const each of [cache, peer]) expect(await valueIn(each, key)).toBe(value);
    }
  },

  async 'keeps keys apart, to their last character'(cache, peer) {
    // As in production, where keys are HMACs in base64url.
    const key = randomBytes(32).toString('base64url').slice(0, -1);
    const keys = [`${key}A`, `${key}a`, `${key}-`];
    for (const each of keys) await write(cache, each, `of ${each}`);
    for (const each of keys) expect(await valueIn(peer, each)).toBe(`of ${each}`);
  },

  async 'gives the age that a value was written with, and the time since'(...given) {
    const [cache, peer, key, advance] = given;
    await write(cache, key, 'value', 2 * HOUR);
    await advance(MINUTE);
    const { age } = await peer.read(key);
    expect(age).toBeGreaterThanOrEqual(2 * HOUR + MINUTE);
    expect(age).toBeLessThan(2 * HOUR + MINUTE + TOLERANCE);
    await peer.withdraw(key, 'no', HOUR);
    expect((await cache.read(key)).age).toBeLessThan(TOLERANCE);
  },

  async 'stores nothing under a lease that has ended'(cache, peer, key) {
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
      await peer.withdraw(key, undefined, HOUR);
    }
  },

  async 'remembers the end of a lease for two minutes, however short the rows live'(...given) {
    const [cache, peer, key, advance] = given;
    const { lease } = await cache.read(key);
    await peer.withdraw(key, 'no', 1000);
    await advance(1000);
    await write(peer, key, 'value', 0, 1000);
    await advance(118_000);
    expect(await valueIn(cache, key)).toBeUndefined();
    expect(await cache.write(key, 'late', 0, HOUR, lease)).toBe(false);
  },

  async 'ends the leases of one key, and of each withdrawal'(cache, peer, key) {
    const other = randomUUID();
    const { lease } = await cache.read(other);
    await peer.withdraw(key, undefined, HOUR);
    expect(await cache.write(other, 'value', 0, HOUR, lease), 'another key').toBe(true);
    const between = (await cache.read(key)).lease;
    await peer.withdraw(key, undefined, HOUR);
    expect(await cache.write(key, 'late', 0, HOUR, between), 'the second one').toBe(false);
  },

  async 'lets one of a withdrawal and 50 writes at once be the last'(cache, peer, key) {
    const { lease } = await cache.read(key);
    const writes = Array.from({ length: 50 }, (_, i) =>
      (i % 2 ? cache : peer).write(key, `${i}`, 0, HOUR, lease),
    );
    await Promise.all([...writes, peer.withdraw(key, 'no', HOUR)]);
    expect(await valueIn(cache, key)).toBe('no');
  },

  async 'forgets a row after its ttl'(cache, peer, key, advance) {
    const renewed = randomUUID();
    await write(cache, renewed, 'old');
    await write(cache, renewed, 'new', 0, 2 * HOUR);
    await write(cache, key, 'value');
    await advance(HOUR - MINUTE);
    expect(await valueIn(peer, key)).toBe('value');
    await advance(MINUTE);
    expect(await valueIn(peer, key)).toBeUndefined();
    expect(await valueIn(cache, renewed)).toBe('new');
  },

  async 'publishes each message to all subscriptions, until their end'(cache, peer, key) {
    const [here, there, ended] = [await listen(cache), await listen(peer), await listen(peer)];
    const hears = ({ heard }: typeof here, message: string) =>
      vi.waitFor(() => expect([...heard]).toContain(message), SOON);
    // In production, messages are encrypted, and have up to 200 characters.
    const messages = [key, 'é 日本 🔑 "\\ \n', '', randomBytes(150).toString('base64url')];
    for (const message of messages) {
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
      await test(cache, peer, randomUUID(), advance);
    });
  });
}
