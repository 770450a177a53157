import fc from 'fast-check';
import { LoginApi } from 'marketgate';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Behaviour, SimulatedService } from './simulation/simulated-service.js';
import { breakIt, DEAD, openShop, visits } from './simulation/simulated-shop.js';
import { SimulatedTime } from './simulation/simulated-time.js';

/** Three requests a caller would be three times the bound: a thousand tell that as well as more. */
const CALLERS = 1000;
const LOGINS = 600;

let time: SimulatedTime;
beforeEach(() => {
  time = SimulatedTime.begin();
});
afterEach(() => time.end());

describe.each(DEAD)('a service that %s', (_name, behave) => {
  it('gets at most 1.1 requests a caller from those who come at once', async () => {
    const shop = openShop(time);
    shop.behave = behave;
    await visits(shop, CALLERS);
    await time.pass(60_000);
    expect(shop.ends).toHaveLength(CALLERS);
    expect(shop.service.count() / CALLERS).toBeLessThanOrEqual(1.1);
  });

  it('gets at most 1.1 requests a caller from bursts, and hardly any once it is known', async () => {
    const shop = openShop(time);
    shop.behave = behave;
    for (let burst = 0; burst < 50; burst++) {
      await visits(shop, CALLERS / 50);
      await time.pass(1000);
    }
    await time.pass(60_000);
    expect(shop.ends).toHaveLength(CALLERS);
    expect(shop.service.count() / CALLERS).toBeLessThanOrEqual(1.1);
    const before = shop.service.count();
    await visits(shop, 300, 100);
    await time.pass(60_000);
    // Half a minute: a probe or two.
    expect(shop.service.count() - before).toBeLessThanOrEqual(3);
  });

  it('costs nobody any time once it is known, but for who tries it', async () => {
    const shop = openShop(time);
    shop.behave = behave;
    await breakIt(shop);
    shop.ends.length = 0;
    const before = shop.service.count();
    await visits(shop, 200, 100);
    await time.pass(60_000);
    const probes = shop.service.count() - before;
    expect(shop.ends).toHaveLength(200);
    expect(shop.ends.filter(({ took }) => took > 0).length).toBeLessThanOrEqual(probes);
    expect(new Set(shop.ends.map(({ code }) => code))).toEqual(new Set(['service_unavailable']));
  });

  it('that comes back gets one request first, and then one from each caller', async () => {
    const shop = openShop(time);
    shop.behave = behave;
    await breakIt(shop);
    await visits(shop, 100, 50);
    await time.pass(60_000);
    shop.behave = { answer: 'positive', after: 50 };
    const before = shop.service.count();
    await visits(shop, 50);
    await time.pass(49);
    expect(shop.service.count() - before).toBe(1);
    await time.pass(1);
    shop.ends.length = 0;
    await visits(shop, 100);
    await time.pass(10_000);
    expect(shop.service.count() - before).toBe(101);
    expect(shop.ends.map(({ code }) => code)).toEqual(Array(100).fill('positive'));
  });
});

describe('an outage of any course', () => {
  /** Waves of callers, and for each how the service is meanwhile. */
  const course = fc.array(
    fc.record({
      callers: fc.integer({ min: 1, max: 100 }),
      gap: fc.constantFrom(0, 0, 1, 7, 40),
      behave: fc.record({
        answer: fc.constantFrom(...(['500', 'reset', 'hang'] as const)),
        after: fc.integer({ min: 0, max: 3000 }),
      }),
      pause: fc.integer({ min: 0, max: 20_000 }),
    }),
    { minLength: 1, maxLength: 12 },
  );

  it.each([0, 2, 5])('retries: %d never add more than a few requests in all', async (retries) => {
    await fc.assert(
      fc.asyncProperty(course, async (waves) => {
        const shop = openShop(time, { retries });
        let callers = 0;
        for (const wave of waves) {
          shop.behave = wave.behave;
          callers += wave.callers;
          await visits(shop, wave.callers, wave.gap);
          await time.pass(wave.pause);
        }
        await time.pass(60_000);
        expect(shop.ends).toHaveLength(callers);
        for (const { took } of shop.ends) expect(took).toBeLessThanOrEqual(10_000);
        // A few calls learn it with their retries, with a probe now and then.
        expect(shop.service.count('/api/purchases/validation')).toBeLessThanOrEqual(
          callers + 8 * retries,
        );
      }),
      { numRuns: 12, seed: 20261121 },
    );
  });

  it.each(['reset', '500'] as const)('costs none of 100 calls if short: %s', async (answer) => {
    const shop = openShop(time);
    shop.behave = { answer, after: 20 };
    await visits(shop, 100);
    await time.pass(19);
    shop.behave = { answer: 'positive', after: 20 };
    await time.pass(1000);
    expect(shop.ends).toHaveLength(100);
    expect(shop.ends.filter(({ code }) => code !== 'positive')).toEqual([]);
    // Each call twice, and the probe.
    expect(shop.service.count()).toBe(201);
  });
});

it('a service that fails now and then is still tried again: one failure in three costs a visitor nothing', async () => {
  const answerOf = (n: number) => (n % 3 === 0 ? '500' : 'positive');
  const { service, keyApi } = openShop(time, {}, (n) => ({ answer: answerOf(n), after: 20 }));
  for (let visitor = 0; visitor < 300; visitor++) {
    expect(await time.until(keyApi.validatePurchase(`purchase-code-${visitor}`))).not.toBeNull();
  }
  expect(service.count()).toBe(450);
});

it('a service that asks to be left alone gets no request from those who were waiting to try again', async () => {
  const shop = openShop(time);
  shop.behave = { answer: '500', after: 1 };
  await visits(shop, 3);
  await time.pass(2);
  shop.behave = { answer: '429', after: 1, retryAfter: 60 };
  await visits(shop, 1);
  await time.pass(5);
  const before = shop.service.count();
  await time.pass(30_000);
  expect(shop.service.count()).toBe(before);
  expect(shop.ends).toHaveLength(4);
});

describe('logging in during an outage', () => {
  const open = (behave: Behaviour) => {
    const service = new SimulatedService(time.now, () => behave);
    const loginApi = new LoginApi({
      authUrl: 'https://simulated.test',
      appId: 'app',
      appSecret: 'secret-of-the-app',
      clock: time.now,
      dispatcher: service,
    });
    return { service, loginApi };
  };

  const exchange = (loginApi: LoginApi, n: number) => loginApi.exchange(`auth-key-${n}`);
  const getUser = (loginApi: LoginApi, n: number) => loginApi.getUser(`token-${n}`);
  it.each(
    DEAD.flatMap(([name, behave]) => [
      [name, 'exchange', 1, behave, exchange] as const,
      [name, 'getUser', 1.1, behave, getUser] as const,
    ]),
  )('%s: %s asks at most %d times a caller', async (_name, _method, most, behave, call) => {
    const { service, loginApi } = open(behave);
    let ended = 0;
    for (let n = 0; n < LOGINS; n++) {
      const done = (): void => void ended++;
      call(loginApi, n).then(done, done);
      if (n % 20 === 19) await time.pass(most === 1 ? 250 : 33);
    }
    await time.pass(60_000);
    expect(ended).toBe(LOGINS);
    const asked = service.count() - service.count('/api/oauth');
    expect(asked / LOGINS).toBeLessThanOrEqual(most);
  });
});
