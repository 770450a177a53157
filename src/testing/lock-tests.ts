import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { SharedCache } from '../cache/shared-cache.js';
import { pass } from './passing-time.js';
import type { AddCacheTest, SharedCacheSetup } from './shared-cache-setup.js';

const HOUR = 3_600_000;

/** Milliseconds; more than a second, since some backends count in seconds. */
const SHORT = 1500;

type Lock = NonNullable<SharedCache['lock']>;
type Release = () => Promise<void>;

/** That a lock has one holder at a time. Nothing is tested where a cache has none, as it may. */
export function addLockTests(add: AddCacheTest): void {
  const addLock = (
    name: string,
    test: (lock: Lock, peerLock: Lock, cache: SharedCache, s: SharedCacheSetup) => Promise<void>,
  ) =>
    add(`${name} (if it has lock)`, async (cache, peer, setup) => {
      if (cache.lock === undefined) return;
      assert.ok(peer.lock, 'a peer must have lock as well');
      await test(cache.lock.bind(cache), peer.lock.bind(peer), cache, setup);
    });

  addLock('gives the lock to one, until it is given back', async (lock, peerLock) => {
    const key = randomUUID();
    const release = taken(await lock(key, HOUR), 'the first');
    assert.equal(await lock(key, HOUR), undefined, 'a second here must get undefined');
    assert.equal(await peerLock(key, HOUR), undefined, 'one in another process, too');
    await release();
    await taken(await peerLock(key, HOUR), 'one after it was given back')();
  });

  addLock('gives the lock to one of 50 who ask at once', async (lock) => {
    const key = randomUUID();
    const got = await Promise.all(Array.from({ length: 50 }, () => lock(key, HOUR)));
    const releases = got.filter((release) => release !== undefined);
    assert.equal(releases.length, 1, 'exactly one of 50 must get the lock');
    for (const release of releases) await release();
  });

  addLock('keeps locks apart from values and from each other', async (lock, _peer, cache) => {
    const [key, other] = [randomUUID(), randomUUID()];
    await cache.set(key, 'value', HOUR);
    const release = taken(await lock(key, HOUR), 'a key that has a value');
    assert.equal(await cache.get(key), 'value', 'the value of a locked key');
    await taken(await lock(other, HOUR), 'another key')();
    await cache.delete(key);
    assert.equal(await lock(key, HOUR), undefined, 'delete of the value must not free the lock');
    await release();
  });

  addLock('frees a lock when its time is over', async (lock, peerLock, _cache, setup) => {
    const key = randomUUID();
    const late = taken(await lock(key, SHORT), 'the first');
    let second: Release | undefined;
    const isFree = async () => {
      second = await peerLock(key, HOUR);
      return second !== undefined;
    };
    await pass(setup, SHORT, isFree, 'the lock must be free after its ttl');
    // The first holder was slow. It must not throw out the one who holds the lock by now.
    await late();
    assert.equal(await lock(key, HOUR), undefined, 'a late release must not free the new lock');
    await taken(second, 'the second')();
    await taken(await lock(key, HOUR), 'one after the second gave it back')();
  });
}

function taken(release: Release | undefined, who: string): Release {
  assert.equal(typeof release, 'function', `${who} must get the lock, as a function`);
  return release ?? (async () => {});
}
