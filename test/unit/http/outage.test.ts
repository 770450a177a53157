import {
  isMarketgateError,
  KeyApi,
  type KeyApiOptions,
  LoginApi,
  MarketgateError,
} from 'marketgate';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { isOutage } from '../../../src/http/http-client.js';
import { ACCOUNT, ITEMS, VALIDATION } from '../../support/key-api-service.js';
import type { ServiceRequest } from '../../support/service-in-memory.js';
import { KEY } from '../../support/wire.js';
import { type Behaviour, SimulatedService } from './simulation/simulated-service.js';
import { SimulatedTime } from './simulation/simulated-time.js';

const FINE: Behaviour = { answer: 'positive', after: 20 };
const FAILED: Behaviour = { answer: '500', after: 20 };
const CUT: Behaviour = { answer: 'reset', after: 5 };
const SILENT: Behaviour = { answer: 'hang', after: 0 };
const BUSY: Behaviour = { answer: '429', after: 20 };
const PAGE: Behaviour = { answer: 'page', after: 20 };

let time: SimulatedTime;
beforeEach(() => {
  time = SimulatedTime.begin();
});
afterEach(() => time.end());

/** A shop of a service that behaves by the request. */
function keyApiOn(
  behave: (request: ServiceRequest) => Behaviour,
  options: Partial<KeyApiOptions> = {},
) {
  const service = new SimulatedService(time.now, (_n, request) => behave(request));
  const baseUrl = 'https://simulated.test';
  const common = { apiKey: KEY, cache: false, clock: time.now, dispatcher: service } as const;
  return { service, keyApi: new KeyApi({ baseUrl, ...common, ...options }) };
}

function loginApiOn(behave: (request: ServiceRequest) => Behaviour) {
  const service = new SimulatedService(time.now, (_n, request) => behave(request));
  const app = { authUrl: 'https://simulated.test', appId: 'app', appSecret: 'secret-of-the-app' };
  return { service, loginApi: new LoginApi({ ...app, clock: time.now, dispatcher: service }) };
}

/** How a call ends, and after how long. */
async function ending(call: Promise<unknown>) {
  const begun = time.now();
  const end = call.then(
    (value) => ({ value, took: time.now() - begun }),
    (error: unknown) => ({ error, took: time.now() - begun }),
  );
  return time.until(end) as Promise<{ value?: unknown; error?: MarketgateError; took: number }>;
}

const BAD_CODE = 'the-code-that-fails';
const isBad = (request: ServiceRequest) => request.parameter('purchase_code') === BAD_CODE;

describe('a visitor whose code makes the service fail', () => {
  it.each([
    ['answers 500', FAILED],
    ['cuts the connection', CUT],
    ['never answers', SILENT],
  ])('twice a second closes the shop for nobody else: one that %s', async (_name, bad) => {
    const { service, keyApi } = keyApiOn((request) => (isBad(request) ? bad : FINE));
    const customers: Promise<{ value?: unknown; took: number }>[] = [];
    for (let tick = 0; tick < 600; tick++) {
      keyApi.validatePurchase(BAD_CODE).catch(() => {});
      await time.pass(500);
      if (tick % 10 === 0) {
        const begun = time.now();
        const call = keyApi.validatePurchase(`customer-${tick}`);
        customers.push(call.then((value) => ({ value, took: time.now() - begun })));
      }
    }
    await time.pass(1000);
    for (const { value, took } of await Promise.all(customers)) {
      expect(value).not.toBeNull();
      expect(took).toBe(20);
    }
    expect(customers).toHaveLength(60);
    // One every five seconds, for 300 of them.
    expect(service.count(ACCOUNT)).toBeLessThanOrEqual(61);
  });

  it('and hangs with each of 200 requests at a time makes no outage', async () => {
    const { keyApi } = keyApiOn((request) => (isBad(request) ? SILENT : FINE));
    const calls = Array.from({ length: 200 }, () => ending(keyApi.validatePurchase(BAD_CODE)));
    const [first] = await Promise.all(calls);
    expect(first?.took).toBe(10_000);
    expect(await time.until(isOutage(first?.error))).toBe(false);
    expect((await ending(keyApi.validatePurchase('customer'))).value).toBeTruthy();
  });

  it('closes it also not when it is the first to come after an outage', async () => {
    let isDown = true;
    const { keyApi } = keyApiOn((request) => (isDown || isBad(request) ? FAILED : FINE));
    for (let n = 0; n < 5; n++) await ending(keyApi.validatePurchase(BAD_CODE));
    expect((await ending(keyApi.validatePurchase('customer'))).error?.retryAfter).toBe(2);
    isDown = false;
    await time.pass(5000);
    await ending(keyApi.validatePurchase(BAD_CODE));
    expect((await ending(keyApi.validatePurchase('customer'))).value).toBeTruthy();
  });
});

it.each([
  ['fails', FAILED, 2],
  ['cuts every connection', CUT, 2],
  ['never answers', SILENT, 5],
])(
  'while the service %s, calls fail at once, with the seconds until the next try',
  async (_name, dead, calls) => {
    const { service, keyApi } = keyApiOn(() => dead);
    for (let n = 0; n < calls; n++) await ending(keyApi.validatePurchase(`customer-${n}`));
    // A call that has timed out does not wait for the probe, which has three seconds.
    if (dead === SILENT) await time.pass(3000);
    const asked = service.count();
    const { error, took } = await ending(keyApi.validatePurchase('the-next-one'));
    expect(error).toMatchObject({ code: 'service_unavailable', retryAfter: expect.any(Number) });
    expect(took).toBe(0);
    expect(service.count()).toBe(asked);
  },
);

