import { describe, expect, it } from 'vitest';
import { parseJson } from '../../../src/http/response.js';

const parse = (text: string) => parseJson(Buffer.from(text));

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
    expect(parse(text)).toEqual({ value: { a: 1 } });
  });

  it.each([
    ['an empty body', ''],
    ['an empty body', ' \n'],
    ['an HTML page', '<!DOCTYPE html><html></html>'],
    ['an HTML page', '\n<html lang="tr"><body>{"a":1}</body></html>'],
    ['an HTML page', '<center><h1>502</h1></center>'],
    ['text ahead of the JSON', '<b>Warning</b>: Undefined index\n{"a":1}'],
    ['text ahead of the JSON', 'Notice: x\n[1]'],
    ['broken or cut JSON', '{"a":'],
    ['text that is not JSON', 'Too Many Requests'],
  ])('names %s without repeating it: %j', (what, text) => {
    expect(parse(text)).toEqual({ found: what });
  });

  it('replaces broken UTF-8 instead of failing', () => {
    const body = Buffer.concat([Buffer.from('{"a":"'), Buffer.from([0xff]), Buffer.from('"}')]);
    expect(parseJson(body)).toEqual({ value: { a: '\uFFFD' } });
  });
});
