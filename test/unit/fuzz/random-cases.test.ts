import assert from 'node:assert/strict';
import fc from 'fast-check';
import { expect, it } from 'vitest';

it.skipIf(process.env.FUZZ_CASES)('random cases of tests are the same in every run', () => {
  const draw = () => {
    const drawn: number[] = [];
    fc.assert(fc.property(fc.integer(), (n) => void drawn.push(n)));
    return drawn;
  };
  expect(draw()).toEqual(draw());
});

it('random cases that fail give the cause first, then the seed, and then a shortened input', async () => {
  const wide = fc.string({ minLength: 3000, maxLength: 4000 });
  const failed = fc.assert(
    fc.asyncProperty(wide, async () => {
      assert.fail('a text of 3000 characters is refused');
    }),
  );
  const cause = expect.objectContaining({ message: 'a text of 3000 characters is refused' });
  await expect(failed).rejects.toMatchObject({ cause });
  await expect(failed).rejects.toThrow(
    /^AssertionError.*: a text of 3000 characters is refused\nseed \d+, path "[\d:]+", after \d+ cases\nSmallest input: \[".{1,1000}$/,
  );
});
