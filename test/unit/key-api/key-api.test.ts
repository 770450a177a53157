import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { inspect } from 'node:util';
import { KeyApi, type KeyApiOptions } from 'marketgate';
import { describe, expect, it, onTestFinished } from 'vitest';
import { rejection } from '../../support/errors.js';
import { json, startUpstream } from '../../support/upstream.js';
import { account, CODE, item, KEY, purchase, success } from '../../support/wire.js';

const BASE = 'https://market.example';

function keyApiOf(options: Partial<KeyApiOptions> & { baseUrl: string }): KeyApi {
  const keyApi = new KeyApi({ apiKey: KEY, retries: 0, ...options });
  onTestFinished(() => keyApi.close());
  return keyApi;
}

describe('options of KeyApi', () => {
  it.each<[string, object]>([
    ['baseUrl', { apiKey: KEY }],
    ['baseUrl', { apiKey: KEY, baseUrl: 'market.example' }],
    ['baseUrl', { apiKey: KEY, baseUrl: 'http://market.example' }],
    ['apiKey', { baseUrl: BASE }],
    ['apiKey', { baseUrl: BASE, apiKey: '' }],
    ['apiKey', { baseUrl: BASE, apiKey: '  ' }],
    ['apiKey', { baseUrl: BASE, apiKey: 7 }],
    ['timeout', { baseUrl: BASE, apiKey: KEY, timeout: 0 }],
    ['timeout', { baseUrl: BASE, apiKey: KEY, timeout: '5s' }],
    ['timeout', { baseUrl: BASE, apiKey: KEY, timeout: Number.NaN }],
    ['maxResponseBytes', { baseUrl: BASE, apiKey: KEY, maxResponseBytes: -1 }],
    ['retries', { baseUrl: BASE, apiKey: KEY, retries: -1 }],
    ['retries', { baseUrl: BASE, apiKey: KEY, retries: 1.5 }],
    ['allowInsecure', { baseUrl: BASE, apiKey: KEY, allowInsecure: 'false' }],
    ['dispatcher', { baseUrl: BASE, apiKey: KEY, dispatcher: {} }],
    ['clock', { baseUrl: BASE, apiKey: KEY, clock: 0 }],
    ['validationEncoding', { baseUrl: BASE, apiKey: KEY, validationEncoding: 'xml' }],
    ['timeOut', { baseUrl: BASE, apiKey: KEY, timeOut: 5000 }],
  ])('a wrong %s is a TypeError that names it', (name, options) => {
    const make = (): KeyApi => new KeyApi(options as KeyApiOptions);
    expect(make).toThrow(TypeError);
    expect(make).toThrow(`"${name}"`);
  });

  it.each([undefined, null, 'https://market.example', []])('%j instead of options', (options) => {
    expect(() => new KeyApi(options as unknown as KeyApiOptions)).toThrow(TypeError);
  });

  it('undefined stands for the default', () => {
    expect(
      () => new KeyApi({ baseUrl: BASE, apiKey: KEY, timeout: undefined, dispatcher: undefined }),
    ).not.toThrow();
  });
});

describe('the api_key', () => {
  it('is in the query of a GET and in the body of the validation', async () => {
    const upstream = await startUpstream((request, res) =>
      json(res, success(request.method === 'GET' ? { data: account } : { data: { purchase } })),
    );
    const keyApi = keyApiOf({ baseUrl: upstream.url });
    await keyApi.getAccount();
    await keyApi.validatePurchase(CODE);
    expect(upstream.requests[0]?.query.get('api_key')).toBe(KEY);
    expect(upstream.requests[1]?.query.size).toBe(0);
    expect(new URLSearchParams(upstream.requests[1]?.body).get('api_key')).toBe(KEY);
  });

  it.each([
    ['sync', (key: () => string) => key],
    ['async', (key: () => string) => async () => key()],
  ])('is asked for with every call when it is a function, %s', async (_name, wrap) => {
    let key = 'first-key';
    const upstream = await startUpstream((_request, res) => json(res, success({ data: account })));
    const keyApi = keyApiOf({ baseUrl: upstream.url, apiKey: wrap(() => key) });
    await keyApi.getAccount();
    key = 'second-key';
    await keyApi.getAccount({ fresh: true });
    expect(upstream.requests.map((request) => request.query.get('api_key'))).toEqual([
      'first-key',
      'second-key',
    ]);
  });

  it('function that fails is no outage of the service, and its error stays inside', async () => {
    const keyApi = keyApiOf({
      baseUrl: 'http://127.0.0.1:9',
      apiKey: () => Promise.reject(new Error('vault says s.VaultToken')),
    });
    const error = await rejection(keyApi.getAccount());
    expect(error.message).toContain('"apiKey"');
    expect(inspect(error, { depth: 9, showHidden: true })).not.toContain('VaultToken');
  });

  it('function that gives nothing: could not find out, and says why', async () => {
    const keyApi = keyApiOf({ baseUrl: 'http://127.0.0.1:9', apiKey: () => '' });
    expect(await rejection(keyApi.getAccount())).toMatchObject({
      code: 'service_unavailable',
      message: expect.stringContaining('"apiKey"'),
    });
  });

  it('function that never settles is ended by the deadline', async () => {
    const keyApi = keyApiOf({
      baseUrl: 'http://127.0.0.1:9',
      apiKey: () => new Promise(() => {}),
      timeout: 50,
    });
    expect((await rejection(keyApi.getAccount())).code).toBe('service_unavailable');
  });

  it('is not seen when the client is looked at', () => {
    const keyApi = keyApiOf({ baseUrl: BASE });
    expect(inspect(keyApi, { showHidden: true, depth: 9 })).not.toContain(KEY);
    expect(JSON.stringify(keyApi)).not.toContain(KEY);
  });
});

