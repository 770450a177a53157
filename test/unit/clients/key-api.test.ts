import { getEventListeners } from 'node:events';
import { inspect } from 'node:util';
import { type CacheOptions, KeyApi, type KeyApiOptions } from 'marketgate';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { checkCacheOptions } from '../../../src/cache/options.js';
import { everythingOf, expectError, rejection, throwing } from '../../support/errors.js';
import {
  ACCOUNT,
  begun,
  KeyApiService,
  keyApiOn,
  settle,
  VALIDATION,
} from '../../support/key-api-service.js';
import { MemorySharedCache } from '../../support/memory-shared-cache.js';
import { account, CODE, KEY, purchase } from '../../support/wire.js';

const message = expect.stringContaining('this client was closed');
const CLOSED = { code: 'service_unavailable', message };
const LONG = 'x'.repeat(32);
const good = { baseUrl: 'https://market.example', apiKey: KEY };

describe('options of KeyApi', () => {
  it.each<[string, object]>([
    ['baseUrl', { baseUrl: undefined }],
    ...[undefined, null, 7, '', ' \t', {}, ['key']].map((apiKey): [string, object] => [
      'apiKey',
      { apiKey },
    ]),
    ['timeout', { timeout: 0 }],
    ['timeout', { timeout: '5s' }],
    ['timeout', { timeout: Number.NaN }],
    ['maxResponseBytes', { maxResponseBytes: -1 }],
    ['retries', { retries: -1 }],
    ['retries', { retries: 1.5 }],
    ['allowInsecure', { allowInsecure: 'false' }],
    ['dispatcher', { dispatcher: {} }],
    ['clock', { clock: 0 }],
    ['validationEncoding', { validationEncoding: 'xml' }],
    ['codePattern', { codePattern: '^MK-' }],
    ['codePattern', { codePattern: null }],
    ['codePattern', { codePattern: { test: () => true } }],
    ['timeOut', { timeOut: 5000 }],
    ...['on', true, null, 5, () => {}].map((cache): [string, object] => ['cache', { cache }]),
  ])('a wrong %s is a TypeError that names it, and whose it is: %j', (name, options) => {
    const make = (): KeyApi => new KeyApi({ ...good, ...options } as KeyApiOptions);
    expect(make).toThrow(TypeError);
    expect(make).toThrow(new RegExp(`^KeyApi: .*"${name}"`));
  });

  it.each([undefined, null, 'https://market.example', []])('%j instead of options', (options) => {
    expect(() => new KeyApi(options as unknown as KeyApiOptions)).toThrow(TypeError);
  });

  it('a wrong api_key or cache is a TypeError that says what is wanted', () => {
    expect(() => new KeyApi({ ...good, apiKey: '' })).toThrow(/"apiKey".*string.*function/);
    expect(() => new KeyApi({ ...good, cache: true as never })).toThrow(/"cache".*object.*false/);
  });
});

describe('options of the cache', () => {
  const shared = new MemorySharedCache();

  it.each<[string | RegExp, object]>([
    [/KeyApi: cache.*"tll"/, { ttl: 1, tll: 1 }],
    ...['ttl', 'staleWhileRevalidate', 'staleIfError', 'invalidTtl', 'max', 'maxInvalid'].flatMap(
      (name): [string, object][] => [
        [`"cache.${name}"`, { [name]: -1 }],
        [`"cache.${name}"`, { [name]: 1.5 }],
        [`"cache.${name}"`, { [name]: '5m' }],
        [`"cache.${name}"`, { [name]: Number.NaN }],
      ],
    ),
    ...[0, 2 ** 24 + 1].flatMap((max): [RegExp, object][] => [
      [/"cache.max".*from 1 to.*cache: false/, { max }],
      [/"cache.maxInvalid".*from 1 to.*cache: false/, { maxInvalid: max }],
    ]),
    ...['', ' ', 7, 's', 'x'.repeat(31)].map((secret): [string, object] => [
      '"cache.secret"',
      { secret, scope: 'shop' },
    ]),
    ['"cache.scope"', { secret: LONG }],
    ['"cache.scope"', { secret: LONG, scope: '' }],
    [/"cache\.shared".*RedisCache/s, { shared: 'redis' }],
    ...['read', 'write', 'delete', 'lock', 'publish', 'subscribe'].flatMap((method) =>
      [undefined, true].map((odd): [RegExp, object] => [
        new RegExp(`"cache\\.shared".*"${method}"`, 's'),
        { shared: Object.assign(new MemorySharedCache(), { [method]: odd }) },
      ]),
    ),
  ])('a wrong one is a TypeError that says %s: %j', (says, cache) => {
    const make = (): KeyApi => new KeyApi({ ...good, cache });
    expect(make).toThrow(TypeError);
    expect(make).toThrow(says);
  });

  it.each<[string, CacheOptions]>([
    ['durations of 0', { ttl: 0, staleWhileRevalidate: 0, staleIfError: 0, invalidTtl: 0 }],
    ['undefined', { ttl: undefined, shared: undefined, secret: undefined }],
    ['a shared cache', { shared }],
    ['a shared cache and a secret', { shared, secret: LONG, scope: 'a' }],
  ])('can be %s', (_name, cache) => {
    expect(() => new KeyApi({ ...good, cache })).not.toThrow();
  });

  it('has room for 5,000 positive and 1,000 negative answers by default', async () => {
    const limits = { max: 5000, maxInvalid: 1000 };
    expect(checkCacheOptions('KeyApi', undefined)).toMatchObject({ limits });
    const { keyApi } = keyApiOn({ says: 'negative' });
    const codes = Array.from({ length: 1001 }, (_, i) => `code-${i}`);
    await Promise.all(codes.map((code) => keyApi.validatePurchase(code)));
    const forgotten = codes.filter((code) => keyApi.peekPurchase(code) === undefined);
    expect(forgotten).toHaveLength(1);
  });
});

