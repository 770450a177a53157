import fc from 'fast-check';
import type { Behaviour } from './simulated-service.js';

const behaviour: fc.Arbitrary<Behaviour> = fc.record({
  answer: fc.constantFrom(...(['yes', 'no', '500', 'reset', 'hang', 'page', '429'] as const)),
  after: fc.oneof(fc.integer({ min: 0, max: 50 }), fc.integer({ min: 0, max: 12_000 })),
  retryAfter: fc.integer({ min: 0, max: 20 }),
});

/** What the service does to the first, the second, … request; the last goes on for ever. */
export const plan = fc.record({
  schedule: fc.array(behaviour, { minLength: 1, maxLength: 10 }),
  retries: fc.integer({ min: 0, max: 6 }),
  timeout: fc.integer({ min: 20, max: 15_000 }),
});

/** A {@link plan} that was drawn. */
export type Plan = typeof plan extends fc.Arbitrary<infer T> ? T : never;

/** A schedule on which every try can be repeated: nothing but failures that may pass. */
export const onlyFailures = fc.record({
  schedule: fc.array(
    fc.record({
      answer: fc.constantFrom(...(['500', 'reset'] as const)),
      after: fc.integer({ min: 0, max: 200 }),
    }),
    { minLength: 1, maxLength: 8 },
  ),
  retries: fc.integer({ min: 0, max: 6 }),
  timeout: fc.integer({ min: 20, max: 15_000 }),
});

/** A schedule on which most questions are answered, after a failure or two. */
export const mostlyAnswers = fc.record({
  schedule: fc.array(
    fc.record({
      answer: fc.constantFrom(...(['no', 'no', 'yes', 'yes', '500', 'reset'] as const)),
      after: fc.integer({ min: 0, max: 200 }),
    }),
    { minLength: 2, maxLength: 8 },
  ),
  retries: fc.integer({ min: 0, max: 3 }),
  timeout: fc.integer({ min: 200, max: 15_000 }),
});
