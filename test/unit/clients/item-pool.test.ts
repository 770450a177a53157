import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
import { ItemPool } from '../../../src/clients/item-pool.js';
import type { Item } from '../../../src/model/item.js';

// What the garbage collector may take is not to be seen through a client.
it('the pool keeps no item alive, and forgets those that are gone', async () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const pool = new ItemPool();
  const kept = pool.intern({ id: 1, name: 'kept', media: { thumbnail: 't' } });
  let gone = 0;
  let most = 0;
  const registry = new FinalizationRegistry(() => gone++);
  for (let id = 2; id < 1500; id++) {
    const one: Item = { id, name: 'x', media: { thumbnail: 't' } };
    registry.register(one, id);
    pool.intern(one);
    most = Math.max(most, pool.size);
    if (id % 500 === 0) {
      await sleep(0);
      collect();
    }
  }
  // The engine tells of what it has collected in turns of its own choosing.
  for (let turn = 0; turn < 200 && gone <= 1000; turn++) {
    await sleep(0);
    collect();
  }
  expect(gone).toBeGreaterThan(1000);
  // It looks for them at 1,024, and then only at twice as many as are left.
  expect(most).toBe(1024);
  expect(pool.size).toBeGreaterThan(400);
  expect(pool.intern({ id: 1, name: 'kept', media: { thumbnail: 't' } })).toBe(kept);
});
