import fc from 'fast-check';
import type { Behaviour } from './simulated-service.js';

type Limits = { length?: number; retries: number; timeout: number };

/** What the service does to the first, the second, … request (the last goes on for ever), and a client. */
const planOf = (behaviour: fc.Arbitrary<Behaviour>, { length = 1, retries, timeout }: Limits) =>
  fc.record({
    schedule: fc.array(behaviour, { minLength: length, maxLength: 10 }),
    retries: fc.integer({ min: 0, max: retries }),
    timeout: fc.integer({ min: timeout, max: 15_000 }),
  });

const quickly = (...answers: Behaviour['answer'][]): fc.Arbitrary<Behaviour> =>
  fc.record({ answer: fc.constantFrom(...answers), after: fc.integer({ min: 0, max: 200 }) });

export const plan = planOf(
  fc.record({
    answer: fc.constantFrom(
      ...(['positive', 'negative', '500', 'reset', 'hang', 'page', '429'] as const),
    ),
    after: fc.oneof(fc.integer({ min: 0, max: 50 }), fc.integer({ min: 0, max: 12_000 })),
    retryAfter: fc.integer({ min: 0, max: 20 }),
  }),
  { retries: 6, timeout: 20 },
);

/** A {@link plan} that was drawn. */
export type Plan = typeof plan extends fc.Arbitrary<infer T> ? T : never;

/** Every request fails, and can be repeated. */
export const onlyFailures = planOf(quickly('500', 'reset'), { retries: 6, timeout: 20 });
