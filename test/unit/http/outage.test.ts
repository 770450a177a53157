import { isMarketgateError, KeyApi, LoginApi, type MarketgateError } from 'marketgate';
import { describe, expect, it } from 'vitest';
import { ACCOUNT, VALIDATION } from '../../support/key-api-service.js';
import type { ServiceRequest } from '../../support/service-in-memory.js';
import { KEY } from '../../support/wire.js';
import { type Behaviour, SimulatedService } from './simulation/simulated-service.js';
import { SimulatedTime } from './simulation/simulated-time.js';

const FINE: Behaviour = { answer: 'positive', after: 20 };
const FAILED: Behaviour = { answer: '500', after: 20 };
const DOWN: Behaviour = { answer: '503', after: 20 };
const CUT: Behaviour = { answer: 'reset', after: 5 };
const SILENT: Behaviour = { answer: 'hang', after: 0 };
const BUSY: Behaviour = { answer: '429', after: 20 };
const PAGE: Behaviour = { answer: 'page', after: 20 };
const REFUSED: Behaviour = { answer: 'negative', after: 1 };

const time = new SimulatedTime();

/** Both clients, of a service that behaves by the request. */
function open(behave: (request: ServiceRequest) => Behaviour, options: object = {}) {
  const service = new SimulatedService(behave);
  const common = { clock: time.now, fetch: service.fetch, ...options };
  const url = 'https://simulated.test';
  const keyApi = new KeyApi({ baseUrl: url, apiKey: KEY, cache: false, ...common });
  const loginApi = new LoginApi({ authUrl: url, appId: 'app', appSecret: 'secret', ...common });
  return { service, keyApi, loginApi };
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

const isBad = (request: ServiceRequest) => request.parameter('purchase_code') === 'bad-code';
const isDown = (keyApi: KeyApi) => time.until(keyApi.isDown());

describe('a visitor whose code makes the service fail', () => {
  it.each([
    ['answers 500', FAILED],
    ['cuts the connection', CUT],
    ['never answers', SILENT],
  ])('twice a second closes the shop for nobody else: one that %s', async (_name, bad) => {
    const { service, keyApi } = open((request) => (isBad(request) ? bad : FINE));
    const customers: Promise<unknown>[] = [];
    for (let tick = 0; tick < 600; tick++) {
      keyApi.validatePurchase('bad-code').catch(() => {});
      await time.pass(500);
      if (tick % 10 > 0) continue;
      const begun = time.now();
      const call = keyApi.validatePurchase(`customer-${tick}`);
      customers.push(call.then((found) => [found !== null, time.now() - begun]));
    }
    await time.pass(1000);
    expect(await Promise.all(customers)).toEqual(Array(60).fill([true, 20]));
    // One every five seconds, for 300 of them.
    expect(service.count(ACCOUNT)).toBeLessThanOrEqual(61);
  });

  it('and hangs with each of 200 requests at a time makes no outage', async () => {
    const { keyApi } = open(
      (request) => {
        if (request.parameter('purchase_code') === 'other') return FAILED;
        return isBad(request) ? SILENT : FINE;
      },
      { retries: 0 },
    );
    const failed = ending(keyApi.validatePurchase('other'));
    const calls = Array.from({ length: 200 }, () => keyApi.validatePurchase('bad-code'));
    const ends = Promise.allSettled(calls);
    // The account is asked for at once, although no other request gets a turn.
    await failed;
    expect(await isDown(keyApi)).toBe(false);
    await time.until(ends);
    expect((await ending(keyApi.validatePurchase('customer'))).value).toBeTruthy();
  });

  it('keeps it closed also not when that is the first request after an outage', async () => {
    let isDown = true;
    const { keyApi } = open((request) => (isDown || isBad(request) ? FAILED : FINE));
    for (let n = 0; n < 5; n++) await ending(keyApi.validatePurchase('bad-code'));
    expect((await ending(keyApi.validatePurchase('customer'))).error?.retryAfter).toBe(2);
    isDown = false;
    await time.pass(5000);
    await ending(keyApi.validatePurchase('bad-code'));
    expect((await ending(keyApi.validatePurchase('customer'))).value).toBeTruthy();
  });

  it('keeps it closed also not by leaving before the first answer after an outage', async () => {
    let now: Behaviour = FAILED;
    const { keyApi } = open(() => now);
    for (let n = 0; n < 5; n++) await ending(keyApi.validatePurchase('some-code'));
    now = FINE;
    await time.pass(2000);
    const leaving = new AbortController();
    const left = keyApi.validatePurchase('some-code', { signal: leaving.signal });
    left.catch(() => {});
    await time.pass(10);
    leaving.abort();
    await time.pass(10);
    expect((await ending(keyApi.validatePurchase('customer'))).value).toBeTruthy();
  });
});

/** Visitors who come with a code that nobody else has, `gap` milliseconds after one another; how their calls end. */
async function visits(keyApi: KeyApi, count: number, gap = 0) {
  const ends: { took: number; code: string }[] = [];
  for (let n = 0; n < count; n++) {
    const begun = time.now();
    const ended = (code: string) => void ends.push({ took: time.now() - begun, code });
    keyApi.validatePurchase(`code-${n}`).then(
      () => ended('positive'),
      (error) => ended(error.code),
    );
    if (gap > 0) await time.pass(gap);
  }
  return ends;
}

describe.each([
  ['answers 500 at once', { answer: '500', after: 0 }],
  ['answers 500 after a while', { answer: '500', after: 700 }],
  ['cuts the connection', CUT],
  ['never answers', SILENT],
] satisfies [string, Behaviour][])('a service that %s', (_name, behaviour) => {
  it('gets at most 1.1 requests a caller from 1,000 who come at once', async () => {
    const { service, keyApi } = open(() => behaviour);
    const ends = await visits(keyApi, 1000);
    await time.pass(60_000);
    expect(ends).toHaveLength(1000);
    expect(service.count()).toBeLessThanOrEqual(1100);
  });

  it('costs only those who try it any time, and all are back after one answer', async () => {
    let now: Behaviour = behaviour;
    const { service, keyApi } = open(() => now);
    await visits(keyApi, 5, 20_000);
    const before = service.count();
    const ends = await visits(keyApi, 200, 100);
    await time.pass(60_000);
    const tries = service.count() - before;
    // Every two seconds a call and the probe, for 20 of them.
    expect(tries).toBeLessThanOrEqual(22);
    expect(ends.filter(({ took }) => took > 0).length).toBeLessThanOrEqual(tries);
    expect(ends.map(({ code }) => code)).toEqual(Array(200).fill('service_unavailable'));

    now = FINE;
    const dead = service.count();
    await visits(keyApi, 50);
    await time.pass(19);
    // A call, and the probe.
    expect(service.count() - dead).toBe(2);
    await time.pass(1);
    const later = await visits(keyApi, 100);
    await time.pass(10_000);
    expect(later.map(({ code }) => code)).toEqual(Array(100).fill('positive'));
  });
});

it.each([CUT, DOWN])('a short outage costs no call: $answer', async (failing) => {
  let now: Behaviour = failing;
  const { service, keyApi } = open(() => now);
  const ends = await visits(keyApi, 100);
  await time.pass(failing.after - 1);
  now = FINE;
  await time.pass(1000);
  expect(ends.map(({ code }) => code)).toEqual(Array(100).fill('positive'));
  // Each call twice, and the probe.
  expect(service.count()).toBe(201);
});

it('a 429 stops the retries that other calls were waiting for', async () => {
  let now: Behaviour = { answer: '500', after: 1 };
  const { service, keyApi } = open(() => now);
  const ends = await visits(keyApi, 3);
  await time.pass(2);
  now = { answer: '429', after: 1, retryAfter: 60 };
  const last = await visits(keyApi, 1);
  await time.pass(5);
  const before = service.count();
  await time.pass(30_000);
  expect(service.count()).toBe(before);
  expect([...ends, ...last]).toHaveLength(4);
});

describe('an outage, however long, is over 2 s after it ends', () => {
  async function callAfterIt(end: Behaviour) {
    let now: Behaviour = FAILED;
    const { keyApi } = open(() => now, { retries: 0 });
    const call = () => ending(keyApi.validatePurchase('customer'));
    for (let n = 0; n < 300; n++) {
      const { error } = await call();
      if (n > 5) expect(error?.retryAfter).toBeOneOf([1, 2]);
      await time.pass(1000);
    }
    now = end;
    await time.pass(2000);
    return { keyApi, call };
  }

  it('for all calls', async () => {
    const { call } = await callAfterIt(FINE);
    expect((await call()).value).toBeTruthy();
  });

  it('with a 429, after which the service is only left alone for as long as it asked', async () => {
    const { keyApi, call } = await callAfterIt({ answer: '429', after: 5, retryAfter: 1 });
    const { error } = await call();
    expect([error?.retryAfter, await isDown(keyApi)]).toEqual([1, false]);
    await time.pass(1000);
    expect((await call()).error?.message).toContain('HTTP 429');
  });
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
    ['the code fails, and account/details refuses the key', FAILED, REFUSED, false],
    ['the code gets a 429', BUSY, FAILED, false],
  ])('where %s', async (_name, code, account, expected) => {
    const { keyApi } = open(({ path }) => (path === VALIDATION ? code : account));
    const { error } = await ending(keyApi.validatePurchase('some-code'));
    expect(isMarketgateError(error)).toBe(true);
    const { value, took } = await ending(keyApi.isDown());
    expect(value).toBe(expected);
    expect(took).toBeLessThanOrEqual(5000);
  });

  it('is asked about once for all, and again after five seconds', async () => {
    const { service, keyApi } = open(({ path }) => (path === VALIDATION ? FAILED : SILENT), {
      retries: 0,
    });
    const codes = ['code-0', 'code-1', 'code-2', 'code-3'];
    await Promise.all(codes.map((code) => ending(keyApi.validatePurchase(code))));
    const all = () => time.until(Promise.all(codes.map(() => keyApi.isDown())));
    expect(await all()).toEqual([true, true, true, true]);
    await all();
    expect(service.count(ACCOUNT)).toBe(1);
    await time.pass(5000);
    await all();
    expect(service.count(ACCOUNT)).toBe(2);
  });

  it('is none that is over by the time of the question, also where it was up when asked before', async () => {
    let now: Behaviour = FINE;
    const { service, keyApi } = open(() => now);
    expect(await isDown(keyApi)).toBe(false);
    now = SILENT;
    expect(await isDown(keyApi)).toBe(true);
    now = FINE;
    await time.pass(5000);
    expect(await isDown(keyApi)).toBe(false);
    expect(service.count(ACCOUNT)).toBe(3);
  });

  it('is none while the gate is closed, nor for a client that was closed', async () => {
    const busy = open(() => BUSY, { retries: 0 }).keyApi;
    await ending(busy.validatePurchase('code'));
    expect(await isDown(busy)).toBe(false);
    const { service, keyApi } = open(() => FAILED);
    await keyApi.close();
    expect(await isDown(keyApi)).toBe(false);
    expect(service.count()).toBe(0);
  });
});

