import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { KeyApi } from 'marketgate';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { Breaker, parseRetryAfter } from '../../../src/http/gates.js';
import { rejection } from '../../support/errors.js';
import { json, page, ServiceInMemory, type WireAnswer } from '../../support/service-in-memory.js';
import { page as htmlPage, startUpstream } from '../../support/upstream.js';
import { account, CODE, KEY, success } from '../../support/wire.js';
import { serving } from '../clients/login-support.js';

describe('a breaker', () => {
  function open(isDown = true) {
    const self = { now: 0, isDown };
    const breaker = new Breaker(
      () => self.now,
      async () => self.isDown,
    );
    /** One call that fails; the seconds after which to try again, when it is refused. */
    const fail = async (): Promise<number | undefined> => {
      try {
        await breaker.failed(breaker.enter('GET /x'));
        return undefined;
      } catch (error) {
        expect(error).toMatchObject({ code: 'service_unavailable' });
        return (error as { retryAfter: number }).retryAfter;
      }
    };
    const failTimes = async (times: number) => {
      const ends: unknown[] = [];
      for (let n = 0; n < times; n++) ends.push(await fail());
      return ends;
    };
    return { self, breaker, fail, failTimes };
  }

  it('opens after five failures in a row, and refuses at once', async () => {
    const { breaker, failTimes } = open();
    expect(await failTimes(7)).toEqual([...Array(5).fill(undefined), 2, 2]);
    expect(() => breaker.enter('GET /x')).toThrow(
      'GET /x: not sent, because the service has failed 5 times in a row; it will be tried again in about 2 s',
    );
  });

  it('stays closed where the probe is answered, or an answer comes between failures', async () => {
    const { breaker, failTimes } = open(false);
    await failTimes(20);
    expect(breaker.isOpen).toBe(false);
    const { breaker: other, failTimes: failOther } = open();
    for (let i = 0; i < 3; i++) {
      await failOther(4);
      other.succeeded();
    }
    expect(other.isOpen).toBe(false);
  });

  it('rests for longer each time, up to half a minute', async () => {
    const { self, fail, failTimes } = open();
    await failTimes(5);
    const rests: number[] = [];
    for (let i = 0; i < 6; i++) {
      const rest = (await fail()) ?? 0;
      rests.push(rest);
      self.now += rest * 1000 - 1;
      expect(await fail()).toBe(1);
      self.now += 1;
      expect(await fail()).toBeUndefined();
    }
    expect(rests).toEqual([2, 4, 8, 16, 30, 30]);
  });

  it('lets one trial through after the rest, and another where that one has no result', async () => {
    const { self, breaker, failTimes } = open();
    await failTimes(5);
    self.now += 2000;
    expect(breaker.enter('GET /x')).toBe(true);
    expect(() => breaker.enter('GET /x')).toThrow('not sent');
    self.now += 4000;
    expect(breaker.enter('GET /x')).toBe(true);
    breaker.succeeded();
    expect(breaker.enter('GET /x')).toBe(false);
    // The next outage begins with a short rest again.
    expect((await failTimes(6)).at(-1)).toBe(2);
  });
});

const YEAR = 365 * 24 * 3_600_000;

it('the login has a separate breaker', async () => {
  let now = 1_800_000_000_000;
  const { loginApi, service } = serving(() => page(500), { clock: () => now });
  for (let i = 0; i < 5; i++) await rejection(loginApi.exchange(`k${i}`));
  expect(await rejection(loginApi.exchange('k9'))).toMatchObject({ retryAfter: 2 });
  expect(service.count('/api/authorize')).toBe(5);
  now += 2000;
  await rejection(loginApi.exchange('k10'));
  expect(service.count('/api/authorize')).toBe(6);
});

describe('a failed call says when to come back, as soon as it is known', () => {
  it('where it opens the breaker', async () => {
    const { loginApi } = serving(() => page(500));
    const seconds: unknown[] = [];
    for (let i = 0; i < 6; i++) {
      seconds.push((await rejection(loginApi.exchange(`k${i}`))).retryAfter);
    }
    expect(seconds).toEqual([undefined, undefined, undefined, undefined, 2, 2]);
  });

  it('where another call was told so by the service', async () => {
    const { loginApi } = serving((_request, n) =>
      n === 0 ? page(429, { 'retry-after': '30' }) : page(500),
    );
    const calls = [loginApi.exchange('k1'), loginApi.exchange('k2')].map(rejection);
    for (const error of await Promise.all(calls)) expect(error).toMatchObject({ retryAfter: 30 });
  });

  it('but not where the caller has left, or the client was closed', async () => {
    const { loginApi } = serving(() => page(500));
    for (let i = 0; i < 5; i++) await rejection(loginApi.exchange(`k${i}`));
    const reason = new Error('left');
    const signal = AbortSignal.abort(reason);
    await expect(loginApi.exchange('k6', { signal })).rejects.toBe(reason);
    await loginApi.close();
    expect(await rejection(loginApi.exchange('k7'))).not.toHaveProperty('retryAfter');
  });
});

