import { randomInt } from 'node:crypto';
import { expect, it } from 'vitest';
import { runBatch } from '../../fuzz/support/fuzz.js';
import { allTargets } from '../../fuzz/targets/index.js';

// A slice of `npm run fuzz`, with another seed each time; a failure says which.
const CASES = 60;

const targets = await allTargets();

it.each(targets.map((target) => [target.name, target.what, target] as const))(
  'whatever comes in: %s: %s',
  async (_name, _what, target) => {
    const { cases, failure } = await runBatch(target, { seed: randomInt(2 ** 31), cases: CASES });
    expect(failure).toBeUndefined();
    expect(cases).toBe(CASES);
  },
);
