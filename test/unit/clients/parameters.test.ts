import type { KeyApiOptions } from 'marketgate';
import { describe, expect, it } from 'vitest';
import { normalizePurchaseCode, PURCHASE_CODE } from '../../../src/model/purchase.js';
import { rejection } from '../../support/errors.js';
import { ITEM, KeyApiService } from '../../support/key-api-service.js';
import { CODE } from '../../support/wire.js';

describe('an item id', () => {
  it.each([
    [0, '0'],
    [1042, '1042'],
    ['0', '0'],
    ['007', '7'],
    ['1042', '1042'],
    ['9007199254740991', '9007199254740991'],
    [Number.MAX_SAFE_INTEGER, '9007199254740991'],
  ])('%j is requested as %s', async (id, sent) => {
    const service = new KeyApiService();
    expect((await service.client().getItem(id))?.id).toBe(Number(sent));
    expect(service.dispatcher.requests[0]?.query.get('item_id')).toBe(sent);
  });

  it.each<[unknown]>(
    [
      ...[-1, 1.5, 2 ** 53, Number.POSITIVE_INFINITY, Number.NaN],
      ...['', ' 7', '7 ', 'x7', '7x', '7\n', '+7', '1e3', '-1', '1.5', 'not-this-one'],
      ...['9007199254740992', '00000000000000007', '99999999999999999999'],
      ...[true, null, undefined, 7n],
    ].map((id): [unknown] => [id]),
  )('%s is item_id_invalid, without a request', async (id) => {
    const service = new KeyApiService();
    const error = await rejection(service.client().getItem(id as string));
    expect(error).toMatchObject({ code: 'item_id_invalid', status: 400 });
    expect(error.message).toContain('item_id');
    expect(error.message).not.toContain('not-this-one');
    expect(service.asked(ITEM)).toBe(0);
  });
});

it.each<[string, KeyApiOptions['cache']]>([
  ['with a cache', {}],
  ['without', false],
])('a signal that is none is a TypeError that names it, %s', async (_name, cache) => {
  const keyApi = new KeyApiService().client({ cache });
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

// What guards check before they ask.
describe('a purchase code', () => {
  it.each(['12345678', 'a'.repeat(128), 'A-b-9-----'])('can be %s', (code) => {
    expect(PURCHASE_CODE.test(code)).toBe(true);
    expect(normalizePurchaseCode(code)).toBe(code);
  });

  it.each(['1234567', 'a'.repeat(129), '1234_5678', ' 12345678', '12345678\n', 'ü2345678', ''])(
    'cannot be %j',
    (code) => {
      expect(PURCHASE_CODE.test(code)).toBe(false);
    },
  );

  it.each([
    ['\u00ad1234\u200b\u200d5678\ufeff', '12345678'],
    ['\t 1234-5678 \n', '1234-5678'],
    ['１２３４５６７８', '12345678'],
    ['\u200b 1234 \u200b', '1234'],
    ['ab cd', 'ab cd'],
    ['ﬁ-12345678', 'fi-12345678'],
  ])('%j is normalized to %j', (pasted, code) => {
    expect(normalizePurchaseCode(pasted)).toBe(code);
  });
});
