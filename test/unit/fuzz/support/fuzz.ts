import fc from 'fast-check';
import { it } from 'vitest';

/** Cases of each test. `npm run fuzz` sets more, and another seed. */
const CASES = Number(process.env.FUZZ_CASES ?? 60);

/** A test of what must hold, whatever comes in. */
export function fuzz<Args>(title: string, property: fc.IAsyncProperty<Args>): void {
  const run = () => fc.assert(property, { numRuns: CASES });
  // For one that hangs: a case takes some ten milliseconds, and many times that on a busy machine.
  it(`whatever comes in: ${title}`, run, 60_000 + CASES * 1000);
}
