import type { KeyApi } from 'marketgate';
import { describe, expect, it } from 'vitest';
import { expectError } from '../../support/errors.js';
import { hear } from '../../support/hear.js';
import {
  begun,
  ITEM,
  ITEMS,
  type KeyApiService,
  keyApiOn,
  VALIDATION,
} from '../../support/key-api-service.js';
import { page, text } from '../../support/service-in-memory.js';
import { collectWarnings } from '../../support/warnings.js';
import { guess, item, purchase, success } from '../../support/wire.js';
import { alone, fleet, HOUR, MINUTE } from './support.js';

// "`getItem` is answered by the list while that is fresh; else the list is asked for, and the item by itself only where the list
// cannot be had, is empty, too large or unreadable: that it cannot be had is said once, as a warning with the reason, and
// `getItem` does not ask for it again for a minute."

async function listed(cache: object = {}) {
  const { service, keyApi } = alone(cache);
  return { service, keyApi, list: await keyApi.listItems() };
}

const withoutList = ({ path }: { path: string }) => (path === ITEMS ? page(500) : undefined);

/** How often the list was asked for, and items by themselves. */
const requests = (service: KeyApiService) => [service.asked(ITEMS), service.asked(ITEM)];

describe('an item of a cached list', () => {
  it('is served while the list is fresh, and reported as an item', async () => {
    const { service, keyApi, list } = await listed();
    const lookups = hear('lookup');
    expect(await keyApi.getItem(1043)).toBe(list[1]);
    expect(await keyApi.getItem('1042')).toBe(list[0]);
    expect(lookups).toEqual(Array(2).fill({ what: 'item', source: 'cache', outcome: 'positive' }));
    expect(requests(service)).toEqual([1, 0]);
  });

  it('comes from a new list once that is past its ttl, which is asked for once', async () => {
    const { service, keyApi } = await listed();
    service.now += 5 * MINUTE;
    service.items = [{ ...item, id: 1043, name: 'New' }];
    const found = await Promise.all([1043, 1042].map((id) => keyApi.getItem(id)));
    expect(found.map((each) => each?.name)).toEqual(['New', undefined]);
    expect(requests(service)).toEqual([2, 0]);
  });

  it('is requested by a caller that passes fresh, whose answer counts from then on', async () => {
    const { service, keyApi, list } = await listed();
    const own = await keyApi.getItem(1043, { fresh: true });
    expect(own).not.toBe(list[1]);
    expect(await keyApi.getItem(1043)).toBe(own);
    expect(requests(service)).toEqual([1, 1]);
  });

  it('is null without a request when it is not in the list, until ttl; then the list is asked for', async () => {
    const { service, keyApi } = await listed();
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
});

describe('an item, where no list is cached,', () => {
  it('is answered by the list, which eighty pages ask for once', async () => {
    const { service, keyApi } = alone();
    service.items = Array.from({ length: 80 }, (_, n) => ({ ...item, id: n + 1 }));
    const all = await Promise.all(service.items.map((_, n) => keyApi.getItem(n + 1)));
    expect(all.map((each) => each?.id)).toEqual(all.map((_, n) => n + 1));
    expect(await keyApi.getItem(81)).toBeNull();
    expect(requests(service)).toEqual([1, 0]);
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

  it('does not warn about a list that close() has ended', async () => {
    const { service, keyApi } = alone();
    const warnings = collectWarnings();
    service.says = 'silence';
    const [asked] = await begun(expectError(keyApi.getItem(7), 'service_unavailable', 'closed'));
    await keyApi.close();
    await asked;
    expect(warnings).toEqual([]);
  });

  it.each<['positive' | 'negative', string, unknown[]]>([
    ['positive', 'had items that could not be read', [item, { ...item, id: 'seven' }]],
    ['positive', 'is empty', []],
    ['negative', 'is empty by a negative answer', []],
  ])('is requested (%s) when the list %s, and the list once', async (says, _which, items) => {
    for (const isListed of [true, false]) {
      const { service, keyApi } = keyApiOn({ says, items });
      if (isListed) await keyApi.listItems();
      for (const id of [7, 8, 7]) {
        expect((await keyApi.getItem(id))?.id).toBe(says === 'positive' ? id : undefined);
      }
      expect(requests(service)).toEqual([1, 2]);
    }
  });

  it('asks for a list that had items that could not be read once, also where the shared cache does not take it', async () => {
    const { service, join, during } = fleet();
    service.items = [item, { ...item, id: 'seven' }];
    const keyApi = join();
    keyApi.link.break('full');
    for (const id of [7, 8, 9]) expect((await during(keyApi.getItem(id)))?.id).toBe(id);
    expect(requests(service)).toEqual([1, 3]);
  });

  // What the service said of the item itself, and of the list: the later request counts.
  it.each<[string, 'no' | 'list', number, number, boolean]>([
    ['a negative answer after the list', 'no', 1000, 0, false],
    ['a negative answer of the same millisecond as the list', 'no', 0, 0, false],
    ['a negative answer that is over by now', 'no', 10_000, 31_000, false],
    ['a list after the negative answer', 'list', 1, 0, true],
  ])('counts by the later request: %s', async (_name, last, later, wait, isServed) => {
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
    const failed = {
      source: 'service',
      outcome: 'failed',
      code: 'service_unavailable',
      reason: expect.any(String),
    };
    expect(lookups).toEqual([
      { what: 'items', ...failed },
      { what: 'item', ...failed },
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
    service.override = withoutList;
    for (const id of [1043, 90, 91, 92]) expect(await keyApi.getItem(id)).toBeNull();
    service.says = 'outage';
    await expectError(keyApi.getItem(1043), 'service_unavailable');
    expect((await keyApi.getItem(1042))?.id).toBe(1042);
  });
});

describe('the item inside purchases', () => {
  const itemsOf = (keyApi: KeyApi, ...codes: string[]) =>
    Promise.all(codes.map(async (code) => (await keyApi.validatePurchase(code))?.item));

  it('is one object where it is equal, also in answers of other processes', async () => {
    const { join } = fleet();
    const one = join();
    const [first, second] = await itemsOf(one, guess(1), guess(2));
    expect(second).toBe(first);
    const other = join();
    const [third, fourth] = await itemsOf(other, guess(1), guess(3));
    expect(fourth).toBe(third);
    expect(third).toEqual(item);
  });

  it('is another object where the service describes it in other words', async () => {
    const { service, keyApi } = alone();
    const [old] = await itemsOf(keyApi, guess(1));
    service.item = { ...item, description: 'New words.' };
    const [renewed, again] = await itemsOf(keyApi, guess(2), guess(3));
    expect(renewed).toMatchObject({ description: 'New words.' });
    expect(again).toBe(renewed);
    expect(await itemsOf(keyApi, guess(1))).toEqual([old]);
  });

  it('can have a field that is nested too deeply for the stack', async () => {
    const { service, keyApi } = alone();
    const odd = `${'['.repeat(1e5)}${']'.repeat(1e5)}`;
    for (const code of [guess(1), guess(2)]) {
      const sold = { ...purchase, purchase_code: code, item: { ...item, odd: 0 } };
      const body = JSON.stringify(success({ data: { purchase: sold } }));
      service.override = ({ path }) =>
        path === VALIDATION ? text(body.replace('"odd":0', `"odd":${odd}`)) : undefined;
      expect((await keyApi.validatePurchase(code))?.item.id).toBe(item.id);
    }
  });
});
