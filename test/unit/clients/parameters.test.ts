import { KeyApi, type KeyApiOptions } from 'marketgate';
import { describe, expect, it } from 'vitest';
import { expectError } from '../../support/errors.js';
import { ITEM, keyApiOn, settle } from '../../support/key-api-service.js';
import { CODE, KEY } from '../../support/wire.js';

describe('an item id', () => {
  it.each([
    [0, '0'],
    [1042, '1042'],
    ['007', '7'],
    ['9007199254740991', '9007199254740991'],
  ])('%j is requested as %s', async (id, sent) => {
    const { service, keyApi } = keyApiOn();
    expect((await keyApi.getItem(id, { fresh: true }))?.id).toBe(Number(sent));
    expect(service.wire.requests[0]?.query.get('item_id')).toBe(sent);
  });

  it.each<unknown>([
    ...[-1, 1.5, 2 ** 53, Number.POSITIVE_INFINITY, Number.NaN, true, null, undefined, 7n],
    ...['', ' 7', '7 ', 'x7', '7x', '7\n', '+7', '1e3', '-1', '1.5', '9007199254740992'],
    ...['00000000000000007', '99999999999999999999'],
  ])('%s is item_id_invalid, without a request', async (id) => {
    const { service, keyApi } = keyApiOn();
    await expectError(keyApi.getItem(id as string), 'item_id_invalid', 'item_id');
    expect(service.asked(ITEM)).toBe(0);
  });
});

it.each<[string, KeyApiOptions['cache']]>([
  ['with a cache', {}],
  ['without', false],
])('a signal that is none is a TypeError that names it, %s', async (_name, cache) => {
  const { keyApi } = keyApiOn({}, { cache });
  for (const signal of [5, {}, null]) {
    const options = { signal } as object;
    for (const call of [
      () => keyApi.validatePurchase(CODE, options),
      () => keyApi.getItem(1042, options),
      () => keyApi.listItems(options),
      () => keyApi.getAccount(options),
    ]) {
      await expect(call()).rejects.toThrow(TypeError);
      await expect(call()).rejects.toThrow('option "signal" must be an AbortSignal');
    }
  }
});

it.each<[string, KeyApiOptions['cache']]>([
  ['with a cache', {}],
  ['without', false],
])('a signal that is none of Node.js, as in jsdom, ends a call, %s', async (_name, cache) => {
  const { service, keyApi } = keyApiOn({ says: 'silence' }, { cache });
  const { signal, abort } = foreignSignal();
  const call = keyApi.validatePurchase(CODE, { signal });
  await settle();
  expect(service.asked()).toBe(1);
  abort(new Error('left'));
  await expect(call).rejects.toThrow('left');
});

/** What {@link KeyApi} needs of a signal, without the `EventTarget` of Node.js. */
function foreignSignal() {
  const listeners = new Set<() => void>();
  const signal = {
    aborted: false,
    reason: undefined as unknown,
    throwIfAborted() {
      if (this.aborted) throw this.reason;
    },
    addEventListener: (_type: string, listener: () => void) => listeners.add(listener),
    removeEventListener: (_type: string, listener: () => void) => listeners.delete(listener),
  };
  const abort = (reason: unknown): void => {
    Object.assign(signal, { aborted: true, reason });
    for (const listener of listeners) listener();
  };
  return { signal: signal as never as AbortSignal, abort };
}

