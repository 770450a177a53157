/** The middle of some numbers. */
export function median(numbers) {
  const sorted = [...numbers].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** The middle half: from the first to the third quartile. */
export function middleHalf(numbers) {
  const sorted = [...numbers].sort((a, b) => a - b);
  const at = (share) => sorted[Math.round(share * (sorted.length - 1))];
  return [at(0.25), at(0.75)];
}

/** A number with three digits that say something. */
export const short = (number) =>
  Math.abs(number) >= 100 ? Math.round(number).toLocaleString('en') : number.toPrecision(3);
