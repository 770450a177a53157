import { isMarketgateError, KeyApi } from 'marketgate';
import { describe, expect, it } from 'vitest';
import { KEY } from '../../support/wire.js';
import { type Behaviour, SimulatedService } from './simulation/simulated-service.js';
import { SimulatedTime } from './simulation/simulated-time.js';

const time = new SimulatedTime();

/** A shop whose visitors each come with a code that nobody else has. */
class Shop {
  /** How the visits ended. */
  readonly ends: { readonly took: number; readonly code: string }[] = [];
  readonly service = new SimulatedService(time.now, (n) => this.behave(n));
  readonly #keyApi: KeyApi;
  #visitors = 0;

  constructor(
    public behave: (n: number) => Behaviour,
    options: object = {},
  ) {
    this.#keyApi = new KeyApi({
      ...{ baseUrl: 'https://simulated.test', apiKey: KEY, cache: false, clock: time.now },
      dispatcher: this.service,
      ...options,
    });
  }

  /** Visitors who come `gap` milliseconds after one another. */
  async visits(count: number, gap = 0): Promise<void> {
    for (let n = 0; n < count; n++) {
      const begun = time.now();
      const ended = (code: string): void => void this.ends.push({ took: time.now() - begun, code });
      this.#keyApi.validatePurchase(`purchase-code-${this.#visitors++}`).then(
        () => ended('positive'),
        (error: unknown) => ended(isMarketgateError(error) ? error.code : String(error)),
      );
      if (gap > 0) await time.pass(gap);
    }
  }
}

describe.each<[string, Behaviour]>([
  ['answers 500 at once', { answer: '500', after: 0 }],
  ['answers 500 after a while', { answer: '500', after: 700 }],
  ['cuts the connection', { answer: 'reset', after: 5 }],
  ['never answers', { answer: 'hang', after: 0 }],
])('a service that %s', (_name, behaviour) => {
  it.each([
    ['at once', 1000, 0],
    ['in bursts', 20, 1000],
  ])('gets at most 1.1 requests a caller from 1,000 who come %s', async (_how, size, pause) => {
    const shop = new Shop(() => behaviour);
    for (let callers = 0; callers < 1000; callers += size) {
      await shop.visits(size);
      await time.pass(pause);
    }
    await time.pass(60_000);
    expect(shop.ends).toHaveLength(1000);
    expect(shop.service.count()).toBeLessThanOrEqual(1100);
  });

  it('costs only those who try it any time, and all are back after one request that succeeds', async () => {
    const shop = new Shop(() => behaviour);
    await shop.visits(5, 20_000);
    shop.ends.length = 0;
    const before = shop.service.count();
    await shop.visits(200, 100);
    await time.pass(60_000);
    const tries = shop.service.count() - before;
    expect(tries).toBeLessThanOrEqual(12);
    expect(shop.ends.filter(({ took }) => took > 0).length).toBeLessThanOrEqual(tries);
    expect(shop.ends.map(({ code }) => code)).toEqual(Array(200).fill('service_unavailable'));

    shop.behave = () => ({ answer: 'positive', after: 50 });
    const dead = shop.service.count();
    await shop.visits(50);
    await time.pass(49);
    expect(shop.service.count() - dead).toBe(1);
    await time.pass(1);
    shop.ends.length = 0;
    await shop.visits(100);
    await time.pass(10_000);
    expect(shop.ends.map(({ code }) => code)).toEqual(Array(100).fill('positive'));
  });
});

it.each(['reset', '500'] as const)('a short outage (%s) costs no call', async (answer) => {
  const shop = new Shop(() => ({ answer, after: 20 }));
  await shop.visits(100);
  await time.pass(19);
  shop.behave = () => ({ answer: 'positive', after: 20 });
  await time.pass(1000);
  expect(shop.ends.map(({ code }) => code)).toEqual(Array(100).fill('positive'));
  // Each call twice, and the probe.
  expect(shop.service.count()).toBe(201);
});

it('a 429 stops the retries that other calls were waiting for', async () => {
  const shop = new Shop(() => ({ answer: '500', after: 1 }));
  await shop.visits(3);
  await time.pass(2);
  shop.behave = () => ({ answer: '429', after: 1, retryAfter: 60 });
  await shop.visits(1);
  await time.pass(5);
  const before = shop.service.count();
  await time.pass(30_000);
  expect(shop.service.count()).toBe(before);
  expect(shop.ends).toHaveLength(4);
});