describe('the api_key', () => {
  it.each([
    ['sync', (key: () => string) => key],
    ['async', (key: () => string) => async () => key()],
  ])('function is called for every request: %s', async (_name, wrap) => {
    let key = 'first-key';
    const service = new KeyApiService();
    const keyApi = service.client({ apiKey: wrap(() => key) });
    await keyApi.getAccount();
    key = 'second-key';
    await keyApi.validatePurchase(CODE);
    const keys = service.dispatcher.requests.map((request) => request.parameter('api_key'));
    expect(keys).toEqual(['first-key', 'second-key']);
  });

  it.each<[string, () => unknown]>([
    ...[undefined, null, 7, '', ' \t', ['s.VaultToken'], Promise.resolve('')].map(
      (given): [string, () => unknown] => [`gives ${inspect(given)}`, () => given],
    ),
    ['rejects', () => Promise.reject(new Error('s.VaultToken'))],
    ['throws', throwing(new Error('s.VaultToken'))],
  ])('function that %s is service_unavailable, and says where to look', async (_n, give) => {
    const { service, keyApi } = keyApiOn({}, { apiKey: give as () => string });
    for (const call of [keyApi.getAccount(), keyApi.validatePurchase(CODE)]) {
      const error = await rejection(call);
      expect(error.code).toBe('service_unavailable');
      expect(error.message).toMatch(/^KeyApi: .*"apiKey" failed, or gave no/);
      expect(everythingOf(error)).not.toContain('VaultToken');
    }
    expect(service.asked('all')).toBe(0);
  });

  it('function that never settles is ended by the timeout', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const keyApi = new KeyApiService().client({ apiKey: () => new Promise(() => {}) });
    const calls = [keyApi.getAccount(), keyApi.validatePurchase(CODE)].map(rejection);
    await vi.advanceTimersByTimeAsync(10_000);
    for (const call of calls) expect((await call).message).toMatch(/no answer within 10000 ms/);
  });
});

describe('the parameters of the validation', () => {
  // Characters that each encoding has to take care of.
  const odd = 'x&y=z+"%-&api_key=b';

  it.each([
    ['form', 'application/x-www-form-urlencoded'],
    ['json', 'application/json'],
    ['query', undefined],
    [undefined, 'application/x-www-form-urlencoded'],
  ] as const)('go as %s', async (validationEncoding, type) => {
    const service = new KeyApiService();
    await service.client({ validationEncoding, apiKey: 'a.b-c_1' }).validatePurchase(odd);
    const [request] = service.dispatcher.requests;
    const sent = {
      form: () => Object.fromEntries(new URLSearchParams(request?.body)),
      json: () => JSON.parse(request?.body ?? ''),
      query: () => Object.fromEntries(request?.query ?? []),
    }[validationEncoding ?? 'form']();
    expect(sent).toEqual({ api_key: 'a.b-c_1', purchase_code: odd });
    expect(request).toMatchObject({ method: 'POST', path: VALIDATION });
    expect(request?.headers['content-type']).toBe(type);
    if (validationEncoding === 'query') expect(request?.body).toBe('');
    else expect(request?.query.size).toBe(0);
  });

  it('hold the code as it is normalized', async () => {
    const service = new KeyApiService();
    await service.client().validatePurchase(` ${CODE.replaceAll('f', '\uff46')}\u200b\n`);
    expect(service.dispatcher.requests[0]?.parameter('purchase_code')).toBe(CODE);
  });

  it.each([undefined, null, 7, '', '  ', '\u200b'])('%j is no code: TypeError', async (code) => {
    const call = new KeyApi(good).validatePurchase(code as string);
    await expect(call).rejects.toThrow(TypeError);
    await expect(call).rejects.toThrow('KeyApi: purchase_code must be');
  });
});

