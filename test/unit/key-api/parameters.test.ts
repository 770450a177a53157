import { describe, expect, it } from 'vitest';
import { apiKeySource } from '../../../src/key-api/api-key.js';
import { itemId } from '../../../src/key-api/item-id.js';
import { hasPurchaseCodeShape, normalizePurchaseCode } from '../../../src/key-api/purchase-code.js';
import { encode } from '../../../src/key-api/validation-encoding.js';
import { everythingOf, rejection } from '../../support/errors.js';

describe('an item id', () => {
  it.each([
    [0, 0],
    [1042, 1042],
    ['0', 0],
    ['007', 7],
    ['1042', 1042],
    ['9007199254740991', Number.MAX_SAFE_INTEGER],
    [Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER],
  ])('%j is %d', (value, id) => {
    expect(itemId(value)).toBe(id);
  });

  it.each([
    -1,
    1.5,
    2 ** 53,
    Number.POSITIVE_INFINITY,
    Number.NaN,
    '',
    ' 7',
    '7 ',
    'x7',
    '7x',
    '7\n',
    '+7',
    '1e3',
    '9007199254740992',
    '00000000000000007',
    true,
    null,
    undefined,
    [7],
    7n,
  ])('%s is none, and is not repeated', (value) => {
    expect(() => itemId(value)).toThrow(
      expect.objectContaining({
        code: 'item_id_invalid',
        message: expect.stringContaining('item_id'),
      }),
    );
    expect(() => itemId('not-this-one')).toThrow(/^(?!.*not-this-one)/);
  });
});

describe('a purchase code', () => {
  it.each(['12345678', 'a'.repeat(128), 'A-b-9-----'])('can be %s', (code) => {
    expect(hasPurchaseCodeShape(code)).toBe(true);
    expect(normalizePurchaseCode(code)).toBe(code);
  });

  it.each(['1234567', 'a'.repeat(129), '1234_5678', ' 12345678', '12345678\n', 'ü2345678', ''])(
    'cannot be %j',
    (code) => {
      expect(hasPurchaseCodeShape(code)).toBe(false);
    },
  );

  it.each([
    ['\u00ad1234\u200b\u200d5678\ufeff', '12345678'],
    ['\t 1234-5678 \n', '1234-5678'],
    ['１２３４５６７８', '12345678'],
    ['\u200b 1234 \u200b', '1234'],
    ['ab cd', 'ab cd'],
    ['ﬁ-12345678', 'fi-12345678'],
  ])('%j is meant as %j', (pasted, code) => {
    expect(normalizePurchaseCode(pasted)).toBe(code);
  });
});

describe('parameters', () => {
  const parameters = { api_key: 'a.b-c_1', purchase_code: 'x&y=z +ü' };
  const text = 'api_key=a.b-c_1&purchase_code=x%26y%3Dz+%2B%C3%BC';

  it('go as a form, as JSON or in the query, each with its type', () => {
    expect(encode(parameters, 'form')).toEqual({
      body: text,
      contentType: 'application/x-www-form-urlencoded',
    });
    expect(encode(parameters, 'query')).toEqual({ query: text });
    expect(encode(parameters, 'json')).toEqual({
      body: JSON.stringify(parameters),
      contentType: 'application/json',
    });
  });

  it.each(['', 'plain', 'a b', '&', '=', '%', '+', '"', 'a\nb', ' lead', 'ü', 'x=y&api_key=z'])(
    'are read as they were: %j',
    (value) => {
      const { query } = encode({ first: value, second: value }, 'query');
      expect([...new URLSearchParams(query)]).toEqual([
        ['first', value],
        ['second', value],
      ]);
    },
  );

  it('of none are nothing', () => {
    expect(encode({}, 'query')).toEqual({ query: '' });
  });
});

describe('the source of the api_key', () => {
  it('is the string itself, at once', () => {
    expect(apiKeySource('KeyApi', 'key')()).toBe('key');
  });

  it.each([undefined, null, 7, '', ' \t', {}, ['key']])('is not %j', (option) => {
    expect(() => apiKeySource('KeyApi', option)).toThrow(TypeError);
    expect(() => apiKeySource('KeyApi', option)).toThrow(/KeyApi.*"apiKey".*string.*function/);
  });

  it('is a function that is asked each time', async () => {
    let n = 0;
    const source = apiKeySource('KeyApi', () => `key-${n++}`);
    expect([await source(), await source()]).toEqual(['key-0', 'key-1']);
  });

  it.each([undefined, null, 7, '', ' \t', ['key'], Promise.resolve('')])(
    'function that gives %j gives none, and says where to look',
    async (given) => {
      const source = apiKeySource('KeyApi', () => given);
      const error = await rejection(Promise.resolve(source()));
      expect(error.code).toBe('service_unavailable');
      expect(error.message).toMatch(/^KeyApi: .*"apiKey" did not give/);
    },
  );

  it.each([
    [
      'throws',
      () => {
        throw new Error('s.VaultToken');
      },
    ],
    ['rejects', () => Promise.reject(new Error('s.VaultToken'))],
  ])('function that %s keeps its error to itself', async (_name, option) => {
    const error = await rejection(Promise.resolve(apiKeySource('KeyApi', option)()));
    expect(error.code).toBe('service_unavailable');
    expect(error.message).toMatch(/^KeyApi: .*"apiKey" failed/);
    expect(everythingOf(error)).not.toContain('VaultToken');
  });
});
