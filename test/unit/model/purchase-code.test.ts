import { expect, it } from 'vitest';
import { faultOfCode, isBlank, readPurchaseCode } from '../../../src/model/purchase-code.js';
import { CODE } from '../../support/wire.js';

it.each(['ABC_12345678', 'a&b="c"d', '+"><b>.-', '1234', 'a'.repeat(128)])(
  'a purchase code is 4 to 128 visible ASCII characters: %s',
  (code) => {
    expect(readPurchaseCode(code)).toEqual({ text: code, key: code.toLowerCase() });
  },
);

it.each([
  ['\u00ad1234\u200b\u200d5678\ufeff', '12345678'],
  ['1234\t\u00a0\u2009\u0085\u2028\u3000-\r\n5678', '1234-5678'],
  ['\uff11\uff12\uff13\uff14', '1234'],
  ['\ufb01-12345678', 'fi-12345678'],
  [`${' '.repeat(384)}${'a'.repeat(128)}`, 'a'.repeat(128)],
  [`"${CODE}".`, CODE],
  [`\u201e${CODE}\u201c`, CODE],
  [`[(<${CODE}>)]`, CODE],
  // What Unicode calls ignorable, and the dashes of word processors.
  ...[0x34f, 0x61c, 0x115f, 0x17b4, 0x180e, 0x202e, 0x2060, 0x3164, 0xfe0f, 0xffa0, 0xe0fff].map(
    (point) => [`${String.fromCodePoint(point)}${CODE}`, CODE],
  ),
  ...[...'\u2010\u2011\u2012\u2013\u2014\u2015\u2212\uff0d\ufe63'].map((dash) => [
    CODE.replaceAll('-', dash),
    CODE,
  ]),
])('a purchase code is read without what a paste adds: %j as %j', (pasted = '', code = '') => {
  expect(readPurchaseCode(pasted)?.text).toBe(code);
});

it.each<[string, string]>([
  ['too short', ' \n12 3 '],
  ['too long', 'a'.repeat(129)],
  // Before it is normalised, which takes time that is quadratic in combining marks.
  ['too long', `${CODE}${'\u200b'.repeat(513 - CODE.length)}`],
  ['other characters', '1234\u007f5678'],
  ['other characters', '1234\u00005678'],
  ['other characters', '1234\u04305678'],
])('a purchase code is not what is %s: %j', (fault, text) => {
  expect(readPurchaseCode(text)).toBeUndefined();
  expect(faultOfCode(text)).toBe(fault);
});

it('a purchase code is blank where nothing in it can be seen', () => {
  const texts = ['', ' \t', '\u200b', '\u3164\u034f\u0085', ' '.repeat(513), ' a'];
  expect(texts.map(isBlank)).toEqual([true, true, true, true, false, false]);
});
