import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { KeyApi } from 'marketgate';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Item } from '../../../src/key-api/item.js';
import { ItemPool } from '../../../src/key-api/item-pool.js';
import { MemorySharedCache } from '../../support/memory-shared-cache.js';
import { json, startUpstream } from '../../support/upstream.js';
import { account, CODE, item, KEY, purchase, success } from '../../support/wire.js';

/** A service whose items the test sets: the one in purchases, and the catalogue. */
async function shop(options: object = {}) {
  const self = { now: 1_800_000_000_000, sold: item as object, listed: [item as object] };
  const upstream = await startUpstream((request, res) => {
    if (request.path === '/api/items/all') return json(res, success({ items: self.listed }));
    if (request.path === '/api/items/item') return json(res, success({ item: self.sold }));
    if (request.path !== '/api/purchases/validation') return json(res, success({ data: account }));
    const purchase_code = new URLSearchParams(request.body).get('purchase_code');
    return json(
      res,
      success({ data: { purchase: { ...purchase, purchase_code, item: self.sold } } }),
    );
  });
  const keyApiOf = () => {
    const keyApi = new KeyApi({
      baseUrl: upstream.url,
      apiKey: KEY,
      retries: 0,
      clock: () => self.now,
      ...options,
    });
    onTestFinished(() => keyApi.close());
    return keyApi;
  };
  return { self, keyApi: keyApiOf(), keyApiOf };
}

const soldWith = async (keyApi: KeyApi, code: string) =>
  (await keyApi.validatePurchase(code))?.item;

describe('one copy of an item', () => {
  it('is held by all purchases of it', async () => {
    const { keyApi } = await shop();
    const first = await soldWith(keyApi, 'code-number-1');
    expect(first).toEqual(item);
    expect(await soldWith(keyApi, 'code-number-2')).toBe(first);
    expect(await keyApi.getItem(1042)).toBe(first);
  });

  it('is held by purchases and the list, whichever came first', async () => {
    const { self, keyApi, keyApiOf } = await shop();
    const [listed] = await keyApi.listItems();
    expect(await soldWith(keyApi, 'code-number-1')).toBe(listed);
    const other = keyApiOf();
    const sold = await soldWith(other, 'code-number-1');
    expect((await other.listItems())[0]).toBe(sold);
    self.now += 2 * 3_600_000;
    expect((await other.listItems())[0]).toBe(sold);
  });

  it('is held by purchases that came from other processes', async () => {
    const { keyApi, keyApiOf } = await shop({ cache: { shared: new MemorySharedCache() } });
    await keyApi.validatePurchase('code-number-1');
    await keyApi.validatePurchase('code-number-2');
    const other = keyApiOf();
    const first = await soldWith(other, 'code-number-1');
    expect(await soldWith(other, 'code-number-2')).toBe(first);
  });

  it('is not held by what is not kept', async () => {
    const { keyApi } = await shop({ cache: false });
    const first = await soldWith(keyApi, CODE);
    const second = await soldWith(keyApi, CODE);
    expect(second).toEqual(first);
    expect(second).not.toBe(first);
    expect(Object.isFrozen(first)).toBe(false);
  });
});

describe('two versions of an item', () => {
  it('are never mixed up, nor is the old one changed', async () => {
    const { self, keyApi } = await shop();
    const old = await soldWith(keyApi, 'code-number-1');
    self.sold = { ...item, version: '2.0.0' };
    expect((await soldWith(keyApi, 'code-number-2'))?.version).toBe('2.0.0');
    expect(old?.version).toBe(item.version);
    expect((await soldWith(keyApi, 'code-number-1'))?.version).toBe(item.version);
    self.sold = item;
    expect((await soldWith(keyApi, 'code-number-3'))?.version).toBe(item.version);
  });

  it('are kept apart in purchases and the list', async () => {
    const { self, keyApi } = await shop();
    self.listed = [
      { ...item, version: '2.0.0' },
      { ...item, id: 7, tags: 'a,b' },
    ];
    const [listed, mended] = await keyApi.listItems();
    expect((await soldWith(keyApi, 'code-number-1'))?.version).toBe(item.version);
    expect(listed?.version).toBe('2.0.0');
    expect(mended?.tags).toEqual(['a', 'b']);
    self.now += 2 * 3_600_000;
    expect((await keyApi.listItems())[0]?.version).toBe('2.0.0');
  });
});

describe('what is kept', () => {
  it('is frozen to its depth, mended or not, with fields that nobody knows', async () => {
    const { self, keyApi } = await shop();
    self.sold = { ...item, tags: 'a,b', trace: { deep: [{}] } };
    self.listed = [item, { ...item, id: 7, tags: 'a,b', trace: { deep: [{}] } }];
    const isFrozen = (value: unknown): boolean =>
      typeof value !== 'object' ||
      value === null ||
      (Object.isFrozen(value) && Object.values(value).every(isFrozen));
    expect(isFrozen(await keyApi.validatePurchase(CODE))).toBe(true);
    expect(isFrozen(await keyApi.listItems())).toBe(true);
    expect(isFrozen(await keyApi.getItem(99))).toBe(true);
  });

  it('is frozen for callers at the same time, also when it was invalidated meanwhile', async () => {
    const { keyApi } = await shop();
    const both = Promise.all([keyApi.validatePurchase(CODE), keyApi.validatePurchase(CODE)]);
    await keyApi.invalidate(CODE);
    const [one, other] = await both;
    expect(one).toBe(other);
    expect(Object.isFrozen(one?.item)).toBe(true);
  });
});

it('the pool keeps no item alive, and forgets those that are gone', async () => {
  setFlagsFromString('--expose-gc');
  const gc = runInNewContext('gc') as () => void;
  const pool = new ItemPool();
  const kept = pool.intern({ id: 1, name: 'kept', media: { thumbnail: 't' } });
  let gone = 0;
  let most = 0;
  const registry = new FinalizationRegistry(() => gone++);
  for (let id = 2; id < 3000; id++) {
    const one: Item = { id, name: 'x', media: { thumbnail: 't' } };
    registry.register(one, id);
    pool.intern(one);
    most = Math.max(most, pool.size);
    if (id % 500 === 0) {
      await sleep(0);
      gc();
    }
  }
  await sleep(0);
  gc();
  await sleep(0);
  expect(gone).toBeGreaterThan(2000);
  // It looks for them at 1,024, and then only at twice as many as are left.
  expect(most).toBe(1024);
  expect(pool.size).toBeGreaterThan(400);
  expect(pool.intern({ id: 1, name: 'kept', media: { thumbnail: 't' } })).toBe(kept);
});

it('an item without a name was listed, when a purchase had held it before', async () => {
  const { self, keyApi } = await shop();
  const { name: _, ...nameless } = item;
  self.sold = nameless;
  self.listed = [nameless, { ...item, id: 1043 }];
  expect((await soldWith(keyApi, CODE))?.id).toBe(item.id);
  expect((await keyApi.listItems()).map(({ id }) => id)).toEqual([1043]);
});
