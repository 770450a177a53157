import type { KeyApiOptions } from 'marketgate';
import { describe, expect, it } from 'vitest';
import { expectError } from '../../support/errors.js';
import { ITEM, keyApiOn, settle } from '../../support/key-api-service.js';
import { CODE } from '../../support/wire.js';

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
    ...[-1, 1.5, 2 ** 53, undefined, 7n, '', ' 7', '+7', '1e3', '9007199254740992'],
  ])('%s is item_id_invalid, without a request', async (id) => {
    const { service, keyApi } = keyApiOn();
    await expectError(keyApi.getItem(id as string), 'item_id_invalid', 'item_id');
    expect(service.asked(ITEM)).toBe(0);
  });
});

describe.each([{}, { cache: false as const }])('a signal, with the options %j', (options) => {
  it('that is none is a TypeError that names it', async () => {
    const { keyApi } = keyApiOn({}, options);
    const given = { signal: {} as never };
    const ends = await Promise.allSettled([
      keyApi.validatePurchase(CODE, given),
      keyApi.getItem(1042, given),
      keyApi.listItems(given),
      keyApi.getAccount(given),
    ]);
    const reason = new TypeError('option "signal" must be an AbortSignal');
    expect(ends).toEqual(Array(4).fill({ status: 'rejected', reason }));
  });

  it('ends a call also where it is none of Node.js, as in jsdom', async () => {
    const { service, keyApi } = keyApiOn({ says: 'silence' }, options);
    const listeners = new Set<() => void>();
    const signal = {
      aborted: false,
      reason: new Error('left'),
      throwIfAborted() {
        if (this.aborted) throw this.reason;
      },
      addEventListener: (_type: string, listener: () => void) => listeners.add(listener),
      removeEventListener: (_type: string, listener: () => void) => listeners.delete(listener),
    };
    const call = keyApi.validatePurchase(CODE, { signal: signal as never });
    await settle();
    expect(service.asked()).toBe(1);
    signal.aborted = true;
    for (const listener of listeners) listener();
    await expect(call).rejects.toThrow('left');
  });
});

describe('a purchase code', () => {
  const pasted = ` ${CODE.replaceAll('-', '\u2013\n')}\u034f`;

  /** What the service is asked for; `undefined`: it is not asked. */
  async function requested(given: string, options?: Partial<KeyApiOptions>) {
    const { service, keyApi } = keyApiOn({}, options);
    const found = await keyApi.validatePurchase(given);
    const sent = service.wire.requests[0]?.parameter('purchase_code');
    expect(found?.purchase_code).toBe(sent);
    return sent;
  }

  it.each<[string, string | undefined]>([
    [pasted, CODE],
    ['abc', undefined],
    ['x'.repeat(600), undefined],
  ])('is requested as it is read, or invalid without a request: %j', async (given, sent) => {
    expect(await requested(given)).toBe(sent);
    expect(await requested(given, { cache: false })).toBe(sent);
  });

  it('is forgotten in the spelling in which it is pasted', async () => {
    const { service, keyApi } = keyApiOn();
    await keyApi.validatePurchase(CODE);
    await keyApi.invalidate(pasted);
    await keyApi.validatePurchase(CODE);
    expect(service.asked()).toBe(2);
  });

  it.each([undefined, 7, '', '\u200b'])('that is %j is a TypeError', async (code) => {
    const { keyApi } = keyApiOn();
    const message = expect.stringContaining('KeyApi: purchase_code must be');
    const call = keyApi.validatePurchase(code as string);
    await expect(call).rejects.toMatchObject({ name: 'TypeError', message });
  });

  it.each<[RegExp, string, boolean]>([
    [/^MK-\d{4}$/, 'MK-1234', true],
    [/^MK-\d{4}$/, 'mk-1234', false],
    [/MK/, 'x-MK-1', true],
    [Object.assign(/MK/g, { lastIndex: 3 }), 'MK-1', true],
    [/^.{1,9}$/, 'abc', false],
  ])('is requested only where codePattern %s matches it: %s', async (codePattern, code, is) => {
    expect(await requested(code, { codePattern })).toBe(is ? code : undefined);
  });
});
