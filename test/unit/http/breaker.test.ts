import { MarketgateError } from 'marketgate';
import { describe, expect, it, vi } from 'vitest';
import { rejection } from '../../support/errors.js';
import { ACCOUNT, KeyApiService, settle } from '../../support/key-api-service.js';
import { json, page, type Reply, reset } from '../../support/service-in-memory.js';
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
  const good = (signal?: AbortSignal) => keyApi.validatePurchase(guess(999), { signal });
  return {
    service,
    state,
    keyApi,
    /** A lookup of a code that the service always answers. */
    good,
    /** How a lookup of another code fails. */
    fail: (signal?: AbortSignal) => rejection(keyApi.validatePurchase(guess(codes++), { signal })),
    isOpen: () =>
      good().then(
        () => false,
        () => true,
      ),
    asked: () => service.asked(),
    probes: () => service.asked(ACCOUNT),
  };
}

describe('five calls in a row without an answer', () => {
  it.each([
    ['500', page(500)],
    ['a cut connection', reset()],
  ])('open the breaker where account/details fails too: %s', async (_how, reply) => {
    const { state, good, fail, isOpen, asked, probes } = shop(reply, reply);
    for (let n = 0; n < 4; n++) await fail();
    // This one is answered, so they are counted anew, and account/details is asked again.
    await good();
    for (let n = 0; n < 4; n++) await fail();
    // A visitor who leaves is no answer. A guard ends the call like this.
    state.validation = SILENT;
    const visitor = new AbortController();
    const leaving = fail(visitor.signal);
    await settle();
    visitor.abort(new MarketgateError('service_unavailable', 'the visitor left'));
    await leaving;
    state.validation = reply;
    await fail();
    expect(asked()).toBe(11);
    const error = await fail();
    expect(error).toMatchObject({ code: 'service_unavailable', retryAfter: 2 });
    expect(error.cause).toMatchObject({ code: 'FAILING', isOutage: true });
    expect(await isOpen()).toBe(true);
    expect([asked(), probes()]).toEqual([11, 2]);
  });

  it.each([
    ['is answered', undefined],
    ['rejects the key', json({ status: 'error', msg: 'Invalid request' }, 401)],
    ['is answered with a page', page(200)],
  ])('leave it closed where account/details %s', async (_how, account) => {
    const { fail, isOpen } = shop(page(503), account);
    for (let n = 0; n < 12; n++) expect((await fail()).cause).toMatchObject({ isOutage: false });
    expect(await isOpen()).toBe(false);
  });

  it('open it also where they are made at once: one probe serves all', async () => {
    const { service, fail, asked, probes } = shop(page(503), page(503));
    service.hold();
    const crowd = Array.from({ length: 50 }, () => fail());
    await settle();
    await service.release();
    for (const { cause } of await Promise.all(crowd))
      expect(cause).toMatchObject({ isOutage: true });
    await fail();
    expect([asked(), probes()]).toEqual([50, 1]);
  });

  it('open it within the timeout of the last one where they hang', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const { fail, asked } = shop(SILENT, SILENT);
    for (let n = 0; n < 6; n++) {
      const call = fail();
      await vi.advanceTimersByTimeAsync(10_000);
      const end = await Promise.race([call, settle()]);
      expect(end).toMatchObject({ cause: { isOutage: true } });
    }
    expect(asked()).toBe(5);
  });
});

describe('a 429 or a Retry-After', () => {
  it.each<[string, Reply, Reply, number, boolean]>([
    ['says', busy(20), page(503), 20, false],
    ['of account/details says', busy(20), busy(7), 7, false],
    ['of an outage says', busy(20, 503), page(503), 20, true],
    ['says with a 503, where account/details is refused', busy(20, 503), page(429), 20, false],
    ['says nothing: two seconds', page(429), page(429), 2, false],
    ['says an hour: a minute', busy(3600), busy(3600), 60, false],
  ])(
    'opens the breaker at once, for as long as it %s',
    async (_how, reply, probe, seconds, isOutage) => {
      const { service, fail, isOpen, asked } = shop(reply, probe);
      expect((await fail()).cause).toMatchObject({ isOutage });
      const refused = await fail();
      expect(refused).toMatchObject({ code: 'service_unavailable', retryAfter: seconds });
      expect(refused.cause).toMatchObject({ isOutage });
      service.now += seconds * SECOND - 1;
      expect(await isOpen()).toBe(true);
      expect(asked()).toBe(1);
      service.now += 1;
      expect(await isOpen()).toBe(false);
    },
  );

  it('that is over leaves nobody out, where the call that tries fails by itself', async () => {
    const { service, state, fail, isOpen } = shop(busy(60), busy(60));
    await fail();
    service.now += 60 * SECOND;
    // One code that the service cannot handle, as the account shows.
    Object.assign(state, { validation: page(500), account: undefined });
    await fail();
    expect(await isOpen()).toBe(false);
  });

  it.each([busy(3600), busy(3600, 503)])(
    'at one input stops nobody else, where account/details is answered',
    async (reply) => {
      const { fail, isOpen } = shop(reply);
      for (let n = 0; n < 8; n++) {
        expect((await fail()).cause).toMatchObject({ isOutage: false, health: 'up' });
        expect(await isOpen()).toBe(false);
      }
    },
  );
});

