import { describe, expect, it } from 'vitest';
import { allPairs, type Factor, pairsOf, shows } from './all-pairs.js';

const factors: Factor[] = [
  { name: 'paint', values: ['red', 'green', 'blue'] },
  { name: 'size', values: [1, 2, 3] },
  { name: 'lamp', values: [false, true] },
  { name: 'night', values: [false, true] },
];
const never = (): boolean => false;

describe('all pairs', () => {
  it('counts them: each value of one switch with each of another', () => {
    expect(pairsOf(factors)).toHaveLength(3 * 3 + 3 * 2 + 3 * 2 + 3 * 2 + 3 * 2 + 2 * 2);
  });

  it('are all shown, in far fewer rows than there are settings', () => {
    const rows = allPairs(factors, never);
    for (const pair of pairsOf(factors)) {
      expect(rows.some((row) => shows(row, pair, never))).toBe(true);
    }
    expect(rows.length).toBeLessThanOrEqual(12);
  });

  it('are shown where nothing hides them', () => {
    const hides = (name: string, value: unknown): boolean => name === 'night' && value === true;
    const rows = allPairs(factors, hides);
    for (const pair of pairsOf(factors)) {
      const shown = rows.filter((row) => shows(row, pair, hides));
      expect(shown.length).toBeGreaterThan(0);
      const isAtNight = pair.b[0] === 'night' && pair.b[1] === true;
      expect(shown.every((row) => row.night === isAtNight || pair.b[0] === 'night')).toBe(true);
    }
  });

  it('set every switch in every row', () => {
    for (const row of allPairs(factors, never)) {
      expect(Object.keys(row).sort()).toEqual(['lamp', 'night', 'paint', 'size']);
    }
  });

  it('are the same every time', () => {
    expect(allPairs(factors, never)).toEqual(allPairs(factors, never));
  });
});
