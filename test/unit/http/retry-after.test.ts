import { KeyApi } from 'marketgate';
import { describe, expect, it } from 'vitest';
import { parseRetryAfter } from '../../../src/http/retry-after.js';
import { rejection } from '../../support/errors.js';
import { json, page, ServiceInMemory, type WireAnswer } from '../../support/service-in-memory.js';
import { account, CODE, KEY, success } from '../../support/wire.js';

const NOW = Date.parse('2026-01-01T00:00:00Z');

describe('Retry-After', () => {
  it.each([
    ['120', 120],
    ['0', 0],
    [' 7 ', 7],
    ['Thu, 01 Jan 2026 00:01:30 GMT', 90],
    ['Thursday, 01-Jan-26 00:00:10 GMT', 10],
    ['Thu, 01 Jan 2026 00:00:00 GMT', 0],
    ['Wed, 31 Dec 2025 23:00:00 GMT', 0],
  ])('reads %j as %d seconds', (header, seconds) => {
    expect(parseRetryAfter(header, NOW)).toBe(seconds);
  });

  it.each([
    undefined,
    '',
    ' ',
    '-5',
    '1.5',
    'soon',
    '99999999999999999999',
    'Thu, 99 Jan',
    '2026-01-01',
  ])('takes %j for none', (header) => {
    expect(parseRetryAfter(header, NOW)).toBeUndefined();
  });
});

describe('a service that asks to be left alone', () => {
  /** A client whose first answer is this one, and a clock that the test moves. */
  function open(first: WireAnswer) {
    const self = { now: NOW };
    const service = new ServiceInMemory((_request, n) =>
      n === 0 ? first : json(success({ data: account })),
    );
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
    ['429 without the header', 429, {}, 5],
    ['429 with years', 429, { 'retry-after': '999999999' }, 3600],
  ])(
    'by %s gets no request meanwhile, not even a retry',
    async (_name, status, headers, seconds) => {
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
    },
  );

  it.each([500, 503])('not by HTTP %d without the header: that is retried', async (status) => {
    const { keyApi } = open(page(status));
    expect((await keyApi.getAccount()).username).toBe('adanorth');
  });

  // What has passed since is unknown, so the service is asked; it can ask to be left alone again.
  it.each([
    ['half an hour', 1_800_000],
    ['a year', 365 * 24 * 3_600_000],
  ])('is left alone no longer when the clock was set back by %s', async (_name, step) => {
    const { self, keyApi } = open(page(429, { 'retry-after': '60' }));
    await rejection(keyApi.getAccount());
    self.now += 61_000 - step;
    expect((await keyApi.getAccount()).username).toBe('adanorth');
  });

  it('is left alone when the clock was corrected by less than a second', async () => {
    const { self, service, keyApi } = open(page(429, { 'retry-after': '60' }));
    await rejection(keyApi.getAccount());
    self.now -= 500;
    await rejection(keyApi.getAccount());
    expect(service.requests).toHaveLength(1);
  });
});
