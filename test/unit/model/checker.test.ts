import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { accountSchema } from '../../../src/model/account.js';
import { itemSchema, purchasedItemSchema } from '../../../src/model/item.js';
import { purchaseSchema } from '../../../src/model/purchase.js';
import { userInfoSchema } from '../../../src/model/user-info.js';
import { checkerOf, freezerOf } from '../../../src/shape/checker.js';
import { account, item, purchase, userInfo } from '../../support/wire.js';

const SHAPES = [
  ['Account', accountSchema, account],
  ['Item', itemSchema, item],
  ['Item in a purchase', purchasedItemSchema, item],
  ['Purchase', purchaseSchema, purchase],
  ['UserInfo', userInfoSchema, userInfo],
] as const;

const NAMES = ['id', 'name', 'media', 'x', '__proto__', 'constructor', 'toString', 'length', ''];

/** What a service could put in place of anything. */
const anything = fc.oneof(
  fc.jsonValue({ maxDepth: 2 }),
  fc.constantFrom('', '0', '2030-01-01T00:00:00Z', 'not a date', 1.5, -1, 2 ** 60, [], {}, null),
  fc.constantFrom('{"__proto__":1}', '{"constructor":"x"}', '1e999', '-0', '[null]').map(parsed),
  fc.dictionary(fc.constantFrom(...NAMES), fc.jsonValue({ maxDepth: 1 }), {
    noNullPrototype: true,
  }),
);

function parsed(text: string): unknown {
  return JSON.parse(text);
}

/** Every place in a value, as the way that leads to it. */
function places(value: unknown, way: string[] = []): string[][] {
  if (typeof value !== 'object' || value === null) return [way];
  return [way, ...Object.entries(value).flatMap(([key, inner]) => places(inner, [...way, key]))];
}

/** A copy with another value, or none, in one place; or with a name beside the ones there. */
function changed(value: unknown, [key, ...way]: string[], put: unknown, how: string): unknown {
  if (key === undefined) {
    const takesNames = typeof value === 'object' && value !== null && !Array.isArray(value);
    if (how !== 'add' || !takesNames) return put;
    return { ...value, surplus: put };
  }
  const copy = structuredClone(value) as Record<string, unknown>;
  if (way.length === 0 && how === 'delete' && !Array.isArray(copy)) delete copy[key];
  else copy[key] = changed(copy[key], way, put, how);
  return copy;
}

function isDeeplyFrozen(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return true;
  return Object.isFrozen(value) && Object.values(value).every(isDeeplyFrozen);
}

describe.each(SHAPES)('the check of %s', (_name, schema, sample) => {
  const mutated = fc
    .array(
      fc.tuple(
        fc.constantFrom(...places(sample)),
        anything,
        fc.constantFrom('put', 'delete', 'add'),
      ),
      { maxLength: 3 },
    )
    .map((changes) =>
      changes.reduce((value: unknown, [way, put, how]) => {
        try {
          return changed(value, way, put, how);
        } catch {
          // The change before took the place away.
          return value;
        }
      }, sample),
    )
    .map((value) => JSON.stringify(value));

  it('says what the schema says, whatever the service sends', () => {
    let accepted = 0;
    let refused = 0;
    fc.assert(
      fc.property(mutated, (text) => {
        const expected = schema.safeParse(JSON.parse(text)).success;
        expect(checkerOf(schema)(JSON.parse(text))).toBe(expected);
        expect(freezerOf(schema)(JSON.parse(text))).toBe(expected);
        if (expected) accepted++;
        else refused++;
      }),
      { numRuns: 150 },
    );
    // Else it would prove nothing.
    expect(Math.min(accepted, refused)).toBeGreaterThan(5);
  });

  it('changes nothing but the name __proto__, and freezes all that it accepts', () => {
    fc.assert(
      fc.property(mutated, (text) => {
        const value: unknown = JSON.parse(text);
        if (freezerOf(schema)(value)) expect(isDeeplyFrozen(value)).toBe(true);
        const plain = JSON.stringify(value, (key, inner) =>
          key === '__proto__' ? undefined : inner,
        );
        const before = JSON.parse(text, (key, inner) => (key === '__proto__' ? undefined : inner));
        expect(JSON.parse(plain)).toEqual(JSON.parse(JSON.stringify(before)));
      }),
      { numRuns: 75 },
    );
  });

  it('is made once', () => {
    expect(checkerOf(schema)).toBe(checkerOf(schema));
    expect(freezerOf(schema)).not.toBe(checkerOf(schema));
  });
});

describe('what the check does not know of a schema', () => {
  it.each<[string, z.ZodType, unknown, unknown]>([
    ['a strict object', z.strictObject({ a: z.string() }), { a: 'x' }, { a: 'x', b: 1 }],
    ['a pattern', z.string().regex(/^a/), 'ab', 'ba'],
    ['two checks', z.string().min(1).max(2), 'ab', 'abc'],
    ['a format', z.email(), 'a@example.test', 'a'],
    ['a bounded number', z.number().max(5), 5, 6],
    ['a bounded whole number', z.int().positive(), 5, -5],
    ['a bounded list', z.array(z.string()).max(1), ['a'], ['a', 'b']],
    ['a map of certain keys', z.record(z.string().min(2), z.string()), { ab: 'x' }, { a: 'x' }],
    ['a choice', z.union([z.string(), z.number()]), 1, true],
    ['what may be null', z.string().nullable(), null, 1],
    ['a default', z.looseObject({ a: z.string().default('x') }), {}, { a: 1 }],
  ])('is left to the schema: %s', (_name, schema, right, wrong) => {
    for (const check of [checkerOf(schema), freezerOf(schema)]) {
      expect(check(structuredClone(right))).toBe(true);
      expect(check(structuredClone(wrong))).toBe(false);
    }
  });

  it('is frozen all the same', () => {
    const value = { list: [{ a: 1 }] };
    expect(freezerOf(z.strictObject({ list: z.array(z.any()) }))(value)).toBe(true);
    expect(isDeeplyFrozen(value)).toBe(true);
  });
});
