import fc from 'fast-check';
import { expect, it } from 'vitest';
import { keyApiOn, settle, VALIDATION } from '../../support/key-api-service.js';
import { json, page, type Reply, reset } from '../../support/service-in-memory.js';
import { refusal } from '../../support/wire.js';
import { HOUR, MINUTE, SECOND } from './support.js';

const INVALID_TTL = 30 * SECOND;
/** The ttl and staleIfError. */
const LONGEST = 5 * MINUTE + 24 * HOUR;

/** What comes over the wire, whatever was asked. */
const WEATHER = {
  up: (): Reply | undefined => undefined,
  down: () => page(503),
  html: () => page(200),
  limiting: () => json({}, 429, { 'retry-after': '60' }),
  cut: () => reset(),
};

/** Each kind of step uses some of the fields. */
const step = fc.record({
  do: fc.oneof(
    { weight: 8, arbitrary: fc.constant('ask') },
    { weight: 5, arbitrary: fc.constant('wait') },
    { weight: 3, arbitrary: fc.constant('weather') },
    { weight: 2, arbitrary: fc.constantFrom('refund', 'restore', 'invalidate') },
    { weight: 1, arbitrary: fc.constantFrom('revoke', 'reinstate') },
  ),
  code: fc.nat(5),
  fresh: fc.boolean(),
  minutes: fc.oneof(fc.constantFrom(0.1, 0.4, 1, 5, 6, 60, 66), fc.integer({ min: 1, max: 1500 })),
  weather: fc.constantFrom('up', 'up', 'down', 'html', 'limiting', 'cut'),
});

const codeOf = (n: number): string => `purchase-code-${n}`;

it('days of an unreliable service: a code is accepted only after a positive answer, and called invalid only after a negative one', async () => {
  let accepted = 0;
  let refused = 0;
  let unknown = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 60 }), async (steps) => {
      const { service, keyApi } = keyApiOn();
      let weather: keyof typeof WEATHER = 'up';
      /** Codes 0 to 3 were bought; 4 and 5 never were. */
      const bought = [true, true, true, true, false, false];
      const neverRefunded = new Set([0, 1, 2, 3]);
      /** What the service really said of a code the last time, and when. */
      const last = new Map<string, { readonly isPositive: boolean; readonly at: number }>();
      let keyWasUnknownAt = Number.NEGATIVE_INFINITY;
      service.override = (request) => {
        const reply = WEATHER[weather]();
        // What is said with an unknown key is said of the key.
        if (reply !== undefined || request.path !== VALIDATION || service.keys) return reply;
        const code = request.parameter('purchase_code') ?? '';
        const isPositive = bought[Number(code.at(-1))] === true;
        last.set(code, { isPositive, at: service.now });
        return isPositive ? undefined : json(refusal('Invalid purchase code'), 404);
      };
      for (const each of steps) {
        if (each.do === 'wait') service.now += each.minutes * MINUTE;
        else if (each.do === 'weather') weather = each.weather;
        else if (each.do === 'revoke') service.keys = new Set();
        else if (each.do === 'reinstate') service.keys = undefined;
        else if (each.do === 'invalidate') await keyApi.invalidate(codeOf(each.code));
        else if (each.do === 'restore') bought[each.code] = each.code < 4;
        else if (each.do === 'refund') {
          bought[each.code] = false;
          neverRefunded.delete(each.code);
        } else {
          if (service.keys) keyWasUnknownAt = service.now;
          const code = codeOf(each.code);
          const before = last.get(code);
          const asked = keyApi.validatePurchase(code, { fresh: each.fresh });
          const found = await asked.catch(() => undefined);
          const latest = last.get(code);
          if (found === undefined) {
            unknown++;
          } else if (found === null) {
            refused++;
            // The word that the key is good is believed for some minutes, and a no with it: a key
            // that is revoked in just these minutes is the one case that cannot be told apart.
            if (service.now - keyWasUnknownAt < INVALID_TTL) continue;
            expect(neverRefunded.has(each.code)).toBe(false);
            const negative = latest?.isPositive === false ? latest : before;
            expect(negative?.isPositive).toBe(false);
            expect(service.now - (negative?.at ?? 0)).toBeLessThan(INVALID_TTL);
          } else {
            accepted++;
            expect(found.purchase_code).toBe(code);
            // Served at once while a refresh behind finds out that it was refunded: the last answer
            // that was there when it was asked for.
            const positive = latest?.isPositive ? latest : before;
            expect(positive?.isPositive).toBe(true);
            expect(service.now - (positive?.at ?? 0)).toBeLessThanOrEqual(LONGEST);
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
