import { describe, expect, it } from 'vitest';
import { expectError } from '../../support/errors.js';
import { hear } from '../../support/hear.js';
import { ITEM, ITEMS, type KeyApiService, keyApiOn } from '../../support/key-api-service.js';
import { page } from '../../support/service-in-memory.js';
import { collectWarnings } from '../../support/warnings.js';
import { item } from '../../support/wire.js';
import { alone, HOUR, MINUTE } from './support.js';

// "`getItem` is answered by the list while that is fresh; else the list is asked for, and the item by itself only where the list
// cannot be had, is empty, too large or unreadable: that it cannot be had is said once, as a warning with the reason, and
// `getItem` does not ask for it again for a minute."

const withoutList = ({ path }: { path: string }) => (path === ITEMS ? page(500) : undefined);

/** How often the list was asked for, and items by themselves. */
const requests = (service: KeyApiService) => [service.asked(ITEMS), service.asked(ITEM)];

describe('an item', () => {
  it('is answered by the list, which eighty pages ask for once a ttl', async () => {
    const { service, keyApi } = alone();
    service.items = Array.from({ length: 80 }, (_, n) => ({ ...item, id: n + 1 }));
    const all = () => Promise.all(service.items.map((_, n) => keyApi.getItem(n + 1)));
    const listed = await all();
    expect(listed.map((each) => each?.id)).toEqual(listed.map((_, n) => n + 1));
    service.now += 5 * MINUTE - 1;
    const lookups = hear('lookup');
    expect(await keyApi.getItem('7')).toBe(listed[6]);
    expect(lookups).toEqual([{ what: 'item', source: 'cache', outcome: 'positive' }]);
    expect(requests(service)).toEqual([1, 0]);
    service.now += 1;
    expect((await all())[6]).not.toBe(listed[6]);
    expect(requests(service)).toEqual([2, 0]);
  });

  it('that is not in the list is null without a request, until it is asked for with fresh, or ttl', async () => {
    const { service, keyApi } = alone();
    await keyApi.listItems();
    service.now += 5 * MINUTE - 1;
    expect(await keyApi.getItem(7)).toBeNull();
    expect((await keyApi.getItem(7, { fresh: true }))?.id).toBe(7);
    expect((await keyApi.getItem(7))?.id).toBe(7);
    expect(requests(service)).toEqual([1, 1]);
    service.now += 1;
    service.items = [...service.items, { ...item, id: 8 }];
    expect((await keyApi.getItem(8))?.id).toBe(8);
    expect(requests(service)).toEqual([2, 1]);
  });

  it('is asked for by itself where the list cannot be had: that is said once, and the list is tried again after a minute', async () => {
    const { service, keyApi } = alone();
    const warnings = collectWarnings();
    service.override = withoutList;
    for (const id of [1042, 7, 7]) expect((await keyApi.getItem(id))?.id).toBe(id);
    service.later(MINUTE - 1);
    expect((await keyApi.getItem(8))?.id).toBe(8);
    expect(requests(service)).toEqual([1, 3]);
    service.later(1);
    expect((await keyApi.getItem(9))?.id).toBe(9);
    expect(requests(service)).toEqual([2, 4]);
    expect(warnings.map(({ code }) => code)).toEqual(['MARKETGATE_NO_CATALOGUE']);
    expect(warnings[0]?.message).toContain('GET /api/items/all: the service failed (HTTP 500)');
    service.override = undefined;
    service.later(MINUTE);
    expect((await keyApi.getItem(1043))?.id).toBe(1043);
    expect(requests(service)).toEqual([3, 4]);
  });

  it.each<[string, 'positive' | 'negative', unknown[]]>([
    ['has items that cannot be read', 'positive', [item, { ...item, id: 'seven' }]],
    ['is empty', 'positive', []],
    ['is empty by a negative answer', 'negative', []],
  ])('is asked for by itself where the list %s, and the list once', async (_which, says, items) => {
    const { service, keyApi } = keyApiOn({ says, items });
    for (const id of [7, 8, 7]) {
      expect((await keyApi.getItem(id))?.id).toBe(says === 'positive' ? id : undefined);
    }
    expect(requests(service)).toEqual([1, 2]);
  });

  it.each(['itself', 'list'])('counts by the later request: of the %s', async (last) => {
    const { service, keyApi } = alone();
    const list = () => keyApi.listItems();
    const refuse = async () => {
      service.says = 'negative';
      expect(await keyApi.getItem(1042, { fresh: true })).toBeNull();
      service.says = 'positive';
    };
    const [first, second] = last === 'list' ? [refuse, list] : [list, refuse];
    await first();
    service.now += 1;
    await second();
    // The negative answer is over by now.
    service.later(31_000, 'negative');
    expect((await keyApi.getItem(1042))?.id).toBe(last === 'list' ? 1042 : undefined);
  });
});

describe('an item of a cached list in an outage', () => {
  it('is served until staleIfError, and reported so', async () => {
    const { service, keyApi } = alone();
    const list = await keyApi.listItems();
    service.later(24 * HOUR - 1, 'outage');
    const lookups = hear('lookup');
    expect(await keyApi.getItem(1043)).toBe(list[1]);
    const failed = expect.objectContaining({ source: 'service', outcome: 'failed' });
    const served = { what: 'item', source: 'stale-if-error', outcome: 'positive' };
    expect(lookups).toEqual([failed, failed, served]);
    for (const call of [keyApi.getItem(7), keyApi.getItem(1043, { fresh: true })]) {
      await expectError(call, 'service_unavailable');
    }
    service.now += 1;
    await expectError(keyApi.getItem(1043), 'service_unavailable');
  });

  it('is none once the service said that it is gone, however many were asked for since', async () => {
    const { service, keyApi } = alone({ maxInvalid: 2 });
    await keyApi.listItems();
    service.later(3 * HOUR, 'negative');
    service.override = withoutList;
    for (const id of [1043, 90, 91, 92]) expect(await keyApi.getItem(id)).toBeNull();
    service.says = 'outage';
    await expectError(keyApi.getItem(1043), 'service_unavailable');
    expect((await keyApi.getItem(1042))?.id).toBe(1042);
  });
});
