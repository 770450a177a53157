import { describe, expect, it } from 'vitest';
import { accountRecord } from '../../../src/model/account.js';
import { type Drift, type Field, parse } from '../../../src/model/fields.js';
import { itemRecord, readItems } from '../../../src/model/item.js';
import { purchaseRecord } from '../../../src/model/purchase.js';
import { userInfoRecord } from '../../../src/model/user-info.js';
import {
  COERCED,
  DROPPED,
  KEPT,
  RECORDS,
  REFUSED,
  type RecordName,
  UNCHANGED,
  withPlace,
} from '../../oracle/shape-rows.js';
import { item } from '../../support/wire.js';

const FIELDS: Record<RecordName, Field<unknown>> = {
  account: accountRecord,
  item: itemRecord,
  purchase: purchaseRecord,
  user: userInfoRecord,
};

/** What is read in an answer, and what is reported; the place where it is refused. */
function readRecord(name: RecordName, sent: object) {
  const drift: Drift[] = [];
  // As it came: what is read is changed in place.
  const result = parse(FIELDS[name], structuredClone(sent), 'sent', (each) => drift.push(each));
  return result.ok ? { value: result.value, drift } : { refusedAt: result.path, drift };
}

describe.each(Object.entries(RECORDS))('a record of %s', (given, record) => {
  const name = given as RecordName;
  const { record: documented, needed, optional, objects } = record;

  it('is read as it is where it is as documented, also with fields that nobody knows', () => {
    expect(readRecord(name, documented)).toEqual({ value: documented, drift: [] });
    for (const path of ['', ...objects]) {
      const more = withPlace(documented, path === '' ? 'trace' : `${path}.trace`, { deep: [7] });
      expect(readRecord(name, more)).toEqual({ value: more, drift: [] });
    }
  });

  it('is refused where a field that it needs is odd, null or absent', () => {
    for (const path of needed) {
      for (const sent of [[{ odd: true }], undefined, null]) {
        const { refusedAt } = readRecord(name, withPlace(documented, path, sent));
        expect([path, refusedAt]).toEqual([path, `sent.${path}`]);
      }
    }
  });

  it('is read, and reported, where any other field is odd', () => {
    for (const path of [...optional, ...objects]) {
      const { value, drift } = readRecord(name, withPlace(documented, path, [{ odd: true }]));
      expect(value).toBeDefined();
      const kind = path === 'supported_until' ? 'unreadable' : 'dropped';
      expect(drift[0]).toMatchObject({ kind, path: expect.stringContaining(`sent.${path}`) });
    }
  });

  it('is read without any other field, and null there is absent', () => {
    for (const path of optional) {
      const without = withPlace(documented, path, undefined);
      expect(readRecord(name, without).value).toStrictEqual(without);
      expect(readRecord(name, withPlace(documented, path, null)).value).toStrictEqual(without);
    }
  });
});

const KINDS = { coerced: COERCED, unchanged: UNCHANGED, unreadable: KEPT, dropped: DROPPED };

describe.each(Object.entries(KINDS))('%s in a record', (kind, rows) => {
  it.each(rows)('of %s is its %s of %j', (name, path, sent, read, reported = path) => {
    const { record } = RECORDS[name];
    const { value, drift } = readRecord(name, withPlace(record, path, sent));
    expect(value).toStrictEqual(withPlace(record, path, read));
    const about = drift.filter((each) => each.path.startsWith(`sent.${reported}`));
    if (kind === 'unchanged') expect(drift).toEqual([]);
    else expect(about[0]).toMatchObject({ kind, expected: expect.stringMatching(/^\w+$/) });
    expect(JSON.stringify(drift)).not.toContain('secret-key');
  });
});

it.each(REFUSED)('a record of %s: its %s of %j is refused, with its path', (name, path, sent) => {
  const changed = withPlace(RECORDS[name].record, path, sent);
  expect(readRecord(name, changed)).toEqual({ refusedAt: `sent.${path}`, drift: [] });
});

describe('the list of items', () => {
  const other = { ...item, id: 7 };
  const twice = [{ ...item, name: 'A' }, other, { ...item, name: 'B' }];

  function listed(sent: unknown) {
    const drift: Drift[] = [];
    const list = readItems(structuredClone(sent), 'items', (each) => drift.push(each));
    return { list: list?.ok ? list.value : undefined, drift };
  }

  it.each<[string, unknown, unknown, isWhole?: boolean]>([
    ['a list', [item, other], [item, other]],
    ['a list with gaps in its numbers, as PHP writes it', { 0: item, 12: other }, [item, other]],
    ['an empty list', [], []],
    ['drift that can be coerced', [{ ...item, tags: 'a,b' }], [{ ...item, tags: ['a', 'b'] }]],
    ['a list with what is no item', [item, null, other, 7], [item, other], false],
    ['the text of JSON', JSON.stringify([item, other]), [item, other]],
    ['a list with an item twice: the first counts', twice, [twice[0], other]],
  ])('is read from %s', (_from, sent, items, isWhole = true) => {
    expect(listed(sent).list).toEqual({ items, isWhole });
  });

  it.each([
    ...[undefined, null, {}, '{}', '', '[7]', 'items', item, { 0: item, x1: other }],
    [{ ...item, id: 'seven' }, { id: 7 }],
  ])('is not read from %j', (sent) => {
    expect(listed(sent).list).toBeUndefined();
  });

  it('reports broken items and fields that are left out, with their place', () => {
    const odd = { ...item, id: 9, price: { regular: [] } };
    const { list, drift } = listed([item, { ...item, id: 'seven' }, other, odd]);
    expect(list?.items).toEqual([item, other, { ...odd, price: {} }]);
    expect(drift).toEqual([
      { kind: 'dropped', path: 'items[1].id', expected: 'integer' },
      { kind: 'dropped', path: 'items[3].price.regular', expected: 'number' },
    ]);
  });
});
