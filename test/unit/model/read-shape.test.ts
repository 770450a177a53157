import { describe, expect, it } from 'vitest';
import { DriftReports } from '../../../src/diagnostics.js';
import { hasUnreadable, wasUnreadable } from '../../../src/model/fields.js';
import { itemSchema } from '../../../src/model/item.js';
import { purchaseSchema } from '../../../src/model/purchase.js';
import { readShape } from '../../../src/shape/read-shape.js';
import { hear } from '../../support/hear.js';
import { item, purchase } from '../../support/wire.js';

const quiet = new DriftReports(() => 0);
const readItem = (value: unknown, freezes = false) =>
  readShape(itemSchema, value, '/x', 'item', quiet, freezes);
const readPurchase = (value: unknown) =>
  readShape(purchaseSchema, value, '/x', 'data.purchase', quiet);

describe('what is left out', () => {
  it('is missing from a copy: what was sent stays as it was', () => {
    const sent = { ...item, tags: ['a', {}, 'b'], price: { regular: 'free', extended: 7 } };
    const before = structuredClone(sent);
    const read = readItem(sent);
    const price = { extended: 7 };
    expect(read).toEqual({ ok: true, value: { ...item, tags: ['a', 'b'], price } });
    expect(sent).toEqual(before);
  });

  it('may be 50,000 elements and fields at once: each is looked at once', () => {
    const COUNT = 50_000;
    const tags = Array.from({ length: COUNT }, (_, i) => (i % 2 === 0 ? `t${i}` : {}));
    const read = readItem({ ...item, tags });
    const left = tags.filter((tag) => typeof tag === 'string');
    expect(read).toMatchObject({ ok: true, value: { tags: left } });
  });

  it('is left out of what is frozen as well', () => {
    const read = readItem({ ...item, tags: 5, extra: { deep: [{}] } }, true);
    const { value } = read as unknown as { value: typeof item & { extra: { deep: object[] } } };
    expect(value).not.toHaveProperty('tags');
    for (const part of [value, value.media, value.extra, value.extra.deep, value.extra.deep[0]]) {
      expect(Object.isFrozen(part)).toBe(true);
    }
  });

  it('is reported without what stood there', () => {
    const drift = hear('drift');
    const reports = new DriftReports(() => 0);
    const odd = { ...purchase, supported_until: 'until my-secret', price: ['my-secret'] };
    readShape(purchaseSchema, odd, '/x', 'data.purchase', reports);
    expect(drift).toEqual([
      { endpoint: '/x', kind: 'dropped', path: 'data.purchase.price', expected: 'expected number' },
      {
        endpoint: '/x',
        kind: 'dropped',
        path: 'data.purchase.supported_until',
        expected: 'expected a timestamp',
      },
    ]);
  });
});

describe('what a guard can need', () => {
  const noted = (sent: object) => {
    const read = readPurchase(sent);
    if (!read.ok) throw new Error(read.problem);
    const { value } = read;
    return {
      supported_until: wasUnreadable(value, 'supported_until'),
      license_type: wasUnreadable(value, 'license_type'),
      any: hasUnreadable(value),
    };
  };

  it.each<[string, object, object]>([
    ['nothing', {}, { supported_until: false, license_type: false, any: false }],
    [
      'the end of support',
      { supported_until: 'never' },
      { supported_until: true, license_type: false, any: true },
    ],
    [
      'the licence',
      { license_type: {} },
      { supported_until: false, license_type: true, any: true },
    ],
    [
      'both',
      { license_type: [], supported_until: 7 },
      { supported_until: true, license_type: true, any: true },
    ],
    [
      'neither, but the price',
      { price: '19,00', date: 'x' },
      { supported_until: false, license_type: false, any: false },
    ],
    [
      'neither, because nothing was there',
      { supported_until: '0000-00-00 00:00:00', license_type: null },
      { supported_until: false, license_type: false, any: false },
    ],
  ])('is noted when it could not be read: %s', (_name, change, expected) => {
    expect(noted({ ...purchase, ...change })).toEqual(expected);
  });
});
