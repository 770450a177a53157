import fc from 'fast-check';
import { KeyApi } from 'marketgate';
import { expect, it } from 'vitest';
import { ACCOUNT } from '../../support/key-api-service.js';
import {
  json,
  page,
  type Reply,
  reset,
  ServiceInMemory,
  type ServiceRequest,
} from '../../support/service-in-memory.js';
import { account, KEY, purchase, refusal, success } from '../../support/wire.js';

const MINUTE = 60_000;
const TTL = 5 * MINUTE;
const STALE_IF_ERROR = 24 * 60 * MINUTE;
const INVALID_TTL = 30_000;

type Weather = 'up' | 'down' | 'html' | 'limiting' | 'cut';
type Step =
  | { readonly do: 'ask'; readonly code: number; readonly fresh: boolean }
  | { readonly do: 'wait'; readonly minutes: number }
  | { readonly do: 'weather'; readonly weather: Weather }
  | { readonly do: 'refund'; readonly code: number }
  | { readonly do: 'restore'; readonly code: number }
  | { readonly do: 'invalidate'; readonly code: number }
  | { readonly do: 'revoke' }
  | { readonly do: 'reinstate' };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({ do: fc.constant('ask'), code: fc.nat(5), fresh: fc.boolean() }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('wait'),
      minutes: fc.oneof(
        fc.constantFrom(0.1, 0.4, 1, 5, 6, 60, 66),
        fc.integer({ min: 1, max: 1500 }),
      ),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('weather'),
      weather: fc.constantFrom<Weather>('up', 'up', 'down', 'html', 'limiting', 'cut'),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constantFrom('refund', 'restore', 'invalidate'),
      code: fc.nat(5),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('revoke', 'reinstate') }) },
) as fc.Arbitrary<Step>;

/** What the service really said of a code the last time, and when. */
interface LastAnswer {
  readonly isPositive: boolean;
  readonly at: number;
}

/** The service in memory, so that thousands of days fit into a test. */
class World {
  now = 1_800_000_000_000;
  weather: Weather = 'up';
  keyIsKnown = true;
  /** Codes 0 to 3 were bought; 4 and 5 never were. */
  readonly bought = [true, true, true, true, false, false];
  readonly last = new Map<string, LastAnswer>();

  readonly dispatcher = new ServiceInMemory((request) => this.#answer(request));

  #answer(request: ServiceRequest): Reply {
    if (this.weather === 'cut') return reset();
    if (this.weather === 'down') return page(503);
    if (this.weather === 'html') return page(200);
    if (this.weather === 'limiting') return json({}, 429, { 'retry-after': '60' });
    if (request.path === ACCOUNT) {
      return this.keyIsKnown
        ? json(success({ data: account }))
        : json(refusal('Invalid request'), 401);
    }
    const code = request.parameter('purchase_code') ?? '';
    const isPositive = this.keyIsKnown && this.bought[Number(code.at(-1))] === true;
    // What is said with an unknown key is said of the key.
    if (this.keyIsKnown) this.last.set(code, { isPositive, at: this.now });
    return isPositive
      ? json(success({ data: { purchase: { ...purchase, purchase_code: code } } }))
      : json(refusal('Invalid purchase code'), 404);
  }
}

const settle = (): Promise<void> => new Promise(setImmediate);

const codeOf = (n: number): string => `purchase-code-${n}`;

it('days of an unreliable service: a code is accepted only after a positive answer, and called invalid only after a negative one', async () => {
  let accepted = 0;
  let refused = 0;
  let unknown = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 60 }), async (steps) => {
      const world = new World();
      const keyApi = new KeyApi({
        baseUrl: 'https://market.example',
        apiKey: KEY,
        retries: 0,
        dispatcher: world.dispatcher,
        clock: () => world.now,
      });
      const neverRefunded = new Set([0, 1, 2, 3]);
      let keyWasUnknownAt = Number.NEGATIVE_INFINITY;
      for (const each of steps) {
        if (each.do === 'wait') world.now += each.minutes * MINUTE;
        else if (each.do === 'weather') world.weather = each.weather;
        else if (each.do === 'revoke') world.keyIsKnown = false;
        else if (each.do === 'reinstate') world.keyIsKnown = true;
        else if (each.do === 'invalidate') await keyApi.invalidate(codeOf(each.code));
        else if (each.do === 'restore') world.bought[each.code] = each.code < 4;
        else if (each.do === 'refund') {
          world.bought[each.code] = false;
          neverRefunded.delete(each.code);
        } else {
          if (!world.keyIsKnown) keyWasUnknownAt = world.now;
          const code = codeOf(each.code);
          const before = world.last.get(code);
          const found = await keyApi
            .validatePurchase(code, { fresh: each.fresh })
            .catch(() => undefined);
          const last = world.last.get(code);
          if (found === undefined) {
            unknown++;
          } else if (found === null) {
            refused++;
            // The word that the key is good is believed for some minutes, and a no with it: a key
            // that is revoked in just these minutes is the one case that cannot be told apart.
            if (world.now - keyWasUnknownAt < INVALID_TTL) continue;
            expect(neverRefunded.has(each.code)).toBe(false);
            const negative = last?.isPositive === false ? last : before;
            expect(negative?.isPositive).toBe(false);
            expect(world.now - (negative?.at ?? 0)).toBeLessThan(INVALID_TTL);
          } else {
            accepted++;
            expect(found.purchase_code).toBe(code);
            // Served at once while a refresh behind finds out that it was refunded: the last answer
            // that was there when it was asked for.
            const positive = last?.isPositive ? last : before;
            expect(positive?.isPositive).toBe(true);
            expect(world.now - (positive?.at ?? 0)).toBeLessThanOrEqual(TTL + STALE_IF_ERROR);
          }
        }
        await settle();
      }
      await keyApi.close();
    }),
    { numRuns: 80 },
  );
  // A property that never met the case would hold of anything.
  expect(Math.min(accepted, refused, unknown)).toBeGreaterThan(20);
});
