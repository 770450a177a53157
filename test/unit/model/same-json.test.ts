import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { deepFreeze, withoutProto } from '../../../src/shape/deep-freeze.js';
import { sameJson } from '../../../src/shape/same-json.js';
import { item } from '../../support/wire.js';

const nested = (depth: number): unknown => JSON.parse(`${'['.repeat(depth)}${']'.repeat(depth)}`);

describe('sameJson', () => {
  it('is true for what is written alike, and for nothing else', () => {
    const text = fc.jsonValue({ maxDepth: 4 }).map((value) => JSON.stringify(value));
    fc.assert(
      fc.property(text, text, (a, b) => {
        expect(sameJson(JSON.parse(a), JSON.parse(a))).toBe(true);
        const isSame = JSON.stringify(JSON.parse(a)) === JSON.stringify(JSON.parse(b));
        expect(sameJson(JSON.parse(a), JSON.parse(b))).toBe(isSame);
      }),
      { numRuns: 200 },
    );
  });

  it.each<[string, object]>([
    ['another value', { name: 'Other' }],
    ['a value of another type', { version: 1.4 }],
    ['a field more', { extra: 1 }],
    ['an element more', { tags: [...item.tags, 'x'] }],
    ['an element less', { tags: [] }],
    ['an object for a list', { tags: { 0: 'calm', 1: 'blog' } }],
    ['null for an object', { media: null }],
    ['another URL deep inside', { media: { ...item.media, screenshots: ['x'] } }],
  ])('is false with %s', (_name, change) => {
    expect(sameJson(item, { ...item, ...change })).toBe(false);
    expect(sameJson({ ...item, ...change }, item)).toBe(false);
  });

  it('is false with a field less, or the fields in another order', () => {
    const { name, ...rest } = item;
    expect(sameJson(item, rest)).toBe(false);
    expect(sameJson(item, { ...rest, name })).toBe(false);
  });

  it('takes what is nested deeper than the stack for different, and does not throw', () => {
    expect(sameJson(nested(100_000), nested(100_000))).toBe(false);
    expect(sameJson(nested(20), nested(20))).toBe(true);
  });
});

describe('deepFreeze and withoutProto', () => {
  it.each([deepFreeze, withoutProto])(
    'walk through what is nested deeper than the stack',
    (walk) => {
      const value = nested(100_000);
      expect(walk(value)).toBe(value);
    },
  );

  it.each([deepFreeze, withoutProto])('leave out the name __proto__, wherever it is', (walk) => {
    const value = JSON.parse('{"a":[{"__proto__":{"isAdmin":true},"b":1}],"__proto__":{}}');
    expect(Object.keys(walk(value))).toEqual(['a']);
    expect(Object.keys(value.a[0])).toEqual(['b']);
  });

  it('withoutProto freezes nothing', () => {
    expect(Object.isFrozen(withoutProto({ a: {} }).a)).toBe(false);
  });
});
