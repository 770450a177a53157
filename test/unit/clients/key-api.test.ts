import { getEventListeners } from 'node:events';
import type { KeyApiOptions } from 'marketgate';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { cacheOption } from '../../../src/cache/options.js';
import { everythingOf, rejection, throwing } from '../../support/errors.js';
import { begun, keyApiOn, settle, VALIDATION } from '../../support/key-api-service.js';
import { CODE } from '../../support/wire.js';

it('KeyApi has a cache of 5,000 positive and 1,000 negative answers by default, with the ages of the contract', () => {
  const minute = 60_000;
  const ages = { ttl: 5 * minute, staleWhileRevalidate: 60 * minute, staleIfError: 1440 * minute };
  const limits = { max: 5000, maxInvalid: 1000, invalidTtl: minute / 2, ...ages };
  expect(cacheOption('KeyApi', 'cache', undefined)).toEqual({ limits, shared: undefined });
});

describe('the api_key', () => {
  it.each([
    ['sync', (key: () => string) => key],
    ['async, with blanks around the key', (key: () => string) => async () => `\ufeff${key()} `],
  ])('function is called for every request: %s', async (_name, wrap) => {
    let key = 'first-key';
    const { service, keyApi } = keyApiOn({}, { apiKey: wrap(() => key) });
    await keyApi.getAccount();
    key = 'second-key';
    await keyApi.validatePurchase(CODE);
    const keys = service.wire.requests.map((request) => request.parameter('api_key'));
    expect(keys).toEqual(['first-key', 'second-key']);
  });

  it.each<[string, () => unknown]>([
    ['gives nothing', () => undefined],
    ['gives a list', () => ['s.VaultToken']],
    ['throws', throwing(new Error('s.VaultToken'))],
  ])('function that %s is service_unavailable, and says where to look', async (_n, give) => {
    const { service, keyApi } = keyApiOn({}, { apiKey: give as () => string });
    const error = await rejection(keyApi.validatePurchase(CODE));
    expect(error.code).toBe('service_unavailable');
    expect(error.message).toMatch(/^KeyApi: .*"apiKey" failed, or gave no/);
    expect(everythingOf(error)).not.toContain('VaultToken');
    expect(service.asked('all')).toBe(0);
  });
});

it.each([
  [undefined, 'application/x-www-form-urlencoded'],
  ['json', 'application/json'],
  ['query', undefined],
] as const)('the parameters of the validation go as %s', async (validationEncoding, type) => {
  // Characters that each encoding has to take care of.
  const odd = 'x&y=z+"%-&api_key=b';
  const { service, keyApi } = keyApiOn({}, { validationEncoding, apiKey: ' a.b-c_1 ' });
  await keyApi.validatePurchase(odd);
  const [{ method, path, headers, body, query } = Object({})] = service.wire.requests;
  const isJson = validationEncoding === 'json';
  const sent = isJson ? JSON.parse(body) : Object.fromEntries(new URLSearchParams(body || query));
  expect(sent).toEqual({ api_key: 'a.b-c_1', purchase_code: odd });
  expect([method, path, headers['content-type']]).toEqual(['POST', VALIDATION, type]);
  expect(query.size > 0).toBe(validationEncoding === 'query');
});

describe('a call', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));

  it('is ended by the timeout also while it waits for the api_key', async () => {
    const { keyApi } = keyApiOn({}, { apiKey: () => new Promise(() => {}) });
    const calls = [keyApi.getAccount(), keyApi.validatePurchase(CODE)].map(rejection);
    await vi.advanceTimersByTimeAsync(10_000);
    for (const { message } of await Promise.all(calls))
      expect(message).toMatch(/not sent within 10000 ms.*"apiKey"/);
  });

  it.each<[string, Partial<KeyApiOptions>]>([
    ['for its next try', { retries: 2 }],
    ['for the api_key', { apiKey: () => new Promise(() => {}) }],
  ])('ends at close() also while it waits %s, and leaves no timer', async (_name, options) => {
    const { service, keyApi } = keyApiOn({ says: 'outage' }, { cache: false, ...options });
    const [call] = await begun(rejection(keyApi.validatePurchase(CODE)));
    const asked = service.asked('all');
    await keyApi.close();
    const { message, cause } = await call;
    expect(`${message} ${cause}`).toContain('this client was closed');
    expect(service.asked('all')).toBe(asked);
    expect(vi.getTimerCount()).toBe(0);
  });

  it.each<Partial<KeyApiOptions>>([{}, { cache: false }])(
    'shares a signal with others without a warning or a leak, with the options %j',
    async (options) => {
      const warn = vi.spyOn(process, 'emitWarning');
      const { service, keyApi } = keyApiOn({}, options);
      const { signal } = new AbortController();
      service.hold();
      const codes = Array.from({ length: 30 }, (_, i) => `purchase-code-${i}`);
      const calls = codes.map((code) => keyApi.validatePurchase(code, { signal }));
      await settle();
      await service.release();
      expect(await Promise.all(calls)).toHaveLength(30);
      expect(warn).not.toHaveBeenCalled();
      expect(getEventListeners(signal, 'abort')).toEqual([]);
      expect(vi.getTimerCount()).toBe(0);
    },
  );
});
