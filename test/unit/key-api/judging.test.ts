import type { ServerResponse } from 'node:http';
import { KeyApi } from 'marketgate';
import { describe, expect, it, onTestFinished } from 'vitest';
import { everythingOf, rejection } from '../../support/errors.js';
import { json, page, startUpstream, type Upstream } from '../../support/upstream.js';
import { account, CODE, item, KEY, purchase, refusal, success } from '../../support/wire.js';

const ACCOUNT = '/api/account/details';
const NO = 'Invalid purchase code';

type Reply = (res: ServerResponse) => unknown;

/** A service that knows the key, and answers everything else with `reply`. */
async function serving(reply: Reply): Promise<{ keyApi: KeyApi; upstream: Upstream }> {
  const upstream = await startUpstream((request, res) =>
    request.path === ACCOUNT ? json(res, success({ data: account })) : reply(res),
  );
  const keyApi = new KeyApi({ baseUrl: upstream.url, apiKey: KEY, retries: 0 });
  onTestFinished(() => keyApi.close());
  return { keyApi, upstream };
}

describe('the answer', () => {
  it.each([
    ['as documented', { data: { purchase } }, 200],
    ['with the purchase under "item"', { item: purchase }, 200],
    ['with an unusual status', { data: { purchase } }, 201],
    ['with a 4xx, for the body goes first', { data: { purchase } }, 404],
    ['with unknown fields', { data: { purchase, trace: 7 }, took: '3ms' }, 200],
  ])('a purchase %s', async (_name, body, status) => {
    const { keyApi } = await serving((res) => json(res, success(body), status));
    expect(await keyApi.validatePurchase(CODE)).toEqual(purchase);
  });

  it('a purchase whose status is translated', async () => {
    const { keyApi } = await serving((res) =>
      json(res, { status: 'erfolgreich', data: { purchase } }),
    );
    expect(await keyApi.validatePurchase(CODE)).toEqual(purchase);
  });

  it('is not a purchase when the status is "error"', async () => {
    const { keyApi } = await serving((res) => json(res, { status: 'error', data: { purchase } }));
    expect((await rejection(keyApi.validatePurchase(CODE))).code).toBe('unexpected_response');
  });

  it('is not a purchase when the status is "error" and the msg is the documented no', async () => {
    const { keyApi } = await serving((res) => json(res, { ...refusal(NO), data: { purchase } }));
    expect(await keyApi.validatePurchase(CODE)).toBeNull();
  });
});

describe("the service's no", () => {
  it.each([200, 201, 400, 401, 403, 404, 409, 422])('with HTTP %d', async (status) => {
    const { keyApi } = await serving((res) => json(res, refusal(NO), status));
    expect(await keyApi.validatePurchase(CODE)).toBeNull();
  });

  it('in another letter case', async () => {
    const { keyApi } = await serving((res) => json(res, refusal('INVALID Purchase Code')));
    expect(await keyApi.validatePurchase(CODE)).toBeNull();
  });

  it('translated, with HTTP 404', async () => {
    const { keyApi } = await serving((res) =>
      json(res, { status: 'Fehler', msg: 'Kaufcode ungültig' }, 404),
    );
    expect(await keyApi.validatePurchase(CODE)).toBeNull();
  });

  it('to items/item is null, to items/all an empty list', async () => {
    const one = await serving((res) => json(res, refusal('Item not found')));
    expect(await one.keyApi.getItem(7)).toBeNull();
    const all = await serving((res) => json(res, refusal('No Items Found')));
    expect(await all.keyApi.listItems()).toEqual([]);
  });
});

