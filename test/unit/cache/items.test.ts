import { describe, expect, it } from 'vitest';
import { expectError, rejection } from '../../support/errors.js';
import { hear } from '../../support/hear.js';
import { ITEM, ITEMS, KeyApiService, keyApiOn, settle } from '../../support/key-api-service.js';
import { MemorySharedCache } from '../../support/memory-shared-cache.js';
import { text } from '../../support/service-in-memory.js';
import { CODE, item, purchase, success } from '../../support/wire.js';
import { alone, HOUR, MINUTE } from './support.js';

async function listed(cache: object = {}) {
  const { service, keyApi } = alone(cache);
  return { service, keyApi, list: await keyApi.listItems() };
}

describe('an item of a cached list', () => {
  it('is served while the list is fresh, and reported as an item', async () => {
    const { service, keyApi, list } = await listed();
    const lookups = hear('lookup');
    expect(await keyApi.getItem(1043)).toBe(list[1]);
    expect(await keyApi.getItem('1042')).toBe(list[0]);
    expect(lookups).toEqual(Array(2).fill({ what: 'item', source: 'cache', outcome: 'positive' }));
    service.now += 5 * MINUTE - 1;
    await keyApi.getItem(1043);
    expect(service.asked(ITEM)).toBe(0);
    // A stale list is not refreshed for one item.
    service.now += 1;
    await keyApi.getItem(1043);
    expect([service.asked(ITEM), service.asked(ITEMS)]).toEqual([1, 1]);
  });

  it.each<[string, number, object]>([
    ['is not in the list', 7, {}],
    ['is requested fresh', 1043, { fresh: true }],
  ])('is requested when it %s', async (_when, id, options) => {
    const { service, keyApi } = await listed();
    await keyApi.getItem(1043);
    const own = await keyApi.getItem(id, options);
    expect(own?.id).toBe(id);
    expect(await keyApi.getItem(id)).toBe(own);
    expect(service.asked(ITEM)).toBe(1);
  });

  it('is requested when the service says that it has no items', async () => {
    const { service, keyApi } = alone();
    service.says = 'negative';
    expect(await keyApi.listItems()).toEqual([]);
    expect(await keyApi.getItem(7)).toBeNull();
    expect(await keyApi.getItem(7)).toBeNull();
    expect(service.asked(ITEM)).toBe(1);
  });

  // What the service said of the item itself, and of the list: the later request counts.
  it.each<[string, 'no' | 'list', number, number, boolean]>([
    ['a negative answer after the list', 'no', 1000, 0, false],
    ['a negative answer of the same millisecond as the list', 'no', 0, 0, false],
    ['a negative answer that is over by now', 'no', 10_000, 31_000, false],
    ['a list after the negative answer', 'list', 1, 0, true],
    ['a list of the same millisecond as the negative answer', 'list', 0, 0, false],
  ])('%s', async (_name, last, later, wait, isServed) => {
    const { service, keyApi } = alone();
    const list = () => keyApi.listItems().then(() => keyApi.getItem(1042));
    const refuse = async () => {
      service.says = 'negative';
      expect(await keyApi.getItem(1042, { fresh: true })).toBeNull();
      service.says = 'positive';
    };
    const [first, second] = last === 'list' ? [refuse, list] : [list, refuse];
    await first();
    service.now += later;
    await second();
    service.later(wait, 'negative');
    expect((await keyApi.getItem(1042))?.id).toBe(isServed ? 1042 : undefined);
  });
});

