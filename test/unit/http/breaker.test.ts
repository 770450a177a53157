import { KeyApi, LoginApi } from 'marketgate';
import { describe, expect, it, onTestFinished } from 'vitest';
import { rejection } from '../../support/errors.js';
import { json, page, startUpstream } from '../../support/upstream.js';
import { account, KEY, purchase, success } from '../../support/wire.js';

async function open(options: object = {}) {
  const self = { down: true, now: 1_000_000, hangs: false };
  const upstream = await startUpstream((request, res) => {
    if (self.hangs) return;
    if (self.down) return page(res, 500);
    json(res, success({ data: request.method === 'GET' ? account : { purchase } }));
  });
  const keyApi = new KeyApi({
    baseUrl: upstream.url,
    apiKey: KEY,
    retries: 0,
    clock: () => self.now,
    ...options,
  });
  onTestFinished(() => keyApi.close());
  const ask = (n: number) => rejection(keyApi.validatePurchase(`some-code-${n}`));
  return { self, upstream, keyApi, ask };
}

describe('a service that keeps failing', () => {
  it('is left alone after five calls, and everyone else is answered at once', async () => {
    const { upstream, ask } = await open();
    for (let i = 0; i < 5; i++) expect((await ask(i)).retryAfter).toBeUndefined();
    for (let i = 5; i < 50; i++) {
      expect(await ask(i)).toMatchObject({ code: 'service_unavailable', retryAfter: 2 });
    }
    expect(upstream.requests).toHaveLength(5);
  });

  it('costs nobody the timeout once that is known', async () => {
    const { self, upstream, ask } = await open({ timeout: 30 });
    self.hangs = true;
    await Promise.all([0, 1, 2, 3, 4].map(ask));
    await Promise.all(Array.from({ length: 200 }, (_, i) => ask(i + 5)));
    // Fewer on a machine so busy that a connection takes longer than that.
    expect(upstream.requests.length).toBeLessThanOrEqual(5);
  });

  it('is tried by one call when the rest is over; the others are refused meanwhile', async () => {
    const { self, upstream, ask } = await open();
    for (let i = 0; i < 5; i++) await ask(i);
    self.now += 2000;
    await Promise.all([ask(10), ask(11), ask(12)]);
    expect(upstream.requests).toHaveLength(6);
  });

  it('rests for longer each time, up to half a minute', async () => {
    const { self, ask } = await open();
    for (let i = 0; i < 5; i++) await ask(i);
    const rests: unknown[] = [];
    for (let i = 0; i < 6; i++) {
      const { retryAfter = 0 } = await ask(100 + i);
      rests.push(retryAfter);
      self.now += retryAfter * 1000;
      await ask(200 + i);
    }
    expect(rests).toEqual([2, 4, 8, 16, 30, 30]);
  });

  it('is back with the first call that is answered', async () => {
    const { self, keyApi, ask } = await open();
    for (let i = 0; i < 5; i++) await ask(i);
    self.down = false;
    self.now += 2000;
    expect(await keyApi.validatePurchase('a-good-code')).toEqual(purchase);
    expect(await keyApi.validatePurchase('another-code')).toEqual(purchase);
  });

  it('is tried once, without retries, when the rest is over', async () => {
    const { self, upstream, ask } = await open({ retries: 2 });
    for (let i = 0; i < 5; i++) await ask(i);
    expect(upstream.requests).toHaveLength(15);
    self.now += 2000;
    await ask(9);
    expect(upstream.requests).toHaveLength(16);
  });

  it('did get three requests from each of many at once: their retries went on when it was known', async () => {
    const { upstream, ask } = await open({ retries: 2 });
    const errors = await Promise.all(Array.from({ length: 100 }, (_, i) => ask(i)));
    expect(new Set(errors.map(({ code }) => code))).toEqual(new Set(['service_unavailable']));
    expect(upstream.requests.length).toBeLessThanOrEqual(115);
  });

  it('whose tester leaves is tried by the next', async () => {
    const { self, upstream, keyApi, ask } = await open({ timeout: 100 });
    for (let i = 0; i < 5; i++) await ask(i);
    self.now += 2000;
    self.hangs = true;
    const leaving = new AbortController();
    const left = keyApi.validatePurchase('x-code-123', { signal: leaving.signal, fresh: true });
    leaving.abort();
    await expect(left).rejects.toThrow(/abort/i);
    expect(upstream.requests.length).toBeLessThanOrEqual(6);
  });

  it('a clock that is set back does not keep it shut', async () => {
    const { self, keyApi, ask } = await open();
    for (let i = 0; i < 5; i++) await ask(i);
    self.down = false;
    self.now -= 3_600_000;
    expect(await keyApi.validatePurchase('a-good-code')).toEqual(purchase);
  });
});

describe('what is no failing service', () => {
  it('answers between failures keep it open', async () => {
    const { self, upstream, keyApi, ask } = await open();
    for (let i = 0; i < 12; i++) {
      self.down = i % 4 !== 3;
      if (self.down) await ask(i);
      else await keyApi.validatePurchase(`good-code-${i}`);
    }
    expect(upstream.requests).toHaveLength(12);
  });

  it('pages and refusals are answers: they come at once, and say what is wrong', async () => {
    const upstream = await startUpstream((_request, res) => page(res, 404));
    const keyApi = new KeyApi({ baseUrl: upstream.url, apiKey: KEY });
    onTestFinished(() => keyApi.close());
    for (let i = 0; i < 20; i++) {
      expect((await rejection(keyApi.getAccount())).code).toBe('unexpected_response');
    }
    expect(upstream.requests).toHaveLength(20);
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
});