describe('logging in', () => {
  it.each([
    ['answers 500', FAILED],
    ['never answers', SILENT],
  ])('is closed by no auth_key: one that %s', async (_name, bad) => {
    const { loginApi } = open((request) =>
      request.parameter('auth_key') === 'made-up' ? bad : FINE,
    );
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

  it('has a separate breaker, which opens when get_user_info without a token fails too', async () => {
    const { service, loginApi, keyApi } = open(({ path }) =>
      path === '/api/get_user_info' || path === '/api/authorize' ? FAILED : FINE,
    );
    for (let n = 0; n < 5; n++) await ending(loginApi.exchange(`auth-key-${n}`));
    const { error } = await ending(loginApi.exchange('auth-key'));
    expect(error).toMatchObject({ code: 'service_unavailable', retryAfter: 2 });
    expect(service.count('/api/authorize')).toBe(5);
    expect(service.requests.at(-1)).toMatchObject({ method: 'GET', path: '/api/get_user_info' });
    expect([...(service.requests.at(-1)?.query ?? [])]).toEqual([]);
    expect((await ending(keyApi.getAccount())).value).toBeTruthy();
  });
});

it.each([FAILED, DOWN, CUT, SILENT, PAGE, BUSY])(
  'a call tries a read retries + 1 times, and an exchange once, ends within its timeout, and nothing goes on after it: $answer',
  async (behaviour) => {
    for (const [retries, timeout] of [
      [0, 15_000],
      [2, 15_000],
      [9, 2000],
    ] as const) {
      const { service, keyApi, loginApi } = open(
        ({ path, query }) =>
          path === ACCOUNT || (path === '/api/get_user_info' && query.size === 0)
            ? FINE
            : behaviour,
        { retries, timeout },
      );
      const isRepeated = behaviour === DOWN || behaviour === CUT || behaviour === SILENT;
      for (const [path, call, most] of [
        [VALIDATION, () => keyApi.validatePurchase('some-code'), retries + 1],
        ['/api/authorize', () => loginApi.exchange('an-auth-key'), 1],
        ['/api/get_user_info', () => loginApi.getUser('a-token'), retries + 1],
      ] as const) {
        const { error, took } = await ending(call());
        expect(isMarketgateError(error)).toBe(true);
        expect(took).toBeLessThanOrEqual(timeout);
        // The neutral question has no parameters.
        const sent = service.requests.filter(
          ({ path: to, query, body }) => to === path && `${query}${body}` !== '',
        ).length;
        expect(sent).toBeLessThanOrEqual(most);
        if (isRepeated && retries < 9) expect(sent).toBe(most);
      }
      const before = service.count();
      await time.pass(120_000);
      expect(service.count()).toBe(before);
    }
  },
);

it('an outage that ends while account/details still hangs opens no breaker, because others were answered meanwhile', async () => {
  let behaviour: Behaviour = FAILED;
  const { keyApi } = open(
    ({ path }) => (path === ACCOUNT && behaviour === FAILED ? SILENT : behaviour),
    { retries: 0 },
  );
  const calls = Array.from({ length: 5 }, (_, n) => ending(keyApi.validatePurchase(`code-${n}`)));
  await time.pass(1000);
  behaviour = FINE;
  const customer = () => ending(keyApi.validatePurchase('customer'));
  expect((await customer()).value).toBeTruthy();
  await Promise.all(calls);
  expect((await customer()).value).toBeTruthy();
});