it('a list that hangs alone costs five callers the timeout, and closes nothing else', async () => {
  const { keyApi } = keyApiOn(({ path }) => (path === ITEMS ? SILENT : FINE), { timeout: 1000 });
  for (let n = 0; n < 5; n++) expect((await ending(keyApi.listItems())).took).toBe(1000);
  const { error, took } = await ending(keyApi.listItems());
  expect(error).toMatchObject({ code: 'service_unavailable', retryAfter: 2 });
  expect(took).toBe(0);
  expect(await time.until(isOutage(error))).toBe(false);
  expect((await ending(keyApi.validatePurchase('customer'))).value).toBeTruthy();
  expect((await ending(keyApi.getAccount())).value).toBeTruthy();
});

describe('an outage', () => {
  // What the code is answered with, and what account/details is.
  it.each<[string, Behaviour, Behaviour, boolean]>([
    ['both fail', FAILED, FAILED, true],
    ['both are cut', CUT, CUT, true],
    ['both are silent', SILENT, SILENT, true],
    ['the code fails, and account/details is silent', FAILED, SILENT, true],
    ['the code fails', FAILED, FINE, false],
    ['the code is cut', CUT, FINE, false],
    ['the code is silent', SILENT, FINE, false],
    ['the code fails, and account/details gives a page', FAILED, PAGE, false],
    ['the code fails, and account/details is a 429', FAILED, BUSY, false],
    [
      'the code fails, and account/details refuses the key',
      FAILED,
      { answer: 'negative', after: 1 },
      false,
    ],
    ['the code gets a 429', BUSY, FAILED, false],
    ['the code gets a page', PAGE, FAILED, false],
  ])('where %s', async (_name, code, account, expected) => {
    const { keyApi } = keyApiOn(({ path }) => (path === VALIDATION ? code : account));
    const { error } = await ending(keyApi.validatePurchase('some-code'));
    expect(isMarketgateError(error)).toBe(true);
    const { value, took } = await ending(isOutage(error));
    expect(value).toBe(expected);
    expect(took).toBeLessThanOrEqual(3000);
  });

  it('is asked about once for all, and again after five seconds', async () => {
    const { service, keyApi } = keyApiOn(({ path }) => (path === VALIDATION ? FAILED : SILENT), {
      retries: 0,
    });
    const errors = await Promise.all(
      Array.from({ length: 4 }, (_, n) => ending(keyApi.validatePurchase(`code-${n}`))),
    );
    const all = (): Promise<boolean[]> =>
      time.until(Promise.all(errors.map(({ error }) => isOutage(error))));
    expect(await all()).toEqual([true, true, true, true]);
    await all();
    expect(service.count(ACCOUNT)).toBe(1);
    await time.pass(2000);
    await all();
    expect(service.count(ACCOUNT)).toBe(2);
  });

  it('is also why an open breaker refuses a call, and a closed gate is none', async () => {
    let behaviour = FAILED;
    const { keyApi } = keyApiOn(() => behaviour);
    for (let n = 0; n < 3; n++) await ending(keyApi.validatePurchase('some-code'));
    const refused = await ending(keyApi.validatePurchase('some-code'));
    expect(refused.took).toBe(0);
    expect(await time.until(isOutage(refused.error))).toBe(true);

    behaviour = BUSY;
    await time.pass(40_000);
    await ending(keyApi.validatePurchase('some-code'));
    const paused = await ending(keyApi.validatePurchase('some-code'));
    expect(paused.error?.message).toContain('asked to be left alone');
    expect(await time.until(isOutage(paused.error))).toBe(false);
  });

  it('is no other error: of an app, of a caller who left, of a client that was closed', async () => {
    const { keyApi } = keyApiOn(() => FAILED);
    await keyApi.close();
    const signal = AbortSignal.abort(new MarketgateError('service_unavailable', 'left'));
    const calls = [() => keyApi.validatePurchase('code'), () => keyApi.getAccount({ signal })];
    for (const call of calls) expect(await isOutage((await ending(call())).error)).toBe(false);
    for (const error of [new MarketgateError('service_unavailable', 'x'), undefined, 'x']) {
      expect(await isOutage(error)).toBe(false);
    }
  });
});

describe('logging in', () => {
  const isMadeUp = (request: ServiceRequest) => request.parameter('auth_key') === 'made-up';

  it.each([
    ['answers 500', FAILED],
    ['never answers', SILENT],
  ])('is closed by no auth_key: one that %s', async (_name, bad) => {
    // The login page is a page.
    const { loginApi } = loginApiOn((request) => (isMadeUp(request) ? bad : FINE));
    for (let n = 0; n < 20; n++) {
      loginApi.exchange('made-up').catch(() => {});
      await time.pass(500);
    }
    await time.pass(20_000);
    for (let n = 0; n < 20; n++) {
      loginApi.exchange('made-up').catch(() => {});
      expect((await ending(loginApi.exchange('auth-key'))).value).toBeTruthy();
    }
  });

  it('fails at once while the login page fails too', async () => {
    const { service, loginApi } = loginApiOn(() => FAILED);
    for (let n = 0; n < 5; n++) await ending(loginApi.exchange(`auth-key-${n}`));
    const { error } = await ending(loginApi.exchange('auth-key'));
    expect(error).toMatchObject({ code: 'service_unavailable', retryAfter: 2 });
    expect(service.count('/api/authorize')).toBe(5);
    expect(service.requests.at(-1)).toMatchObject({ method: 'GET', path: '/api/oauth' });
    expect([...(service.requests.at(-1)?.query ?? [])]).toEqual([['app_id', 'app']]);
  });
});