describe('a purchase code', () => {
  /** What the service is asked for; `undefined`: it is not asked. */
  async function requested(given: string, options?: Partial<KeyApiOptions>) {
    const { service, keyApi } = keyApiOn({}, options);
    const found = await keyApi.validatePurchase(given);
    const sent = service.wire.requests[0]?.parameter('purchase_code');
    expect(found?.purchase_code).toBe(sent);
    return sent;
  }

  it.each([
    ...['ABC_12345678', 'AB12.CD34.EF56', 'MK:12345678', 'a&b="c"d', '!~!~', '1234'],
    ...['a'.repeat(128), CODE],
  ])('of 4 to 128 visible ASCII characters is requested as it is: %s', async (code) => {
    expect(await requested(code)).toBe(code);
  });

  it.each([
    ...['abc', '\u200babc', 'a'.repeat(129), 'a'.repeat(513), ' '.repeat(513)],
    ...['1234\u007f5678', '1234\u00005678', '1234\u28005678', '1234\u2e3a5678', ' \n12 3 '],
    ...['1234\u00e95678', '1234\ud83d\ude005678', '1234\u04305678'],
    // Longer than 512 characters, before it is trimmed or normalised.
    `${CODE}${'\u200b'.repeat(513 - CODE.length)}`,
  ])('of any other kind is invalid without a request: %j', async (code) => {
    expect(await requested(code)).toBeUndefined();
    expect(await requested(code, { cache: false })).toBeUndefined();
  });

  it.each([
    ['\u00ad1234\u200b\u200d5678\ufeff', '12345678'],
    ['\t 1234-5678 \n', '1234-5678'],
    ['1234 5678', '12345678'],
    ['1234-\r\n5678', '1234-5678'],
    ['1234\t\u00a0\u2009\u0085\u2028\u3000-5678', '1234-5678'],
    ['\uff11\uff12\uff13\uff14', '1234'],
    ['\ufb01-12345678', 'fi-12345678'],
    [`${' '.repeat(384)}${'a'.repeat(128)}`, 'a'.repeat(128)],
  ])('is requested without what a paste adds: %j as %j', async (pasted, code) => {
    expect(await requested(pasted)).toBe(code);
  });

  it.each([
    ...[0x34f, 0x61c, 0x115f, 0x17b4, 0x180b, 0x180e, 0x200d, 0x202e, 0x2060, 0x2065, 0x3164],
    ...[0xfe0f, 0xfeff, 0xffa0, 0xfff0, 0x1bca0, 0xe0001, 0xe0100, 0xe0fff],
  ])('is requested without U+%x, which Unicode calls ignorable, wherever it is', async (point) => {
    const [a, b, c] = [CODE.slice(0, 8), CODE.slice(8, 20), CODE.slice(20)];
    const ignored = String.fromCodePoint(point);
    expect(await requested([ignored, a, b, c, ignored].join(ignored))).toBe(CODE);
  });

  it.each([
    ...[
      '\u2010',
      '\u2011',
      '\u2012',
      '\u2013',
      '\u2014',
      '\u2015',
      '\u2212',
      '\uff0d',
      '\ufe63',
      '\u207b',
    ],
  ])('is requested with "-" for %j', async (dash) => {
    expect(await requested(CODE.replaceAll('-', dash))).toBe(CODE);
  });

  it('is forgotten in the spelling in which it is pasted', async () => {
    const { service, keyApi } = keyApiOn();
    await keyApi.validatePurchase(CODE);
    await keyApi.invalidate(` ${CODE.replaceAll('-', '\u2013\n')}\u034f`);
    await keyApi.invalidate('x'.repeat(600));
    await keyApi.validatePurchase(CODE);
    expect(service.asked()).toBe(2);
  });

  it.each([undefined, null, 7, '', '  ', '\u200b', '\u3164\u034f\u0085'])(
    '%j is none: TypeError',
    async (code) => {
      const keyApi = new KeyApi({ baseUrl: 'https://market.example', apiKey: KEY });
      const call = keyApi.validatePurchase(code as string);
      await expect(call).rejects.toThrow(TypeError);
      await expect(call).rejects.toThrow('KeyApi: purchase_code must be');
    },
  );

  it.each<[RegExp, string, boolean]>([
    [/^MK-\d{4}$/, 'MK-1234', true],
    [/^MK-\d{4}$/, 'mk-1234', false],
    [/^mk-\d{4}$/i, 'MK-1234', true],
    [/MK/, 'x-MK-1', true],
    [/MK/y, 'x-MK-1', false],
    [Object.assign(/MK/g, { lastIndex: 3 }), 'MK-1', true],
    [/^.{1,9}$/, 'abc', false],
  ])('is requested only where codePattern %s matches it: %s', async (codePattern, code, is) => {
    expect(await requested(code, { codePattern })).toBe(is ? code : undefined);
  });
});
