import { KeyApi } from 'marketgate';
import { describe, expect, it, vi } from 'vitest';
import { expectError, rejection } from '../../support/errors.js';
import { hear } from '../../support/hear.js';
import { KeyApiService, keyApiOn, settle } from '../../support/key-api-service.js';
import { json, page, reset, ServiceInMemory } from '../../support/service-in-memory.js';
import { account, CODE, KEY, refusal, success } from '../../support/wire.js';
import { serving } from '../clients/login-support.js';

const NOW = Date.parse('2026-01-01T00:00:00Z');
const YEAR = 365 * 24 * 3_600_000;

describe('a service that asks to be left alone', () => {
  it.each<[string, number, string | undefined, number]>([
    ['429 with seconds', 429, '30', 30],
    ['429 with blanks', 429, ' 7 ', 7],
    ['429 with two headers, which fetch joins', 429, '30, 60', 30],
    ['429 with a date', 429, 'Thu, 01 Jan 2026 00:00:30 GMT', 30],
    ['503 with seconds', 503, '60', 60],
    ['408 with seconds', 408, '60', 60],
    ['429 without the header', 429, undefined, 5],
    ['429 with a word', 429, 'soon', 5],
    ['429 with a number below 0', 429, '-5', 5],
    ['429 with years', 429, '999999999', 3600],
  ])('by %s gets no request meanwhile, nor a retry', async (_name, status, header, seconds) => {
    let now = NOW;
    const first = page(status, header === undefined ? {} : { 'retry-after': header });
    const later = json(success({ data: account }));
    const service = new ServiceInMemory((_request, n) => (n === 0 ? first : later));
    const options = { apiKey: KEY, dispatcher: service, cache: false, clock: () => now } as const;
    const keyApi = new KeyApi({ baseUrl: 'https://market.example', ...options });
    const refused = (retryAfter: number) => ({ code: 'service_unavailable', retryAfter });
    expect(await rejection(keyApi.getAccount())).toMatchObject(refused(seconds));
    now += 1500;
    const error = await rejection(keyApi.validatePurchase(CODE));
    expect(error).toMatchObject(refused(seconds - 1));
    expect(error.message).toContain('the service asked to be left alone for another');
    now += (seconds - 2) * 1000;
    await rejection(keyApi.getAccount());
    expect(service.requests).toHaveLength(1);
    now += 500;
    expect((await keyApi.getAccount()).username).toBe('adanorth');
  });

  it('gets no request that was waiting for its turn, and none of those is reported', async () => {
    const reported = hear('request');
    const { service, keyApi } = keyApiOn({ override: () => page(429, { 'retry-after': '60' }) });
    const codes = Array.from({ length: 500 }, (_, n) => `cold-code-${n}`);
    const errors = await Promise.all(codes.map((code) => rejection(keyApi.validatePurchase(code))));
    for (const error of errors) expect(error.retryAfter).toBeGreaterThan(0);
    expect(service.asked('all')).toBeLessThanOrEqual(128);
    expect(reported).toHaveLength(service.asked('all'));
  });

  it.each([-YEAR, YEAR])(
    'is left alone as long where the system clock steps by %d ms',
    async (step) => {
      const { loginApi } = serving(() => page(429, { 'retry-after': '60' }));
      await rejection(loginApi.exchange('k0'));
      vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + step });
      expect((await rejection(loginApi.exchange('k1'))).retryAfter).toBeOneOf([59, 60]);
    },
  );
});

it('128 requests go out at a time; callers who leave while they wait keep nobody waiting', async () => {
  const { service, keyApi } = keyApiOn({}, { cache: false });
  const leaving = new AbortController();
  const ask = (n: number, options = {}) => keyApi.validatePurchase(`code-${n}`, options);
  const calls = (count: number, options = {}) =>
    Promise.allSettled(Array.from({ length: count }, (_, n) => ask(n, options)));
  service.hold();
  const first = calls(128);
  const left = calls(9, { signal: leaving.signal });
  await settle();
  expect(service.asked()).toBe(128);
  leaving.abort();
  await Promise.all([service.release(), first, left]);
  service.hold();
  const second = calls(200);
  await settle();
  expect(service.asked()).toBe(256);
  await service.release();
  await second;
  expect(service.asked()).toBe(328);
});

it.each([500, 502, 503, 504, 408, 425, 0])(
  'a read is repeated after an HTTP status that may pass, or a cut connection (0): %d',
  async (status) => {
    const service = new KeyApiService();
    const failure = status === 0 ? reset() : page(status);
    service.override = (_request, n) => (n === 0 ? failure : undefined);
    const found = await service.client({ retries: 1 }).validatePurchase(CODE);
    expect([found?.purchase_code, service.asked()]).toEqual([CODE, 2]);
  },
);

it.each([
  ['an HTML page with 200', page(200), 'unexpected_response'],
  ['an HTML page with 404', page(404), 'unexpected_response'],
  ['a refusal', json(refusal('Missing'), 400), 'service_refused'],
])('a read is not repeated after %s, which opens no breaker', async (_name, answer, code) => {
  const { service, keyApi } = keyApiOn({ override: () => answer }, { retries: 2 });
  for (let i = 0; i < 8; i++) await expectError(keyApi.getAccount({ fresh: true }), code);
  expect(service.asked('all')).toBe(8);
});
