import { describe, expect, it, vi } from 'vitest';
import { expectError, rejection } from '../../support/errors.js';
import { hear } from '../../support/hear.js';
import {
  ACCOUNT,
  KeyApiService,
  keyApiOn,
  settle,
  VALIDATION,
} from '../../support/key-api-service.js';
import { json, page, reset } from '../../support/service-in-memory.js';
import { CODE, refusal } from '../../support/wire.js';
import { serving } from '../clients/login-support.js';

const NOW = Date.parse('2026-01-01T00:00:00Z');
const YEAR = 365 * 24 * 3_600_000;

describe('a service that asks to be left alone, and does not answer account/details either', () => {
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
    const { service, keyApi } = keyApiOn({}, { cache: false, retries: 2 });
    service.now = NOW;
    const busy = page(status, header === undefined ? {} : { 'retry-after': header });
    service.override = () => busy;
    const refused = (retryAfter: number) => ({ code: 'service_unavailable', retryAfter });
    expect(await rejection(keyApi.validatePurchase(CODE))).toMatchObject(refused(seconds));
    // The code, and account/details.
    expect(service.asked('all')).toBe(2);
    service.now += 1500;
    const error = await rejection(keyApi.listItems());
    expect(error).toMatchObject(refused(seconds - 1));
    expect(error.message).toContain('the service asked to be left alone for another');
    service.override = undefined;
    service.now += Math.min(seconds - 2, 50) * 1000;
    await rejection(keyApi.getAccount());
    expect(service.asked('all')).toBe(2);
    service.now = NOW + Math.min(seconds, 60) * 1000;
    expect((await keyApi.getAccount()).username).toBe('adanorth');
  });

  it('is asked again once a minute, by one call, and its answer ends that', async () => {
    const { service, keyApi } = keyApiOn({}, { cache: false });
    service.override = () => page(503, { 'retry-after': '600' });
    await rejection(keyApi.validatePurchase(CODE));
    for (let minute = 1; minute <= 3; minute++) {
      service.now += 60_000;
      const calls = [1, 2, 3].map((n) => rejection(keyApi.validatePurchase(`code-${n}`)));
      for (const { retryAfter } of await Promise.all(calls))
        expect(retryAfter).toBeGreaterThan(400);
      expect(service.asked()).toBe(1);
      expect(service.asked(ACCOUNT)).toBe(1 + minute);
    }
    service.override = undefined;
    service.now += 59_000;
    await rejection(keyApi.validatePurchase(CODE));
    service.now += 1000;
    expect(await keyApi.validatePurchase(CODE)).not.toBeNull();
    expect(await keyApi.validatePurchase('code-2')).not.toBeNull();
  });

  it('is asked again for all, also where the visitor whose call does so leaves at once', async () => {
    const { service, keyApi } = keyApiOn({}, { cache: false });
    service.override = () => page(429, { 'retry-after': '600' });
    await rejection(keyApi.validatePurchase(CODE));
    service.override = undefined;
    service.now += 60_000;
    service.hold();
    const leaving = new AbortController();
    const left = keyApi.validatePurchase(CODE, { signal: leaving.signal });
    await settle();
    leaving.abort(new Error('left'));
    await expect(left).rejects.toThrow('left');
    await service.release();
    expect(await keyApi.validatePurchase(CODE)).not.toBeNull();
  });

  it('is left by a caller with its own reason, also while account/details is asked', async () => {
    const { service, keyApi } = keyApiOn({}, { cache: false });
    service.override = ({ path }) =>
      path === ACCOUNT ? new Promise(() => {}) : page(503, { 'retry-after': '30' });
    const leaving = new AbortController();
    const left = keyApi.validatePurchase(CODE, { signal: leaving.signal });
    await settle();
    expect(service.asked(ACCOUNT)).toBe(1);
    leaving.abort(new Error('left'));
    await expect(left).rejects.toThrow('left');
  });

  it('at account/details is not asked there a second time', async () => {
    const { service, keyApi } = keyApiOn({ override: () => page(429, { 'retry-after': '30' }) });
    expect((await rejection(keyApi.getAccount())).retryAfter).toBe(30);
    expect((await rejection(keyApi.validatePurchase(CODE))).retryAfter).toBe(30);
    expect(service.asked('all')).toBe(1);
  });

  it('gets no request that was waiting for its turn, and none of those is reported', async () => {
    const reported = hear('request');
    const { service, keyApi } = keyApiOn({ override: () => page(429, { 'retry-after': '60' }) });
    const codes = Array.from({ length: 500 }, (_, n) => `cold-code-${n}`);
    const errors = await Promise.all(codes.map((code) => rejection(keyApi.validatePurchase(code))));
    for (const error of errors) expect(error.retryAfter).toBeGreaterThan(0);
    expect(service.asked('all')).toBeLessThanOrEqual(129);
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

describe('a service that refuses one input for a while, and answers account/details', () => {
  const refusing = (status: number, header?: string) => {
    const headers = header === undefined ? {} : { 'retry-after': header };
    const { service, keyApi } = keyApiOn({}, { cache: false, retries: 2 });
    service.override = ({ path, parameter }) =>
      path === VALIDATION && parameter('purchase_code') === 'odd-code'
        ? page(status, headers)
        : undefined;
    return { service, keyApi };
  };

  it.each<[number, string | undefined, number]>([
    [429, '3600', 3600],
    [429, undefined, 5],
    [408, '3600', 3600],
    [425, '60', 60],
    [500, '3600', 3600],
    [503, '3600', 3600],
  ])(
    'by HTTP %d, Retry-After %s, is left alone for ten seconds with that input only',
    async (status, header, seconds) => {
      const { service, keyApi } = refusing(status, header);
      const odd = () => rejection(keyApi.validatePurchase('odd-code'));
      const refused = { code: 'service_unavailable', retryAfter: seconds };
      expect(await odd()).toMatchObject(refused);
      expect(await keyApi.isDown()).toBe(false);
      expect(await keyApi.validatePurchase(CODE)).not.toBeNull();
      expect((await keyApi.listItems()).length).toBeGreaterThan(0);
      service.now += 9999;
      const asked = service.asked('all');
      expect(await odd()).toMatchObject(refused);
      expect(service.asked('all')).toBe(asked);
      service.now += 1;
      service.override = undefined;
      expect(await keyApi.validatePurchase('odd-code')).not.toBeNull();
    },
  );

  it('at a login asks get_user_info without a token, which any JSON answers', async () => {
    const { loginApi, service } = serving(({ path, parameter }) => {
      if (path === '/api/get_user_info') return json({ error: true, message: 'no token' }, 401);
      return parameter('auth_key') === 'odd'
        ? page(503, { 'retry-after': '3600' })
        : json({ access_token: 'token' });
    });
    expect((await rejection(loginApi.exchange('odd'))).retryAfter).toBe(3600);
    expect((await loginApi.exchange('fine')).value).toBe('token');
    expect(service.requests.map(({ path, query }) => `${path}?${query}`)).toEqual([
      '/api/authorize?',
      '/api/get_user_info?',
      '/api/authorize?',
    ]);
  });

  it('counts a failed attempt for who has sent it, and none for what was not sent', async () => {
    const { service, keyApi } = refusing(429, '3600');
    const ask = (code: string, client = 'anna') =>
      keyApi.validatePurchase(code, { client }).catch((error) => error.code);
    service.override = ({ path, parameter }) =>
      path === VALIDATION && parameter('purchase_code')?.startsWith('odd') ? page(429) : undefined;
    for (let n = 0; n < 10; n++) {
      expect(await ask(`odd-code-${n}`)).toBe('service_unavailable');
      expect(await ask(`odd-code-${n}`)).toBe('service_unavailable');
    }
    expect(await ask('odd-code-10')).toBe('too_many_attempts');
    expect(await ask(CODE, 'ben')).toHaveProperty('purchase_code');
  });
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

it('of a crowd behind a gate that closes, one caller is refused in each turn of the event loop', async () => {
  const { service, keyApi } = keyApiOn({}, { cache: false });
  service.override = () => page(429, { 'retry-after': '60' });
  let [turn, isOver] = [0, false];
  const count = (): void => {
    turn++;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  const refusedIn = (n: number) => rejection(keyApi.validatePurchase(`code-${n}`)).then(() => turn);
  const turns = await Promise.all(Array.from({ length: 328 }, (_, n) => refusedIn(n)));
  isOver = true;
  // The first 128 did not wait.
  expect(new Set(turns.slice(128)).size).toBe(200);
});

it.each([502, 503, 504, 0])(
  'a read is repeated after an HTTP status that says nothing about it, or a cut connection (0): %d',
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
