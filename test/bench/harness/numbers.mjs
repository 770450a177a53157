const sort = (numbers) => [...numbers].sort((a, b) => a - b);

/** The number that this share of the others is below. */
export function quantile(numbers, share) {
  const sorted = sort(numbers);
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)];
}

export function median(numbers) {
  const sorted = sort(numbers);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** A number with three significant digits. */
export const short = (number) =>
  Math.abs(number) >= 100 ? Math.round(number).toLocaleString('en') : number.toPrecision(3);