it.each([-YEAR, YEAR])(
  'a system clock that steps by %d ms neither ends nor prolongs a backoff',
  async (step) => {
    const { loginApi } = serving(() => page(429, { 'retry-after': '60' }));
    await rejection(loginApi.exchange('k0'));
    // Only Date: durations are measured by a clock that cannot step.
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + step });
    expect((await rejection(loginApi.exchange('k1'))).retryAfter).toBeOneOf([59, 60]);
  },
);

const NOW = Date.parse('2026-01-01T00:00:00Z');

describe('Retry-After', () => {
  it.each([
    ['120', 120],
    ['0', 0],
    [' 7 ', 7],
    ['Thu, 01 Jan 2026 00:01:30 GMT', 90],
    ['Thursday, 01-Jan-26 00:00:10 GMT', 10],
    ['Thu Jan  1 00:02:00 2026', 120],
    ['99999999999999999999', 1e20],
    ['120, 60', 120],
    ['Thu, 01 Jan 2026 00:00:00 GMT', 0],
    ['Wed, 31 Dec 2025 23:00:00 GMT', 0],
  ])('reads %j as %d seconds', (header, seconds) => {
    expect(parseRetryAfter(header, NOW)).toBe(seconds);
  });

  it.each([undefined, '', ' ', '-5', '1.5', 'soon', 'Thu, 99 Jan', '2026-01-01'])(
    'takes %j for none',
    (header) => {
      expect(parseRetryAfter(header, NOW)).toBeUndefined();
    },
  );
});

describe('a service that asks to be left alone', () => {
  /** A client whose first answer is this one, and a clock that the test moves. */
  function open(first: WireAnswer) {
    const self = { now: NOW };
    const later = json(success({ data: account }));
    const service = new ServiceInMemory((_request, n) => (n === 0 ? first : later));
    const clock = () => self.now;
    const baseUrl = 'https://market.example';
    const options = { apiKey: KEY, dispatcher: service, cache: false, clock } as const;
    const keyApi = new KeyApi({ baseUrl, ...options });
    return { self, service, keyApi };
  }

  it.each<[string, number, object, number]>([
    ['429 with seconds', 429, { 'retry-after': '30' }, 30],
    ['429 with a date', 429, { 'retry-after': 'Thu, 01 Jan 2026 00:00:30 GMT' }, 30],
    ['503 with seconds', 503, { 'retry-after': '60' }, 60],
    ['408 with seconds', 408, { 'retry-after': '60' }, 60],
    ['429 without the header', 429, {}, 5],
    ['429 with years', 429, { 'retry-after': '999999999' }, 3600],
  ])('by %s gets no request meanwhile, nor a retry', async (_name, status, headers, seconds) => {
    const { self, service, keyApi } = open(page(status, headers));
    const refused = (retryAfter: number) => ({ code: 'service_unavailable', retryAfter });
    expect(await rejection(keyApi.getAccount())).toMatchObject(refused(seconds));
    self.now += 1500;
    const error = await rejection(keyApi.validatePurchase(CODE));
    expect(error).toMatchObject(refused(seconds - 1));
    expect(error.message).toContain('the service asked to be left alone for another');
    self.now += (seconds - 2) * 1000;
    await rejection(keyApi.getAccount());
    expect(service.requests).toHaveLength(1);
    self.now += 500;
    expect((await keyApi.getAccount()).username).toBe('adanorth');
  });

  it('gets no request that was waiting for a connection', async () => {
    const upstream = await startUpstream((_request, res) =>
      htmlPage(res, 429, { 'retry-after': '60' }),
    );
    const connected = vi.fn();
    subscribe('undici:client:connected', connected);
    onTestFinished(() => void unsubscribe('undici:client:connected', connected));
    const keyApi = new KeyApi({ baseUrl: upstream.url, apiKey: KEY });
    onTestFinished(() => keyApi.close());
    const codes = Array.from({ length: 500 }, (_, n) => `cold-code-${n}`);
    const errors = await Promise.all(codes.map((code) => rejection(keyApi.validatePurchase(code))));
    for (const error of errors) expect(error.retryAfter).toBeGreaterThan(0);
    // As many as there are connections, and none is closed for a request that is not sent.
    expect(upstream.requests.length).toBeLessThanOrEqual(128);
    expect(connected.mock.calls.length).toBeLessThanOrEqual(128);
  });
});