describe('an item of a cached list in an outage', () => {
  it('is served until staleIfError, and reported so', async () => {
    const { service, keyApi, list } = await listed();
    service.later(24 * HOUR - 1, 'outage');
    const lookups = hear('lookup');
    expect(await keyApi.getItem(1043)).toBe(list[1]);
    expect(lookups).toEqual([
      { what: 'item', source: 'service', outcome: 'failed', code: 'service_unavailable' },
      { what: 'item', source: 'stale-if-error', outcome: 'positive' },
    ]);
    await expectError(keyApi.getItem(7), 'service_unavailable');
    await expectError(keyApi.getItem(1043, { fresh: true }), 'service_unavailable');
    service.now += 1;
    await expectError(keyApi.getItem(1043), 'service_unavailable');
  });

  it('is none once the service said that it is gone, however many were asked for since', async () => {
    const { service, keyApi } = await listed({ maxInvalid: 2 });
    service.later(3 * HOUR, 'negative');
    expect(await keyApi.getItem(1043)).toBeNull();
    for (const id of [90, 91, 92]) expect(await keyApi.getItem(id)).toBeNull();
    service.says = 'outage';
    await expectError(keyApi.getItem(1043), 'service_unavailable');
    expect((await keyApi.getItem(1042))?.id).toBe(1042);
  });

  it('is one again with a list that is younger than the negative answer', async () => {
    const { service, keyApi } = await listed();
    service.later(3 * HOUR, 'negative');
    await keyApi.getItem(1043);
    service.later(1, 'positive');
    await keyApi.listItems({ fresh: true });
    expect((await keyApi.getItem(1043))?.id).toBe(1043);
    service.later(3 * HOUR, 'outage');
    expect((await keyApi.getItem(1043))?.id).toBe(1043);
  });

  it('is none for a caller that leaves with an outage for its reason', async () => {
    const { service, keyApi } = await listed();
    service.later(3 * HOUR, 'outage');
    const reason = await rejection(keyApi.getAccount());
    service.says = 'silence';
    const leaving = new AbortController();
    const left = keyApi.getItem(1043, { signal: leaving.signal });
    leaving.abort(reason);
    await expect(left).rejects.toBe(reason);
  });

  it('is none for a caller that has left already, also of a fresh list', async () => {
    const { keyApi } = await listed();
    const signal = AbortSignal.abort(new Error('left'));
    await expect(keyApi.getItem(1043, { signal })).rejects.toBe(signal.reason);
  });

  it('is served after the clock stepped back, and not longer for that', async () => {
    const { service, keyApi } = await listed();
    service.says = 'outage';
    service.now -= 48 * HOUR;
    expect((await keyApi.getItem(1043))?.id).toBe(1043);
    service.now += 24 * HOUR;
    await expectError(keyApi.getItem(1043), 'service_unavailable');
  });
});

const soldWith = async (keyApi: ReturnType<KeyApiService['client']>, code: string) =>
  (await keyApi.validatePurchase(code))?.item;

describe('one copy of an item', () => {
  it('is shared by all purchases of it, also by those of another process', async () => {
    const service = new KeyApiService();
    const cache = { shared: new MemorySharedCache() };
    const one = service.client({ cache });
    const first = await soldWith(one, 'code-number-1');
    expect(first).toEqual(item);
    expect(await soldWith(one, 'code-number-2')).toBe(first);
    await settle();
    const other = service.client({ cache });
    const shared = await soldWith(other, 'code-number-1');
    expect(shared).toEqual(first);
    expect(await soldWith(other, 'code-number-2')).toBe(shared);
  });

  it('is not shared where it is nested deeper than the stack', async () => {
    const service = new KeyApiService();
    const hidden = { ...purchase, purchase_code: '**' };
    const body = JSON.stringify(success({ data: { purchase: hidden } }));
    const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
    service.override = () => text(body.replace('"id":1042', `"id":1042,"trace":${deep}`));
    const keyApi = service.client();
    const first = await soldWith(keyApi, 'code-number-1');
    expect(first?.id).toBe(1042);
    expect((await soldWith(keyApi, 'code-number-2')) === first).toBe(false);
  });

  it('is not shared where nothing is cached', async () => {
    const keyApi = new KeyApiService().client({ cache: false });
    const first = await soldWith(keyApi, CODE);
    const second = await soldWith(keyApi, CODE);
    expect(second).toEqual(first);
    expect(second).not.toBe(first);
  });
});

describe('two versions of an item', () => {
  const next = { ...item, version: '2.0.0' };

  it('are never mixed up in purchases, nor is the old one changed', async () => {
    const { service, keyApi } = alone();
    const old = await soldWith(keyApi, 'code-number-1');
    service.item = next;
    expect((await soldWith(keyApi, 'code-number-2'))?.version).toBe('2.0.0');
    expect(old?.version).toBe(item.version);
    expect((await soldWith(keyApi, 'code-number-1'))?.version).toBe(item.version);
    service.item = item;
    expect((await soldWith(keyApi, 'code-number-3'))?.version).toBe(item.version);
  });

  it('are never mixed up between purchases and the list', async () => {
    const { service, keyApi } = keyApiOn({ items: [next, { ...item, id: 7, tags: 'a,b' }] });
    const [first, coerced] = await keyApi.listItems();
    expect((await soldWith(keyApi, 'code-number-1'))?.version).toBe(item.version);
    expect(first?.version).toBe('2.0.0');
    expect(coerced?.tags).toEqual(['a', 'b']);
    service.now += 2 * HOUR;
    expect((await keyApi.listItems())[0]?.version).toBe('2.0.0');
  });

  it('that differ in their name: one without is in no list, although a purchase has it', async () => {
    const service = new KeyApiService();
    const { name: _, ...nameless } = item;
    service.item = nameless;
    service.items = [nameless, { ...item, id: 1043 }];
    const keyApi = service.client();
    expect((await soldWith(keyApi, CODE))?.id).toBe(item.id);
    expect((await keyApi.listItems()).map(({ id }) => id)).toEqual([1043]);
  });
});
