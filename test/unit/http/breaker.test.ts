import { type KeyApi, MarketgateError } from 'marketgate';
import { describe, expect, it } from 'vitest';
import { rejection } from '../../support/errors.js';
import { ACCOUNT, KeyApiService, settle } from '../../support/key-api-service.js';
import { json, page, type Reply, reset } from '../../support/service-in-memory.js';
import { VALIDATION } from '../../support/shop.js';
import { guess } from '../../support/wire.js';
import { serving } from '../clients/login-support.js';

// "It opens after five calls in a row without an answer, or at once by a 429 or a Retry-After, and each time only if
// account/details, asked then, fails or is refused too."

const SECOND = 1000;
const SILENT = new Promise<never>(() => {});
const busy = (seconds: number, status = 429): Reply =>
  page(status, { 'retry-after': `${seconds}` });

/** A shop whose service answers validation and account/details like this, if at all in another way than as documented. */
function shop(validation?: Reply, account?: Reply, options: object = {}) {
  const state = { validation, account };
  const service = new KeyApiService();
  service.override = ({ path, parameter }) => {
    if (path === ACCOUNT) return state.account;
    return parameter('purchase_code') === guess(999) ? undefined : state.validation;
  };
  const keyApi = service.client({ cache: false, ...options });
  let codes = 0;
  return {
    service,
    state,
    keyApi,
    /** How a lookup of another code fails. */
    fail: () => rejection(keyApi.validatePurchase(guess(codes++))),
    /** Whether a lookup of a code that the service always answers is answered. */
    isOpenFor: (lookup: KeyApi = keyApi) =>
      lookup.validatePurchase(guess(999)).then(
        () => false,
        () => true,
      ),
    asked: () => service.asked(VALIDATION),
    probes: () => service.asked(ACCOUNT),
  };
}

describe('five calls in a row without an answer', () => {
  it.each([
    ['503', page(503)],
    ['500', page(500)],
    ['a cut connection', reset()],
  ])('open the breaker where account/details fails too: %s', async (_how, reply) => {
    const { fail, isOpenFor, asked, probes } = shop(reply, reply);
    for (let n = 0; n < 4; n++) await fail();
    expect(await isOpenFor()).toBe(false);
    // That one was answered, so they are counted anew, and account/details is asked again.
    for (let n = 0; n < 5; n++) await fail();
    expect(asked()).toBe(10);
    const error = await fail();
    expect(error).toMatchObject({ code: 'service_unavailable', retryAfter: 2 });
    expect(error.cause).toMatchObject({ code: 'FAILING', isOutage: true });
    expect(await isOpenFor()).toBe(true);
    expect([asked(), probes()]).toEqual([10, 2]);
  });

  it.each([
    ['is answered', undefined],
    ['rejects the key', json({ status: 'error', msg: 'Invalid request' }, 401)],
    ['is answered with a page', page(200)],
  ])('leave it closed where account/details %s', async (_how, account) => {
    const { fail, isOpenFor } = shop(page(503), account);
    for (let n = 0; n < 12; n++) expect((await fail()).cause).toMatchObject({ isOutage: false });
    expect(await isOpenFor()).toBe(false);
  });

  it('are counted on where a visitor leaves in between: that is no answer', async () => {
    const { service, state, keyApi, fail, asked } = shop(page(503), page(503));
    for (let n = 0; n < 4; n++) await fail();
    state.validation = SILENT;
    const visitor = new AbortController();
    const leaving = rejection(keyApi.validatePurchase(guess(500), { signal: visitor.signal }));
    await settle();
    // As a guard ends the call of a visitor who has left.
    visitor.abort(new MarketgateError('service_unavailable', 'the visitor left'));
    await leaving;
    state.validation = page(503);
    await fail();
    const before = asked();
    await fail();
    expect(asked()).toBe(before);
    expect(service.asked(ACCOUNT)).toBe(1);
  });

  it('open it also where a client is asked by many at once: one probe serves all', async () => {
    const { service, keyApi, asked, probes, fail } = shop(page(503), page(503));
    service.hold();
    const crowd = Array.from({ length: 50 }, (_, n) =>
      rejection(keyApi.validatePurchase(guess(n))),
    );
    await settle();
    await service.release();
    for (const error of await Promise.all(crowd))
      expect(error.cause).toMatchObject({ isOutage: true });
    expect([asked(), probes()]).toEqual([50, 1]);
    await fail();
    expect(asked()).toBe(50);
  });

  it('that hang open it within the timeout of the last one', async () => {
    const { fail, asked } = shop(SILENT, SILENT, { timeout: 60 });
    for (let n = 0; n < 5; n++) expect((await fail()).cause).toMatchObject({ isOutage: true });
    await fail();
    expect(asked()).toBe(5);
  });
});

