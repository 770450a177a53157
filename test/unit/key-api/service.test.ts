import { KeyApi, type KeyApiOptions } from 'marketgate';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { checkClientOptions } from '../../../src/http/client-options.js';
import { serviceUrl } from '../../../src/http/service-url.js';
import { KeyService } from '../../../src/key-api/service.js';
import { rejection } from '../../support/errors.js';
import { json, page, startUpstream, type Upstream } from '../../support/upstream.js';
import { account, CODE, KEY, purchase, refusal, success } from '../../support/wire.js';

const VALIDATION = '/api/purchases/validation';
const ACCOUNT = '/api/account/details';

function keyApiOf(upstream: Upstream, options: Partial<KeyApiOptions> = {}): KeyApi {
  const given = { baseUrl: upstream.url, apiKey: KEY, retries: 0, ...options };
  const keyApi = new KeyApi(given);
  onTestFinished(() => keyApi.close());
  return keyApi;
}

/** The service itself, without the cache in front of it. */
function serviceOf(upstream: Upstream, timeout: number): KeyService {
  const settings = checkClientOptions('test', { timeout, retries: 0 });
  const url = serviceUrl('test', 'baseUrl', upstream.url, false);
  const service = new KeyService(url, settings, () => KEY, 'form', undefined);
  onTestFinished(() => service.close());
  return service;
}

describe('a call', () => {
  it.each([
    ['getAccount', (keyApi: KeyApi) => keyApi.getAccount()],
    ['validatePurchase', (keyApi: KeyApi) => keyApi.validatePurchase(CODE)],
  ])('%s is made again after a failure, for it only reads', async (_name, call) => {
    let calls = 0;
    const upstream = await startUpstream((request, res) => {
      if (++calls === 1) return page(res, 503);
      return json(res, success({ data: request.path === ACCOUNT ? account : { purchase } }));
    });
    expect(await call(keyApiOf(upstream, { retries: 1 }))).toMatchObject({});
    expect(calls).toBe(2);
  });

  it('has as much less time as was spent before it', async () => {
    const upstream = await startUpstream(() => {});
    const error = await rejection(serviceOf(upstream, 60_000).purchase(CODE, { spent: 59_940 }));
    expect(error.message).toContain(`POST ${VALIDATION}: no answer within 60 ms`);
  });

  it('has a moment all the same when everything was spent', async () => {
    const upstream = await startUpstream(() => {});
    const error = await rejection(serviceOf(upstream, 1000).item(7, { spent: 5000 }));
    expect(error.message).toContain('GET /api/items/item: no answer within 1 ms');
  });

  it('that has ended leaves no timer behind, whatever it came to', async () => {
    const upstream = await startUpstream((request, res) => {
      if (request.path === ACCOUNT) return json(res, success({ data: account }));
      return json(res, refusal('Invalid purchase code'));
    });
    // A time that nothing else in this process has.
    const timeout = 86_399_999;
    const keyApi = keyApiOf(upstream, { timeout });
    const set = vi.spyOn(globalThis, 'setTimeout');
    const clear = vi.spyOn(globalThis, 'clearTimeout');
    onTestFinished(() => void vi.restoreAllMocks());
    await keyApi.getAccount();
    await keyApi.validatePurchase(CODE);
    const ours = set.mock.results.filter((_result, i) => set.mock.calls[i]?.[1] === timeout);
    const cleared = new Set<unknown>(clear.mock.calls.map(([timer]) => timer));
    expect(ours).toHaveLength(2);
    expect(ours.every(({ value }) => cleared.has(value))).toBe(true);
  });

  it('is refused once the client is closed', async () => {
    const upstream = await startUpstream((_request, res) => page(res, 503));
    const keyApi = keyApiOf(upstream);
    await keyApi.close();
    const error = await rejection(keyApi.getItem(7));
    expect([error.code, error.message]).toEqual([
      'service_unavailable',
      expect.stringContaining('this client was closed'),
    ]);
    expect(upstream.count('/api/items/item')).toBe(0);
  });
});

describe('what was sent', () => {
  it('is not repeated in an error, when the service repeats it', async () => {
    const upstream = await startUpstream((_request, res) =>
      json(res, refusal(`no such thing for ${KEY} and ${CODE}`)),
    );
    const error = await rejection(keyApiOf(upstream).validatePurchase(CODE));
    expect(error.code).toBe('service_refused');
    expect(error.message).toContain('no such thing for');
    expect(error.message).not.toContain(KEY);
    expect(error.message).not.toContain(CODE);
  });
});

describe('what is known of the api_key', () => {
  it('is nothing after an outage of account/details: the next no asks again', async () => {
    let isDown = true;
    const upstream = await startUpstream((request, res) => {
      if (request.path === VALIDATION) return json(res, refusal('Invalid purchase code'));
      return isDown ? page(res, 503) : json(res, success({ data: account }));
    });
    const keyApi = keyApiOf(upstream);
    expect((await rejection(keyApi.getAccount())).code).toBe('service_unavailable');
    isDown = false;
    expect(await keyApi.validatePurchase(CODE)).toBeNull();
    expect(upstream.count(ACCOUNT)).toBe(2);
  });
});

describe('a client without a cache', () => {
  it('has nothing to invalidate', async () => {
    const upstream = await startUpstream((_request, res) => page(res, 503));
    const keyApi = keyApiOf(upstream, { cache: false });
    await expect(keyApi.invalidate(CODE)).resolves.toBeUndefined();
    await expect(keyApi.invalidate()).resolves.toBeUndefined();
  });
});

describe('an error of a wrong argument', () => {
  it.each<[string, Partial<KeyApiOptions>]>([
    ['validationEncoding', { validationEncoding: 'xml' as never }],
    ['timeout', { timeout: -1 }],
  ])('begins with who was given it: %s', async (name, options) => {
    const make = () => new KeyApi({ baseUrl: 'https://market.example', apiKey: KEY, ...options });
    expect(make).toThrow(`KeyApi: option "${name}"`);
  });

  it('says which one it was', async () => {
    const keyApi = new KeyApi({ baseUrl: 'https://market.example', apiKey: KEY });
    await expect(keyApi.validatePurchase(' ')).rejects.toThrow('KeyApi: purchase_code must be');
  });
});
