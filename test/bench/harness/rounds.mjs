import { isDeepStrictEqual } from 'node:util';

/** Rounds of every row: in each, every variant is measured once, in a fresh process. */
export const ROUNDS = 7;

/** Whether rows that can take as long as one likes take as long as they should. */
export const IS_LONG = process.argv.includes('--long');

/**
 * Measures all variants of a row, interleaved: what else the machine does meanwhile meets all alike.
 * Every other round goes backwards, so that nobody is always first.
 *
 * A sample is an object of numbers, one per metric, and an `answer`, which must be the same for all
 * variants that are in one group.
 *
 * @returns {Promise<Map<string, object[]>>} the samples of each variant, in the order of the rounds.
 */
export async function measureRounds(row, context, rounds = ROUNDS) {
  const names = Object.keys(row.variants);
  const samples = new Map(names.map((name) => [name, []]));
  const answers = new Map();
  for (let round = 0; round < rounds; round++) {
    for (const name of round % 2 === 0 ? names : names.toReversed()) {
      const { answer, ...numbers } = await row.measure(row.variants[name], context);
      const group = row.groupOf?.(name) ?? '';
      if (!answers.has(group)) answers.set(group, answer);
      if (!isDeepStrictEqual(answers.get(group), answer)) {
        throw new Error(`${row.name}: "${name}" answered otherwise: ${JSON.stringify(answer)}`);
      }
      samples.get(name).push(numbers);
    }
    process.stdout.write('.');
  }
  process.stdout.write('\n');
  return samples;
}