describe('a call', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));

  it('that has ended leaves no timer behind, whatever it came to', async () => {
    const { service, keyApi } = keyApiOn();
    expect(await keyApi.getAccount()).toEqual(account);
    service.says = 'negative';
    expect(await keyApi.validatePurchase(CODE)).toBeNull();
    service.says = 'outage';
    await rejection(keyApi.listItems());
    expect(vi.getTimerCount()).toBe(0);
  });

  it.each<[string, Partial<KeyApiOptions>]>([
    ['cached', {}],
    ['without a cache', { cache: false }],
  ])('ends on the wire at close(), which waits for nothing: %s', async (_name, options) => {
    const { service, keyApi } = keyApiOn({ says: 'silence' }, options);
    const leaving = new AbortController();
    const calls = [
      keyApi.validatePurchase(CODE),
      keyApi.validatePurchase('another-code', { signal: leaving.signal }),
      keyApi.getAccount(),
      keyApi.listItems(),
      keyApi.getItem(7),
    ].map(rejection);
    await settle();
    expect(service.asked('all')).toBe(5);
    await keyApi.close();
    for (const call of calls) expect(await call).toMatchObject(CLOSED);
    expect(service.dispatcher.requests.every(({ isAborted }) => isAborted)).toBe(true);
    expect(vi.getTimerCount()).toBe(0);
  });

  it.each<[string, (service: KeyApiService) => Partial<KeyApiOptions>]>([
    [
      'for its next try',
      (service) => {
        service.says = 'outage';
        return { retries: 2 };
      },
    ],
    ['for the api_key', () => ({ apiKey: () => new Promise(() => {}) })],
    [
      'for the check of the key',
      (service) => {
        service.says = 'negative';
        service.override = ({ path }) => (path === ACCOUNT ? new Promise(() => {}) : undefined);
        return {};
      },
    ],
  ])('ends at close() also while it waits %s', async (_name, prepare) => {
    const service = new KeyApiService();
    const keyApi = service.client({ cache: false, ...prepare(service) });
    const [call] = await begun(rejection(keyApi.validatePurchase(CODE)));
    const asked = service.asked('all');
    await keyApi.close();
    expect(await call).toMatchObject(CLOSED);
    expect(service.asked('all')).toBe(asked);
    expect(vi.getTimerCount()).toBe(0);
  });

  it.each<[string, Partial<KeyApiOptions>]>([
    ['cached', {}],
    ['without a cache', { cache: false }],
  ])('can share a signal with any number of others without a warning: %s', async (_n, options) => {
    const warnings: string[] = [];
    const listen = ({ name }: Error): void => void warnings.push(name);
    process.on('warning', listen);
    const { service, keyApi } = keyApiOn({}, options);
    const { signal } = new AbortController();
    service.hold();
    const calls = Array.from({ length: 30 }, (_, i) =>
      keyApi.validatePurchase(`purchase-code-${i}`, { signal }),
    );
    await settle();
    await service.release();
    expect(await Promise.all(calls)).toHaveLength(30);
    process.off('warning', listen);
    expect(warnings).toEqual([]);
    expect(getEventListeners(signal, 'abort').length).toBeLessThanOrEqual(1);
  });

  it('is refused after close(), but for what is cached', async () => {
    const { service, keyApi } = keyApiOn();
    await keyApi.validatePurchase(CODE);
    await keyApi.close();
    expect(await keyApi.validatePurchase(CODE)).toEqual(purchase);
    await expectError(keyApi.getItem(7), 'service_unavailable', 'this client was closed');
    expect(service.asked('all')).toBe(1);
    expect(service.asked(ACCOUNT)).toBe(0);
  });
});
