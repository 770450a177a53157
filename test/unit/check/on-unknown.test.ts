import { checkPurchase, type KeyApi, requirePurchase } from 'marketgate';
import { describe, expect, it } from 'vitest';
import { fakeResponse } from '../../support/fake-response.js';
import { ACCOUNT, KeyApiService } from '../../support/key-api-service.js';
import { json, page, type Reply, reset } from '../../support/service-in-memory.js';
import { VALIDATION } from '../../support/shop.js';
import { guess, refusal } from '../../support/wire.js';

/** What becomes of a visitor with a made-up code at a guard that lets visitors in during an outage. */
function visit(keyApi: KeyApi, code: string, options: object = {}): Promise<unknown> {
  const guard = requirePurchase(keyApi, { onUnknown: 'allow', ...options });
  const req = { headers: { 'x-purchase-code': code }, ip: '203.0.113.9' };
  return new Promise((resolve) => guard(req as never, fakeResponse(), resolve));
}

/** A service that answers like this about codes, and as ever about the account. */
function serviceThat(reply: () => Reply): KeyApi {
  const service = new KeyApiService();
  service.override = ({ path }) => (path === VALIDATION ? reply() : undefined);
  return service.client();
}

describe("onUnknown: 'allow'", () => {
  it.each<[string, () => Reply, string]>([
    ['refuses in other words', () => json(refusal('Geçersiz kod')), 'service_refused'],
    ['answers 400 in another shape', () => json({ error: 'x' }, 400), 'unexpected_response'],
    ['answers with a page of HTTP 200', () => page(200), 'unexpected_response'],
    ['answers with a page of HTTP 403', () => page(403), 'unexpected_response'],
    ['answers 500 for that code alone', () => page(500), 'service_unavailable'],
    ['hangs up at that code alone', () => reset(), 'service_unavailable'],
    ['limits requests', () => page(429), 'service_unavailable'],
  ])('lets no made-up code in where the service %s', async (_what, reply, code) => {
    const keyApi = serviceThat(reply);
    const errors = [];
    for (let n = 0; n < 12; n++) errors.push(await visit(keyApi, guess(n)));
    expect(errors[0]).toMatchObject({ code });
    expect(errors).not.toContain(undefined);
  });

  it('lets no made-up code in where the service limits all requests, for however long', async () => {
    const service = new KeyApiService();
    service.override = () => page(429, { 'retry-after': '0' });
    const error = await visit(service.client(), guess(1));
    expect(error).toMatchObject({ code: 'service_unavailable', retryAfter: 1 });
  });

  it.each<[string, () => Reply]>([
    ['answers 5xx', () => page(503)],
    ['cannot be reached', () => reset()],
  ])('lets a well-formed code in where the service %s to everything', async (_what, reply) => {
    const service = new KeyApiService();
    service.override = reply;
    const keyApi = service.client();
    expect(await visit(keyApi, guess(1))).toBeUndefined();
    expect(await visit(keyApi, 'no code')).toMatchObject({ code: 'purchase_code_invalid' });
  });

  it.each<[string, object]>([
    ['code', { code: () => Promise.reject(new Error('mine')) }],
    ['item', { item: () => Promise.reject(new Error('mine')) }],
    ['fresh', { fresh: () => Promise.reject(new Error('mine')) }],
    [
      'keyGenerator',
      {
        guessLimit: {
          keyGenerator: () => {
            throw new Error('mine');
          },
        },
      },
    ],
  ])('passes an error of the app in "%s" to next', async (_name, options) => {
    const service = new KeyApiService({ says: 'outage' });
    expect(await visit(service.client(), guess(1), options)).toEqual(new Error('mine'));
  });
});

it('a failed attempt is an answer about the code that is neither yes nor no, not an outage', async () => {
  const limit = { guessLimit: { limit: 1 }, client: 'anna' };
  const second = async (keyApi: KeyApi) => {
    await checkPurchase(keyApi, guess(1), limit);
    await new Promise(setImmediate);
    const decision = await checkPurchase(keyApi, guess(2), limit);
    return decision.verdict === 'unknown' && decision.error.code;
  };
  expect(await second(serviceThat(() => json(refusal('Geçersiz kod'))))).toBe('too_many_attempts');
  expect(await second(serviceThat(() => page(500)))).toBe('too_many_attempts');
  expect(await second(new KeyApiService({ says: 'outage' }).client())).toBe('service_unavailable');
  expect(await second(serviceThat(() => page(429)))).toBe('service_unavailable');
});

it.each<[string, () => Reply, string]>([
  ['a page of HTTP 200', () => page(200), 'unexpected_response'],
  ['a page of HTTP 403', () => page(403), 'unexpected_response'],
  ['other words', () => json(refusal('Closed for maintenance')), 'service_refused'],
])(
  'where the service answers everything with %s, nothing is a failed attempt',
  async (_what, reply, code) => {
    const service = new KeyApiService({ override: reply });
    const [keyApi, limit] = [service.client(), { guessLimit: { limit: 1 }, client: 'anna' }];
    for (let n = 0; n < 3; n++) {
      expect(await checkPurchase(keyApi, guess(n), limit)).toMatchObject({ error: { code } });
      await new Promise(setImmediate);
    }
    // The account is asked for only every few seconds.
    expect(service.asked(ACCOUNT)).toBe(1);
    service.override = ({ path }) => (path === VALIDATION ? reply() : undefined);
    service.now += 5000;
    await checkPurchase(keyApi, guess(4), limit);
    await new Promise(setImmediate);
    const last = await checkPurchase(keyApi, guess(5), limit);
    expect(last).toMatchObject({ error: { code: 'too_many_attempts' } });
  },
);
