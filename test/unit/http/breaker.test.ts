import { KeyApi, LoginApi } from 'marketgate';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { rejection } from '../../support/errors.js';
import { page, startUpstream } from '../../support/upstream.js';
import { KEY, purchase } from '../../support/wire.js';
import { type Behaviour, SimulatedService } from './simulation/simulated-service.js';
import { SimulatedTime } from './simulation/simulated-time.js';

describe('a service that keeps failing', () => {
  let time: SimulatedTime;
  beforeEach(() => {
    time = SimulatedTime.begin();
  });
  afterEach(() => time.end());

  const FAILS: Behaviour = { answer: '500', after: 0 };
  const WORKS: Behaviour = { answer: 'yes', after: 0 };

  function open(retries = 0) {
    const self = { behave: FAILS, offset: 0 };
    const service = new SimulatedService(time.now, () => self.behave);
    const keyApi = new KeyApi({
      baseUrl: 'https://simulated.test',
      apiKey: KEY,
      retries,
      // A lookup of the cache goes on when its caller leaves; here the call itself ends.
      cache: false,
      clock: () => time.now() + self.offset,
      dispatcher: service,
    });
    let codes = 0;
    /** A call that must fail. */
    const fail = (options: { signal?: AbortSignal } = {}) =>
      time.until(rejection(keyApi.validatePurchase(`some-code-${codes++}`, options)));
    const work = async () => {
      const purchase_code = `good-code-${codes++}`;
      const found = await time.until(keyApi.validatePurchase(purchase_code));
      expect(found).toEqual({ ...purchase, purchase_code });
    };
    const failFiveTimes = async () => {
      for (let i = 0; i < 5; i++) expect((await fail()).retryAfter).toBeUndefined();
    };
    return { self, service, keyApi, fail, work, failFiveTimes };
  }

  it('is left alone after five calls, and everyone else is answered at once', async () => {
    const { service, fail, failFiveTimes } = open();
    await failFiveTimes();
    for (let i = 0; i < 20; i++) {
      expect(await fail()).toMatchObject({ code: 'service_unavailable', retryAfter: 2 });
    }
    expect(service.count()).toBe(5);
  });

  it('rests for longer each time, up to half a minute', async () => {
    const { self, fail, failFiveTimes } = open();
    await failFiveTimes();
    const rests: number[] = [];
    for (let i = 0; i < 6; i++) {
      const { retryAfter = 0 } = await fail();
      rests.push(retryAfter);
      self.offset += retryAfter * 1000;
      await fail();
    }
    expect(rests).toEqual([2, 4, 8, 16, 30, 30]);
  });

  it('is tried by one call when the rest is over; the others are refused meanwhile', async () => {
    const { self, service, fail, failFiveTimes } = open();
    await failFiveTimes();
    self.offset += 1999;
    await fail();
    expect(service.count()).toBe(5);
    self.offset += 1;
    await Promise.all([fail(), fail(), fail()]);
    expect(service.count()).toBe(6);
  });

  it('is tried once, without retries, when the rest is over', async () => {
    const { self, service, fail, failFiveTimes } = open(2);
    await failFiveTimes();
    expect(service.count()).toBe(15);
    self.offset += 2000;
    await fail();
    expect(service.count()).toBe(16);
  });

  it('whose tester leaves is tried by the next', async () => {
    const { self, service, keyApi, work, failFiveTimes } = open();
    await failFiveTimes();
    self.offset += 2000;
    self.behave = { answer: 'hang', after: 0 };
    const leaving = new AbortController();
    const left = keyApi.validatePurchase('x-code-123', { signal: leaving.signal, fresh: true });
    await time.pass(0);
    expect(service.count()).toBe(6);
    leaving.abort();
    await expect(left).rejects.toThrow(/abort/i);
    await time.pass(0);
    self.behave = WORKS;
    await work();
  });

  it('is back with the first call that is answered', async () => {
    const { self, service, work, failFiveTimes } = open();
    await failFiveTimes();
    self.behave = WORKS;
    self.offset += 2000;
    await work();
    await work();
    expect(service.count()).toBe(7);
  });

  it.each([
    ['an hour', 3_600_000],
    ['a year', 365 * 24 * 3_600_000],
  ])('rests no longer when the clock is set back by %s', async (_name, step) => {
    const { self, service, fail, work, failFiveTimes } = open();
    await failFiveTimes();
    self.offset -= step;
    expect(await fail()).toMatchObject({ retryAfter: 2 });
    self.behave = WORKS;
    self.offset += 2000;
    await work();
    expect(service.count()).toBe(6);
  });

  it('is left open by answers between the failures', async () => {
    const { self, service, fail, work } = open();
    for (let i = 0; i < 12; i++) {
      self.behave = i % 4 === 3 ? WORKS : FAILS;
      await (i % 4 === 3 ? work() : fail());
    }
    expect(service.count()).toBe(12);
  });
});

it('pages and refusals are answers: they come at once, and say what is wrong', async () => {
  const upstream = await startUpstream((_request, res) => page(res, 404));
  const keyApi = new KeyApi({ baseUrl: upstream.url, apiKey: KEY });
  onTestFinished(() => keyApi.close());
  for (let i = 0; i < 8; i++) {
    expect((await rejection(keyApi.getAccount())).code).toBe('unexpected_response');
  }
  expect(upstream.requests).toHaveLength(8);
});

it('the login has a breaker of its own', async () => {
  const upstream = await startUpstream((_request, res) => page(res, 500));
  const loginApi = new LoginApi({
    authUrl: upstream.url,
    appId: 'a',
    appSecret: 's',
    clock: () => 0,
  });
  onTestFinished(() => loginApi.close());
  for (let i = 0; i < 5; i++) await rejection(loginApi.exchange(`k${i}`));
  expect(await rejection(loginApi.exchange('k9'))).toMatchObject({ retryAfter: 2 });
  expect(upstream.requests).toHaveLength(5);
});
