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

/** The number that so much of the others is below. */
export function quantile(numbers, share) {
  const sorted = [...numbers].sort((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)];
}

/**
 * The highest slope that the straight line through some points can have, by least squares: the upper end of the 95 % in
 * which it lies if they scatter at random.
 */
export function highestSlope(points) {
  const mean = (of) => points.reduce((sum, point) => sum + of(point), 0) / points.length;
  const [x, y] = [mean((point) => point.x), mean((point) => point.y)];
  const width = mean((point) => (point.x - x) ** 2);
  const slope = mean((point) => (point.x - x) * (point.y - y)) / width;
  const rest = mean((point) => (point.y - y - slope * (point.x - x)) ** 2);
  const error = 2 * Math.sqrt(rest / width / (points.length - 2));
  return slope + error;
}

/** A number with three digits that say something. */
export const short = (number) =>
  Math.abs(number) >= 100 ? Math.round(number).toLocaleString('en') : number.toPrecision(3);