describe('an open breaker', () => {
  it('lets one call try after its time, and closes only when that is answered', async () => {
    const { service, good, fail, isOpen, asked } = shop(page(503), page(503));
    for (let n = 0; n < 5; n++) await fail();
    service.now += 2 * SECOND;
    // This one tries, and fails.
    expect((await fail()).cause).toMatchObject({ isOutage: true });
    await fail();
    expect(asked()).toBe(6);
    service.now += 2 * SECOND;
    service.hold();
    const leaving = new AbortController();
    const left = good(leaving.signal);
    await settle();
    leaving.abort(new Error('left'));
    await expect(left).rejects.toThrow('left');
    expect(await fail()).toMatchObject({ retryAfter: 2 });
    expect(asked()).toBe(7);
    service.now += 2 * SECOND;
    await service.release();
    await good();
    expect(await isOpen()).toBe(false);
  });

  it('closes when account/details is answered again, whatever the input of that call does', async () => {
    const { service, state, fail, isOpen } = shop(page(503), page(503));
    for (let n = 0; n < 5; n++) await fail();
    service.now += 7 * SECOND;
    state.account = undefined;
    expect((await fail()).cause).toMatchObject({ isOutage: false });
    expect(await isOpen()).toBe(false);
  });

  it('is not closed by an answer to a call that was sent before it opened', async () => {
    const { service, good, fail, isOpen, asked } = shop(busy(20), busy(20));
    service.hold();
    const early = good();
    await settle();
    const refused = fail();
    await settle();
    // The refusal, and then that of account/details.
    await service.release(1);
    await service.release(2);
    await refused;
    await service.release();
    expect(await early).toBeTruthy();
    expect(await isOpen()).toBe(true);
    expect(asked()).toBe(2);
  });
});

describe('account/details', () => {
  it('is asked once for all, and its answer remembered for five seconds', async () => {
    const { service, fail, probes } = shop(page(503));
    for (let n = 0; n < 3; n++) await fail();
    service.now += 5 * SECOND - 1;
    await fail();
    expect(probes()).toBe(1);
    service.now += 1;
    await fail();
    expect(probes()).toBe(2);
  });

  it('is asked again after a failure, once the service has answered a call', async () => {
    const { state, good, fail } = shop(page(503), page(503));
    expect((await fail()).cause).toMatchObject({ isOutage: true });
    state.account = undefined;
    await good();
    expect((await fail()).cause).toMatchObject({ isOutage: false });
  });
});

it.each([
  ['fails', page(500), true],
  ['refuses in JSON', json({ error: true, message: 'invalid access_token' }), false],
  ['refuses without a body', { ...page(401), bytes: Buffer.alloc(0) }, false],
])(
  'the login API has a breaker of its own, and asks get_user_info without a token: that %s',
  async (_how, probe, isOpen) => {
    const { loginApi, service } = serving(({ path }) =>
      path === '/api/authorize' ? page(500) : probe,
    );
    for (let n = 0; n < 6; n++) await rejection(loginApi.exchange(`auth-key-${n}`));
    expect(service.count('/api/authorize')).toBe(isOpen ? 5 : 6);
    const asked = service.requests.find(({ path }) => path === '/api/get_user_info');
    expect([asked?.method, asked?.query.size]).toEqual(['GET', 0]);
  },
);

it.each([
  ['answers 500', page(500), 1],
  ['answers 502', page(502), 3],
  ['answers 503', page(503), 3],
  ['answers 504', page(504), 3],
  ['answers 503 with a Retry-After', busy(600, 503), 1],
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
