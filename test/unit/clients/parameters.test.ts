import { type KeyApiOptions, LoginApi } from 'marketgate';
import { describe, expect, it } from 'vitest';
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

it('options of a call that are none are a TypeError that says so', async () => {
  const keyApi = new KeyApiService().client();
  const loginApi = new LoginApi({ authUrl: 'https://a.test', appId: 'a', appSecret: 's' });
  for (const options of [null, 5, 'fresh'] as never[]) {
    for (const call of [
      () => keyApi.getItem(1042, options),
      () => keyApi.validatePurchase(CODE, options),
      () => keyApi.listItems(options),
      () => keyApi.getAccount(options),
      () => loginApi.exchange('auth-key', options),
      () => loginApi.getUser('token', options),
    ]) {
      await expect(call()).rejects.toThrow(TypeError);
      await expect(call()).rejects.toThrow('the options of a call must be an object');
    }
  }
});

describe('a purchase code', () => {
  /** What the service is asked for, and how the call ends. */
  async function ask(given: string, options?: Partial<KeyApiOptions>) {
    const service = new KeyApiService();
    const keyApi = service.client(options);
    const found = await keyApi.validatePurchase(given);
    const [request] = service.dispatcher.requests;
    return { requested: request?.parameter('purchase_code'), found };
  }

  it.each([
    ...['ABC_12345678', 'AB12.CD34.EF56', 'A1B2C3D', 'MK:12345678', 'a&b="c"', '!~!~'],
    ...['1234', 'a'.repeat(128), CODE],
  ])('of 4 to 128 visible ASCII characters is requested as it is: %s', async (code) => {
    const { requested, found } = await ask(code);
    expect(requested).toBe(code);
    expect(found?.purchase_code).toBe(code);
  });

  it.each([
    ...['abc', '\u200babc', 'a'.repeat(129), 'a'.repeat(513), ' '.repeat(513)],
    ...['1234 5678', '1234\u00a05678', '1234\t5678', '1234\u007f5678', '1234\u00005678'],
    ...['\u00fc2345678', 'a\u03010'.repeat(4), '\ud83d\udd11'.repeat(4), '\ud800'.repeat(8)],
  ])('that is anything else is invalid, without a request: %j', async (code) => {
    for (const options of [{}, { cache: false }] as const) {
      expect(await ask(code, options)).toEqual({ requested: undefined, found: null });
    }
  });

  it.each([
    ['\u00ad1234\u200b\u200d5678\ufeff', '12345678'],
    ['\t 1234-5678 \n', '1234-5678'],
    ['\uff11\uff12\uff13\uff14\uff15\uff16\uff17\uff18', '12345678'],
    ['\u200b 1234 \u200b', '1234'],
    ['\ufb01-12345678', 'fi-12345678'],
    [`${' '.repeat(384)}${'a'.repeat(128)}`, 'a'.repeat(128)],
    [`${CODE}${'\u200b'.repeat(512 - CODE.length)}`, CODE],
  ])('is requested without what a paste adds: %j as %j', async (pasted, code) => {
    expect((await ask(pasted)).requested).toBe(code);
  });

  it('longer than 512 characters is refused before it is trimmed or normalised', async () => {
    const pasted = `${CODE}${'\u200b'.repeat(513 - CODE.length)}`;
    expect(await ask(pasted)).toEqual({ requested: undefined, found: null });
    expect((await ask(` ${pasted.slice(0, 511)}`)).requested).toBe(CODE);
    expect(await ask(` ${pasted.slice(0, 512)}`)).toMatchObject({ found: null });
  });

  it.each<[RegExp, string, boolean]>([
    [/^MK-\d{4}$/, 'MK-1234', true],
    [/^MK-\d{4}$/, 'MK-12345', false],
    [/^MK-\d{4}$/, 'mk-1234', false],
    [/^mk-\d{4}$/i, 'MK-1234', true],
    [/MK/, 'x-MK-1', true],
    [/MK/y, 'x-MK-1', false],
    [/^.{1,9}$/, 'abc', false],
  ])(
    'is requested only where codePattern %s matches as well: %s',
    async (codePattern, code, is) => {
      const requested = is ? code : undefined;
      expect((await ask(code, { codePattern })).requested).toBe(requested);
    },
  );

  it.each(['g', 'y', 'gy'])(
    'is compared with a codePattern of the flags %s from its beginning each time',
    async (flags) => {
      const codePattern = new RegExp('[A-Z]{4}', flags);
      const keyApi = new KeyApiService().client({ codePattern });
      codePattern.lastIndex = 3;
      for (const code of ['ABCD', 'EFGH', 'IJKL']) {
        expect((await keyApi.validatePurchase(code))?.purchase_code).toBe(code);
      }
    },
  );
});