describe('a 429 or a Retry-After', () => {
  it.each<[string, Reply, Reply, number, boolean]>([
    ['says', busy(20), page(429), 20, false],
    ['of account/details says', busy(20), busy(7), 7, false],
    ['says, where account/details fails', busy(20), page(503), 20, false],
    ['of an outage says', busy(20, 503), page(503), 20, true],
    ['says nothing: two seconds', page(429), page(429), 2, false],
    ['says an hour: a minute', busy(3600), busy(3600), 60, false],
  ])(
    'opens the breaker at once, for as long as it %s',
    async (_how, reply, probe, seconds, isOutage) => {
      const { service, fail, isOpenFor, asked } = shop(reply, probe);
      expect((await fail()).cause).toMatchObject({ isOutage });
      const refused = await fail();
      expect(refused).toMatchObject({ code: 'service_unavailable', retryAfter: seconds });
      expect(refused.cause).toMatchObject({ isOutage });
      service.now += seconds * SECOND - 1;
      expect(await isOpenFor()).toBe(true);
      expect(asked()).toBe(1);
      service.now += 1;
      expect(await isOpenFor()).toBe(false);
    },
  );

  it.each([busy(3600), busy(3600, 503), page(429)])(
    'at one input stops nobody else, where account/details is answered',
    async (reply) => {
      const { fail, isOpenFor } = shop(reply);
      for (let n = 0; n < 8; n++) {
        expect((await fail()).cause).toMatchObject({ isOutage: false, health: 'up' });
        expect(await isOpenFor()).toBe(false);
      }
    },
  );

  it('is not repeated, and what it says is told', async () => {
    const { fail, asked } = shop(busy(600, 503), undefined, { retries: 2 });
    expect(await fail()).toMatchObject({ retryAfter: 600 });
    expect(asked()).toBe(1);
  });
});

describe('an open breaker', () => {
  const opened = async () => {
    const self = shop(page(503), page(503));
    for (let n = 0; n < 5; n++) await self.fail();
    self.service.now += 2 * SECOND;
    return self;
  };

  it('lets one call try after its time, and closes when that is answered', async () => {
    const { service, keyApi, isOpenFor, fail, asked } = await opened();
    service.hold();
    const trying = keyApi.validatePurchase(guess(999));
    await settle();
    expect(await fail()).toMatchObject({ retryAfter: 2 });
    expect(asked()).toBe(6);
    await service.release();
    await trying;
    expect(await isOpenFor()).toBe(false);
  });

  it('stays open when that call fails, also when its caller has left', async () => {
    const { service, keyApi, fail, asked } = await opened();
    expect((await fail()).cause).toMatchObject({ isOutage: true });
    await fail();
    expect(asked()).toBe(6);
    service.now += 2 * SECOND;
    service.hold();
    const leaving = new AbortController();
    const left = keyApi.validatePurchase(guess(999), { signal: leaving.signal });
    await settle();
    leaving.abort(new Error('left'));
    await expect(left).rejects.toThrow('left');
    expect((await fail()).message).toContain('not sent');
    expect(asked()).toBe(7);
    service.now += 2 * SECOND;
    await service.release();
    expect(await keyApi.validatePurchase(guess(999))).toBeTruthy();
  });

  it('closes when account/details is answered again, whatever the input of that call does', async () => {
    const { service, state, fail, isOpenFor } = await opened();
    service.now += 5 * SECOND;
    state.account = undefined;
    expect((await fail()).cause).toMatchObject({ isOutage: false });
    expect(await isOpenFor()).toBe(false);
  });

  it('is not closed by an answer to a call that was sent before it opened', async () => {
    const { service, keyApi, fail } = shop(busy(20), busy(20));
    service.hold();
    const early = keyApi.validatePurchase(guess(999));
    await settle();
    const refused = fail();
    await settle();
    await service.release(1);
    await service.release(2);
    await refused;
    await service.release();
    expect(await early).toBeTruthy();
    expect((await fail()).message).toContain('not sent');
  });
});

it('account/details is asked once for all, and its answer remembered for five seconds', async () => {
  const { service, fail, probes } = shop(page(503));
  for (let n = 0; n < 3; n++) await fail();
  service.now += 5 * SECOND - 1;
  await fail();
  expect(probes()).toBe(1);
  service.now += 1;
  await fail();
  expect(probes()).toBe(2);
});

it('that account/details failed is forgotten once the service has answered a call', async () => {
  const { state, fail, isOpenFor } = shop(page(503), page(503));
  expect((await fail()).cause).toMatchObject({ isOutage: true });
  state.account = undefined;
  expect(await isOpenFor()).toBe(false);
  for (let n = 0; n < 7; n++) expect((await fail()).cause).toMatchObject({ isOutage: false });
  expect(await isOpenFor()).toBe(false);
});

it('getAccount is account/details itself: when it fails, nothing more is asked', async () => {
  const { keyApi, fail, probes } = shop(page(503), page(503));
  expect((await rejection(keyApi.getAccount())).cause).toMatchObject({ isOutage: true });
  await fail();
  expect(probes()).toBe(1);
});

it('the login API has a breaker of its own, and asks get_user_info without a token', async () => {
  for (const [probe, isOpen] of [
    [page(500), true],
    [json({ error: true, message: 'invalid access_token' }), false],
    [{ ...page(401), bytes: Buffer.alloc(0) }, false],
  ] as const) {
    const { loginApi, service } = serving(({ path }) =>
      path === '/api/authorize' ? page(500) : probe,
    );
    for (let n = 0; n < 6; n++) await rejection(loginApi.exchange(`auth-key-${n}`));
    expect(service.count('/api/authorize')).toBe(isOpen ? 5 : 6);
    const asked = service.requests.find(({ path }) => path === '/api/get_user_info');
    expect([asked?.method, asked?.query.size]).toEqual(['GET', 0]);
  }
});

it.each([
  ['answers 500', page(500), 1],
  ['answers 503', page(503), 3],
  ['cuts the connection', reset(), 3],
  ['answers 429', page(429), 1],
])(
  'a call is repeated where that is safe, and an exchange never: the service %s',
  async (_how, reply, times) => {
    const { fail, asked } = shop(reply, undefined, { retries: 2 });
    await fail();
    expect(asked()).toBe(times);
    const { loginApi, service } = serving(
      ({ path }) => (path === '/api/authorize' ? reply : json({ ok: true })),
      { retries: 2 },
    );
    await rejection(loginApi.exchange('auth-key'));
    expect(service.count('/api/authorize')).toBe(1);
  },
);
