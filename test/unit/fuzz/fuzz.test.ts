import assert from 'node:assert/strict';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { runBatch, target } from '../../fuzz/support/fuzz.js';
import { allTargets } from '../../fuzz/targets/index.js';

// A slice of `npm run fuzz`, with the same seed each time.
const CASES = 60;

const targets = await allTargets();

it.each(targets.map((target) => [target.name, target.what, target] as const))(
  'whatever comes in: %s: %s',
  async (_name, _what, target) => {
    const { cases, failure } = await runBatch(target, { seed: 1, cases: CASES });
    assert.equal(failure, undefined, failure);
    expect(cases).toBe(CASES);
  },
);

describe('random cases of tests', () => {
  it('are the same in every run', () => {
    const draw = () => {
      const drawn: number[] = [];
      fc.assert(
        fc.property(fc.integer(), (n) => {
          drawn.push(n);
        }),
      );
      return drawn;
    };
    expect(draw()).toEqual(draw());
  });

  const wide = () =>
    fc.asyncProperty(fc.string({ minLength: 3000, maxLength: 4000 }), async (text) => {
      assert.ok(text.length < 3000, 'a text of 3000 characters is refused');
    });

  const report = [
    /^AssertionError.*: a text of 3000 characters is refused\n/,
    /\nseed \d+, path "[\d:]+", after \d+ cases\n/,
    /\nSmallest input: \[".{1,1000}$/,
  ];

  it('that fail give the cause first, then the seed, and then a shortened input', async () => {
    const failed = fc.assert(wide());
    for (const part of report) await expect(failed).rejects.toThrow(part);
    const cause = expect.objectContaining({ message: 'a text of 3000 characters is refused' });
    await expect(failed).rejects.toMatchObject({ cause });
  });

  it('that fail in a fuzz run give also the command that repeats them', async () => {
    const { failure } = await runBatch(target('wide', '', wide), { seed: 5, cases: 10 });
    for (const part of report) expect(failure).toMatch(part);
    expect(failure).toMatch(/\nnpm run fuzz -- --target wide --seed 5 --path [\d:]+\n/);
  });
});
