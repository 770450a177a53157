import { describe, expect, it } from 'vitest';
import {
  deepFreeze,
  isDocumented,
  parse,
  unreadableIn,
  wasUnreadable,
} from '../../../src/model/fields.js';
import { itemSchema } from '../../../src/model/item.js';
import { purchaseSchema } from '../../../src/model/purchase.js';
import { item, purchase } from '../../support/wire.js';

const quiet = (): void => {};
const readItem = (value: unknown) => parse(itemSchema, value, 'item', quiet);
const readPurchase = (value: unknown) => parse(purchaseSchema, value, 'data.purchase', quiet);
const nested = (depth: number): unknown => JSON.parse(`${'['.repeat(depth)}${']'.repeat(depth)}`);

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
    const tags = Array.from({ length: 50_000 }, (_, i) => (i % 2 === 0 ? `t${i}` : {}));
    const read = readItem({ ...item, tags });
    const left = tags.filter((tag) => typeof tag === 'string');
    expect(read).toMatchObject({ ok: true, value: { tags: left } });
  });

  it('is reported without what stood there', () => {
    const drift: unknown[] = [];
    const odd = { ...purchase, supported_until: 'until my-secret', price: ['my-secret'] };
    parse(purchaseSchema, odd, 'data.purchase', (each) => drift.push(each));
    expect(drift).toEqual([
      { kind: 'dropped', path: 'data.purchase.price', expected: 'number' },
      { kind: 'dropped', path: 'data.purchase.supported_until', expected: 'timestamp' },
    ]);
  });
});

it('a field that nobody documents can be nested deeper than the stack', () => {
  const deep = nested(100_000);
  const read = readItem({ ...item, nothing: null, trace: deep, tags: deep });
  expect(read).toMatchObject({ ok: true, value: { id: item.id } });
  expect(deepFreeze(deep)).toBe(deep);
});

it.each<[object, boolean]>([
  [item, true],
  [{ ...item, trace: 1 }, true],
  [{ ...item, tags: 'a,b' }, false],
  [{ ...item, tags: [1] }, false],
  [{ ...item, price: { regular: '29' } }, false],
  [{ ...item, media: undefined }, false],
  [{ ...item, id: 'x' }, false],
])('isDocumented: %j: %s', (value, expected) => {
  expect(isDocumented(itemSchema, value)).toBe(expected);
});

it.each<[string, object, string, string]>([
  ['no text', { purchase_code: 7.5 }, 'purchase_code', 'string'],
  ['an empty id', { purchase_code: '' }, 'purchase_code', 'string'],
  ['a fraction as an id', { item: { ...item, id: 1.5 } }, 'item.id', 'integer'],
  ['an id that no number holds', { item: { ...item, id: 2 ** 53 } }, 'item.id', 'integer'],
  ['an id far below zero', { item: { ...item, id: -(2 ** 53) } }, 'item.id', 'integer'],
  ['an id of invisible characters', { purchase_code: '\u200b' }, 'purchase_code', 'string'],
  ['no object', { item: 'x' }, 'item', 'object'],
])('a refusal names what is expected in the place of %s', (_name, odd, at, expected) => {
  const path = `data.purchase.${at}`;
  expect(readPurchase({ ...purchase, ...odd })).toEqual({ ok: false, path, expected });
});

describe('what a guard can need', () => {
  const noted = (sent: object) => {
    const read = readPurchase(sent);
    if (!read.ok) throw new Error(read.path);
    const names = (['supported_until', 'license_type'] as const).filter((name) =>
      wasUnreadable(read.value, name),
    );
    return { names, all: unreadableIn(read.value) };
  };

  it.each<[string, object, ...string[]]>([
    ['nothing', {}],
    ['the end of support', { supported_until: 'never' }, 'supported_until'],
    ['the licence', { license_type: {} }, 'license_type'],
    ['both', { license_type: [], supported_until: 7 }, 'supported_until', 'license_type'],
    ['neither, but the price', { price: '19,00', date: 'x' }],
    ['neither: nothing was there', { supported_until: '0000-00-00 00:00:00', license_type: null }],
  ])('is noted when it could not be read: %s', (_name, change, ...names) => {
    expect(noted({ ...purchase, ...change })).toEqual({
      names,
      all: names.length > 0 ? expect.arrayContaining(names) : undefined,
    });
  });
});
