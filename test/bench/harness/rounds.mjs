import { isDeepStrictEqual } from 'node:util';

/**
 * Measures a row: in each round each of its cases once, by hand and with marketgate, each in a fresh process. Every other
 * round goes backwards, so that neither side is always first.
 *
 * A sample has a number for each metric of the row, and an `answer`, which must be the same on both sides.
 *
 * @returns {Promise<Map<string, { byHand: object, marketgate: object }[]>>} the samples of each case.
 */
export async function measureRow(row, rounds) {
  const cases = Object.entries(row.cases ?? { '': {} });
  const samples = new Map(cases.map(([name]) => [name, []]));
  const context = await row.open?.();
  try {
    for (let round = 0; round < rounds; round++) {
      const isBackwards = round % 2 === 1;
      for (const [name, options] of isBackwards ? cases.toReversed() : cases) {
        const sample = await measureSides(row, options, context, isBackwards);
        const [byHand, marketgate] = [sample.byHand.answer, sample.marketgate.answer];
        if (!isDeepStrictEqual(byHand, marketgate)) {
          const answers = JSON.stringify({ byHand, marketgate });
          throw new Error(`${row.title}: the sides answer differently: ${answers}`);
        }
        samples.get(name).push(sample);
      }
    }
    return samples;
  } finally {
    await context?.close();
  }
}

/** Both sides: at once by a row that has `measureBoth`, else one after the other. */
async function measureSides(row, options, context, isBackwards) {
  if (row.measureBoth) return row.measureBoth(options, context);
  const sample = {};
  for (const side of isBackwards ? ['marketgate', 'byHand'] : ['byHand', 'marketgate']) {
    sample[side] = await row.measure({ ...options, side }, context);
  }
  return sample;
}
