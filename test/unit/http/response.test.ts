import { describe, expect, it } from 'vitest';
import { parseJson as parseBody } from '../../../src/http/response.js';

const parseJson = (text: string) => parseBody(Buffer.from(text));

/** Whether a value from JSON has a field of that name, at any depth. */
function hasProto(value: unknown): boolean {
  const open = [value];
  for (let each = open.pop(); each !== undefined; each = open.pop()) {
    if (typeof each !== 'object' || each === null) continue;
    if (Object.hasOwn(each, '__proto__')) return true;
    open.push(...Object.values(each));
  }
  return false;
}

describe('JSON bodies', () => {
  it.each([
    ['plain', '{"a":1}'],
    ['with a byte order mark', '\uFEFF{"a":1}'],
    ['with blanks ahead', ' \r\n\t{"a":1}'],
    ['with a byte order mark and blanks', '\uFEFF \n{"a":1}'],
    ['with blanks ahead of the mark', '\n\uFEFF{"a":1}'],
    ['with two marks', '\uFEFF\r\n\uFEFF {"a":1}'],
    ['with blanks behind', '{"a":1}\n\n'],
  ])('are parsed: one %s', (_name, text) => {
    expect(parseJson(text)).toEqual({ value: { a: 1 } });
  });

  it.each([
    ['an empty body', ''],
    ['an empty body', ' \n'],
    ['an HTML page', '<!DOCTYPE html><html></html>'],
    ['an HTML page', '\n<html lang="tr"><body>{"a":1}</body></html>'],
    ['an HTML page', '<center><h1>502</h1></center>'],
    ['text ahead of the JSON', '<b>Warning</b>: Undefined index\n{"a":1}'],
    ['text ahead of the JSON', 'Notice: x\n[1]'],
    ['text ahead of the JSON', '[PHP Warning] x {"a":1}'],
    ['text ahead of the JSON', '{notice} [ ]'],
    ['broken or cut JSON', '{"a":'],
    ['broken or cut JSON', '[ {'],
    ['broken or cut JSON', '{'],
    ['text that is not JSON', '[later]'],
    ['text that is not JSON', 'Too Many Requests'],
  ])('names %s without repeating it: %j', (what, text) => {
    expect(parseJson(text)).toEqual({ found: what });
  });

  it.each(['__proto__', '\\u005f_proto__', '_\\u005Fproto__', '__\\u0070roto__'])(
    'lose fields named %s, at any depth',
    (name) => {
      const body = parseJson(
        `{"a":[{"${name}":{"isAdmin":true},"b":1}],"${name}":{"isAdmin":true}}`,
      );
      expect(body).toStrictEqual({ value: { a: [{ b: 1 }] } });
      expect(JSON.stringify(body)).not.toContain('isAdmin');
    },
  );

  it.each([
    ['inside it', (deep: string) => `{"a":1,"__proto__":${deep}}`],
    ['next to it', (deep: string) => `{"a":1,"b":${deep},"__proto__":{}}`],
    ['around it', (deep: string) => `{"a":1,"b":${deep.replace('[]', '[{"__proto__":{}}]')}}`],
  ])(
    'lose fields named __proto__ where lists are nested deeper than the stack, %s',
    (_name, of) => {
      const { value, found } = parseJson(of(`${'['.repeat(100_000)}${']'.repeat(100_000)}`));
      expect(found).toBeUndefined();
      expect(value).toHaveProperty('a', 1);
      expect(hasProto(value)).toBe(false);
    },
  );

  it('keep texts that name it, and fields that resemble it', () => {
    const value = { a: '__proto__', __proto: '\u005f', b: { proto__: 1 } };
    expect(parseJson(JSON.stringify(value))).toEqual({ value });
  });

  it('replaces broken UTF-8 instead of failing', () => {
    const body = Buffer.concat([Buffer.from('{"a":"'), Buffer.from([0xff]), Buffer.from('"}')]);
    expect(parseBody(body)).toEqual({ value: { a: '\uFFFD' } });
  });
});
