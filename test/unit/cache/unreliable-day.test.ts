import fc from 'fast-check';
import { expect, it } from 'vitest';
import { keyApiOn, settle, VALIDATION } from '../../support/key-api-service.js';
import { json, page, type Reply, reset } from '../../support/service-in-memory.js';
import { refusal } from '../../support/wire.js';
import { HOUR, MINUTE, SECOND } from './support.js';

const INVALID_TTL = 30 * SECOND;
const STALE_IF_ERROR = 24 * HOUR;

/** What comes over the wire, whatever was asked. */
const WEATHER: Record<string, () => Reply | undefined> = {
  up: () => undefined,
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
  weather: fc.constantFrom('up', ...Object.keys(WEATHER)),
});

it('days of an unreliable service: a code is accepted only after a positive answer, and called invalid only after a negative one', async () => {
  const seen = { accepted: 0, refused: 0, unknown: 0 };
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 60 }), async (steps) => {
      const { service, keyApi } = keyApiOn();
      let weather = 'up';
      /** Codes 0 to 3 were bought; 4 and 5 never were. */
      const bought = [true, true, true, true, false, false];
      /** What the service really said of each code the last time, and when. */
      const last: { readonly isPositive: boolean; readonly at: number }[] = [];
      let keyWasUnknownAt = Number.NEGATIVE_INFINITY;
      service.override = (request) => {
        const reply = WEATHER[weather]?.();
        // What is said with an unknown key is said of the key.
        if (reply !== undefined || request.path !== VALIDATION || service.keys) return reply;
        const code = Number(request.parameter('purchase_code')?.at(-1));
        const isPositive = bought[code] === true;
        last[code] = { isPositive, at: service.now };
        return isPositive ? undefined : json(refusal('Invalid purchase code'), 404);
      };
      for (const { do: what, code, fresh, ...each } of steps) {
        const text = `purchase-code-${code}`;
        if (what === 'wait') service.now += each.minutes * MINUTE;
        else if (what === 'weather') weather = each.weather;
        else if (what === 'revoke') service.keys = new Set();
        else if (what === 'reinstate') service.keys = undefined;
        else if (what === 'invalidate') await keyApi.invalidate(text);
        else if (what !== 'ask') bought[code] = what === 'restore' && code < 4;
        else {
          if (service.keys) keyWasUnknownAt = service.now;
          const before = last[code];
          const found = await keyApi.validatePurchase(text, { fresh }).catch(() => undefined);
          // What was there when it was asked for can be served, while a refresh in the background finds out otherwise.
          const said = [last[code], before].find((one) => one?.isPositive === (found !== null));
          const age = service.now - (said?.at ?? Number.NEGATIVE_INFINITY);
          seen[found === undefined ? 'unknown' : found === null ? 'refused' : 'accepted']++;
          // A key that is revoked within minutes after its check cannot be told apart.
          if (found === null && service.now - keyWasUnknownAt >= INVALID_TTL)
            expect(age).toBeLessThan(INVALID_TTL);
          if (found) expect(age).toBeLessThan(STALE_IF_ERROR);
        }
        await settle();
      }
      await keyApi.close();
    }),
    { numRuns: 80 },
  );
  // A property that never met the case would hold of anything.
  expect(Math.min(...Object.values(seen))).toBeGreaterThan(20);
});