describe('what is no answer never reads as a no', () => {
  it.each<[string, Reply, string]>([
    ['HTTP 500', (res) => page(res, 500), 'service_unavailable'],
    ['HTTP 500 in the words of a no', (res) => json(res, refusal(NO), 500), 'service_unavailable'],
    ['HTTP 503 in the words of a no', (res) => json(res, refusal(NO), 503), 'service_unavailable'],
    ['HTTP 408 in the words of a no', (res) => json(res, refusal(NO), 408), 'service_unavailable'],
    ['HTTP 425 in the words of a no', (res) => json(res, refusal(NO), 425), 'service_unavailable'],
    ['HTTP 429 in the words of a no', (res) => json(res, refusal(NO), 429), 'service_unavailable'],
    ['HTTP 429 as a page', (res) => page(res, 429), 'service_unavailable'],
    ['HTTP 429 as {message}', (res) => json(res, { message: 'x' }, 429), 'service_unavailable'],
    ['a cut connection', (res) => res.destroy(), 'service_unavailable'],
    ['a page with 200', (res) => page(res, 200), 'unexpected_response'],
    ['a page with 404: the API is switched off', (res) => page(res, 404), 'unexpected_response'],
    ['a page with 403: a firewall', (res) => page(res, 403), 'unexpected_response'],
    ['an empty body', (res) => res.end(), 'unexpected_response'],
    ['an empty 404', (res) => res.writeHead(404).end(), 'unexpected_response'],
    ['a list', (res) => json(res, []), 'unexpected_response'],
    ['null', (res) => json(res, null), 'unexpected_response'],
    ['a string', (res) => json(res, NO, 404), 'unexpected_response'],
    ['404 with another JSON body', (res) => json(res, { message: NO }, 404), 'unexpected_response'],
    ['404 with a msg that is no text', (res) => json(res, { msg: 1 }, 404), 'unexpected_response'],
    ['success without a payload', (res) => json(res, success({})), 'unexpected_response'],
    ['an empty payload', (res) => json(res, success({ data: {} })), 'unexpected_response'],
    [
      'a payload of null',
      (res) => json(res, success({ data: { purchase: null } })),
      'unexpected_response',
    ],
    [
      'a purchase without an item',
      (res) => json(res, success({ data: { purchase: { ...purchase, item: undefined } } })),
      'unexpected_response',
    ],
    [
      'a purchase whose support ends on no date',
      (res) =>
        json(res, success({ data: { purchase: { ...purchase, supported_until: 'never' } } })),
      'unexpected_response',
    ],
    [
      'a purchase with a price in words',
      (res) => json(res, success({ data: { purchase: { ...purchase, price: 'free' } } })),
      'unexpected_response',
    ],
    ["another endpoint's no", (res) => json(res, refusal('Item Not Found')), 'service_refused'],
    [
      'a validation sentence',
      (res) => json(res, refusal('The purchase code field is required.'), 400),
      'service_refused',
    ],
    [
      'the words of a no with status success',
      (res) => json(res, { status: 'success', msg: NO }),
      'service_refused',
    ],
    [
      'a translated no with HTTP 200',
      (res) => json(res, { status: 'Fehler', msg: 'Kaufcode ungültig' }),
      'service_refused',
    ],
    [
      'a no behind a PHP warning',
      (res) => res.end(`Warning: x\n${JSON.stringify(refusal(NO))}`),
      'unexpected_response',
    ],
  ])('%s', async (_name, reply, code) => {
    const { keyApi, upstream } = await serving(reply);
    expect((await rejection(keyApi.validatePurchase(CODE))).code).toBe(code);
    expect(upstream.count(ACCOUNT)).toBe(0);
  });

  it('says that there was text ahead of the JSON, and not which', async () => {
    const { keyApi } = await serving((res) =>
      res.end(`Warning: mysql_connect(root)\n${JSON.stringify(success({ data: { purchase } }))}`),
    );
    const error = await rejection(keyApi.validatePurchase(CODE));
    expect(error.message).toContain('text ahead of the JSON');
    expect(everythingOf(error)).not.toContain('mysql');
  });

  it('names the field that is not as documented, and not its value', async () => {
    const { keyApi } = await serving((res) =>
      json(res, success({ data: { purchase: { ...purchase, item: { ...item, id: 'seven' } } } })),
    );
    const error = await rejection(keyApi.validatePurchase(CODE));
    expect(error.message).toContain('data.purchase.item.id');
    expect(error.message).not.toContain('seven');
  });

  it('carries the sentence of a refusal, without what was sent', async () => {
    const { keyApi } = await serving((res) =>
      json(res, refusal(`Key ${KEY} may not ask for ${CODE.toUpperCase()}`), 400),
    );
    const error = await rejection(keyApi.validatePurchase(CODE));
    expect(error.message).toContain('may not ask for');
    const all = everythingOf(error).toLowerCase();
    expect(all).not.toContain(KEY);
    expect(all).not.toContain(CODE);
  });
});
