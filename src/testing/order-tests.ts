import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { SharedCache, SharedRow } from '../cache/shared-cache.js';
import type { AddCacheTest } from './shared-cache-setup.js';

const HOUR = 3_600_000;

type Ordered = SharedCache & Required<Pick<SharedCache, 'read' | 'write'>>;

const isOrdered = (cache: SharedCache): cache is Ordered =>
  typeof cache.read === 'function' && typeof cache.write === 'function';

/** That a shared cache with `read` and `write` keeps the order of what is written. */
export function addOrderTests(add: AddCacheTest): void {
  const addOrdered = (title: string, test: (cache: Ordered, peer: Ordered) => Promise<void>) =>
    add(`read and write: ${title}`, async (cache, peer) => {
      // Both are optional.
      if (isOrdered(cache) && isOrdered(peer)) await test(cache, peer);
    });

  addOrdered(
    'give back what was written, with its order and its time to live',
    async (cache, peer) => {
      const key = randomUUID();
      const { value, order, ttl } = await cache.read(key);
      assert.deepEqual(
        { value, order, ttl },
        { value: undefined, order: 0, ttl: 0 },
        'nothing there',
      );
      assert.equal(
        await cache.write(key, 'é 1:2 "\n"', HOUR, 7),
        true,
        'write must say that it kept it',
      );
      for (const each of [cache, peer]) {
        const row = await each.read(key);
        assert.equal(row.value, 'é 1:2 "\n"');
        assert.equal(row.order, 7);
        assert.ok(row.ttl > 0 && row.ttl <= HOUR, 'ttl must be what is left of it');
      }
    },
  );

  addOrdered('keep the later of two, however they arrive', async (cache, peer) => {
    const key = randomUUID();
    // Orders are microseconds of the present: 16 digits.
    const order = (await cache.read(key)).now;
    assert.equal(await cache.write(key, 'second', HOUR, order + 1), true);
    assert.equal(await peer.write(key, 'first', HOUR, order), false, 'an earlier one must lose');
    assert.equal(
      await peer.write(key, 'same', HOUR, order + 1),
      false,
      'so must one of the same order',
    );
    assert.equal((await peer.read(key)).value, 'second');
    assert.equal(await peer.write(key, 'third', HOUR, order + 2), true);
    assert.equal((await cache.read(key)).value, 'third');
  });

  addOrdered('decide in one step, when many write at once', async (cache, peer) => {
    const key = randomUUID();
    const orders = Array.from({ length: 50 }, (_, i) => i + 1);
    const shuffled = orders.toSorted((a, b) => ((a * 7919) % 53) - ((b * 7919) % 53));
    await Promise.all(
      shuffled.map((order, i) => (i % 2 ? cache : peer).write(key, `${order}`, HOUR, order)),
    );
    const row: SharedRow = await cache.read(key);
    assert.deepEqual([row.value, row.order], ['50', 50]);
  });

  addOrdered('tell one time to all processes, which goes on', async (cache, peer) => {
    const key = randomUUID();
    const times: number[] = [];
    for (let i = 0; i < 5; i++) times.push((await (i % 2 ? cache : peer).read(key)).now);
    assert.deepEqual(
      times,
      times.toSorted((a, b) => a - b),
      '"now" must not go back',
    );
    assert.ok(times.every(Number.isSafeInteger), '"now" must be whole microseconds');
  });
}