describe('the parameters of the validation', () => {
  it.each(['form', 'json', 'query'] as const)('go as %s', async (validationEncoding) => {
    const upstream = await startUpstream((_request, res) =>
      json(res, success({ data: { purchase } })),
    );
    const keyApi = keyApiOf({ baseUrl: upstream.url, validationEncoding });
    expect(await keyApi.validatePurchase(CODE)).toEqual(purchase);
    const [request] = upstream.requests;
    const sent = {
      form: () => Object.fromEntries(new URLSearchParams(request?.body)),
      json: () => JSON.parse(request?.body ?? ''),
      query: () => Object.fromEntries(request?.query ?? []),
    }[validationEncoding]();
    expect(sent).toEqual({ api_key: KEY, purchase_code: CODE });
    expect(request?.method).toBe('POST');
    expect(request?.path).toBe('/api/purchases/validation');
  });

  it.each([
    ['blanks around', `  ${CODE}\n`],
    ['zero-width characters', `\u200b${CODE.slice(0, 9)}\u200d${CODE.slice(9)}\ufeff`],
    ['full-width letters', CODE.replaceAll('f', '\uff46')],
    ['a soft hyphen', `${CODE.slice(0, 3)}\u00ad${CODE.slice(3)}`],
  ])('hold the code as it was meant: %s', async (_name, pasted) => {
    const upstream = await startUpstream((_request, res) =>
      json(res, success({ data: { purchase } })),
    );
    await keyApiOf({ baseUrl: upstream.url }).validatePurchase(pasted);
    expect(new URLSearchParams(upstream.requests[0]?.body).get('purchase_code')).toBe(CODE);
  });

  it.each([undefined, null, 7, '', '  ', '\u200b'])('%j is no code', async (code) => {
    const keyApi = keyApiOf({ baseUrl: BASE });
    await expect(keyApi.validatePurchase(code as string)).rejects.toThrow(TypeError);
  });
});

describe('getItem', () => {
  it.each([1042, '1042'])('takes %j', async (id) => {
    const upstream = await startUpstream((_request, res) => json(res, success({ item })));
    expect(await keyApiOf({ baseUrl: upstream.url }).getItem(id)).toEqual(item);
    expect(upstream.requests[0]?.query.get('item_id')).toBe('1042');
  });

  it.each(['abc', '', '1e3', '-1', '1.5', ' 7', '99999999999999999999', Number.NaN, 1.5, null])(
    '%j is item_id_invalid, without a call',
    async (id) => {
      const keyApi = keyApiOf({ baseUrl: 'http://127.0.0.1:9' });
      expect(await rejection(keyApi.getItem(id as string))).toMatchObject({
        code: 'item_id_invalid',
        status: 400,
      });
    },
  );
});

describe('listItems', () => {
  it('leaves a broken item out, and reports where it was', async () => {
    const reports: unknown[] = [];
    const listen = (message: unknown): void => void reports.push(message);
    subscribe('marketgate:drift', listen);
    onTestFinished(() => void unsubscribe('marketgate:drift', listen));
    const items = [
      item,
      { ...item, id: 'broken' },
      null,
      { ...item, id: 1043, price: { regular: 'free' } },
      { ...item, id: 1044 },
    ];
    const upstream = await startUpstream((_request, res) => json(res, success({ items })));
    const list = await keyApiOf({ baseUrl: upstream.url }).listItems();
    expect(list.map(({ id }) => id)).toEqual([1042, 1044]);
    expect(reports).toEqual([
      expect.objectContaining({ kind: 'dropped', path: 'items[1].id' }),
      expect.objectContaining({ kind: 'dropped', path: 'items[3].price.regular' }),
    ]);
  });

  it('of which nothing can be read is no empty catalogue', async () => {
    const upstream = await startUpstream((_request, res) =>
      json(res, success({ items: [{ x: 1 }] })),
    );
    const error = await rejection(keyApiOf({ baseUrl: upstream.url }).listItems());
    expect(error.code).toBe('unexpected_response');
  });

  it('is empty when the list is', async () => {
    const upstream = await startUpstream((_request, res) => json(res, success({ items: [] })));
    expect(await keyApiOf({ baseUrl: upstream.url }).listItems()).toEqual([]);
  });
});
