import { describe, expect, it } from 'vitest';
import { SHARED_SHAPES } from '../../../src/key-api/shared-shapes.js';

const item = { id: 1042, name: 'Forge' };
const purchase = { purchase_code: 'c', license_type: 'Regular', item };

const CAN_BE_SERVED: [string, unknown][] = [
  ['account', { username: 'smith' }],
  ['item', item],
  ['items', []],
  ['items', [item, item]],
  ['purchase', purchase],
  ['purchase', { purchase_code: 'c', item }],
  ['purchase', { ...purchase, supported_until: '2030-01-01T00:00:00Z', of_a_later_version: 1 }],
];

const CAN_NOT: [string, unknown][] = [
  ['account', {}],
  ['account', [{ username: 'smith' }]],
  ['item', {}],
  ['item', { id: '1042' }],
  ['items', item],
  ['items', [item, {}]],
  ['items', [null]],
  ['purchase', item],
  ['purchase', { ...purchase, purchase_code: 1 }],
  ['purchase', { ...purchase, item: undefined }],
  ['purchase', { ...purchase, item: { id: '1042' } }],
  ['purchase', { ...purchase, license_type: 1 }],
  ['purchase', { ...purchase, supported_until: 1_800_000_000 }],
];

describe('an answer of the shared cache', () => {
  it.each(CAN_BE_SERVED)('%s %j can be served', (kind, value) => {
    expect(SHARED_SHAPES[kind]?.(value)).toBe(true);
  });

  it.each(CAN_NOT)('%s %j can not', (kind, value) => {
    expect(SHARED_SHAPES[kind]?.(value)).toBe(false);
  });
});
