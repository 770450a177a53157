import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { pass } from './passing-time.js';
import type { AddCacheTest } from './shared-cache-setup.js';

const HOUR = 3_600_000;

/** Milliseconds; more than a second, since some backends count in seconds. */
const SHORT = 1500;

/** That a shared cache keeps strings for all processes, for as long as it is told. */
export function addCacheKeepingTests(add: AddCacheTest): void {
  add('gives undefined for a key it does not know', async (cache) => {
    assert.equal(await cache.get(randomUUID()), undefined, 'get must give undefined');
    assert.equal(await cache.get('constructor'), undefined, 'get must give undefined');
  });

  add('gives back what was set, here and in another process', async (cache, peer) => {
    const key = randomUUID();
    const value = JSON.stringify({ text: 'é 日本 🔑 "\\ \n' });
    await cache.set(key, value, HOUR);
    assert.equal(await cache.get(key), value, 'get here');
    assert.equal(await peer.get(key), value, 'get in another process');
  });

  add('keeps an empty string and a long one', async (cache) => {
    const key = randomUUID();
    for (const value of ['', 'x'.repeat(200_000)]) {
      await cache.set(key, value, HOUR);
      assert.equal(await cache.get(key), value);
    }
  });

  add('puts a new value in place of the old one', async (cache, peer) => {
    const key = randomUUID();
    await cache.set(key, 'old', HOUR);
    await peer.set(key, 'new', HOUR);
    assert.equal(await cache.get(key), 'new');
  });

  add('forgets what is deleted, and takes it calmly when there is nothing', async (cache, peer) => {
    const [key, other] = [randomUUID(), randomUUID()];
    await cache.set(key, 'value', HOUR);
    await cache.set(other, 'kept', HOUR);
    await peer.delete(key);
    await peer.delete(key);
    assert.equal(await cache.get(key), undefined, 'the deleted key');
    assert.equal(await cache.get(other), 'kept', 'another key');
  });

  add('copes with many at once', async (cache) => {
    const keys = Array.from({ length: 50 }, () => randomUUID());
    await Promise.all(keys.map((key) => cache.set(key, `of ${key}`, HOUR)));
    const values = await Promise.all(keys.map((key) => cache.get(key)));
    assert.deepEqual(
      values,
      keys.map((key) => `of ${key}`),
    );
  });

  add('forgets a value when its time is over', async (cache, _peer, setup) => {
    const [key, renewed] = [randomUUID(), randomUUID()];
    await cache.set(key, 'value', SHORT);
    await cache.set(renewed, 'old', SHORT);
    await cache.set(renewed, 'new', HOUR);
    if (setup.advance !== undefined) {
      await setup.advance(SHORT - 1000);
      assert.equal(await cache.get(key), 'value', 'a second before its time is over');
    }
    const isGone = async () => (await cache.get(key)) === undefined;
    await pass(setup, SHORT, isGone, 'get still gives a value after its ttl');
    assert.equal(await cache.get(renewed), 'new', 'one that was set again for longer');
  });
}
