import { timingSafeEqual } from 'node:crypto';

/** Compares secrets without telling by the time it takes how much of them was right. */
export function isSameSecret(given: string, expected: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(expected)];
  return a.length === b.length && timingSafeEqual(a, b);
}
