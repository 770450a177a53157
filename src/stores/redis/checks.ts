/** Redis takes whole milliseconds, and not more than fit into 64 bits together with the present. */
const LONGEST = Number.MAX_SAFE_INTEGER;

/**
 * A lifetime as Redis takes it: rounded up, so that nothing ends early. Zero or less means that it is
 * over already.
 */
export const wholeMilliseconds = (ttl: number): number => Math.min(Math.ceil(ttl), LONGEST);

/**
 * @throws TypeError for what is no finite number: it would be kept for ever, or not at all.
 */
export function checkTtl(call: string, ttl: unknown): number {
  if (typeof ttl === 'number' && Number.isFinite(ttl)) return wholeMilliseconds(ttl);
  throw new TypeError(`${call}: "ttl" must be a finite number (milliseconds)`);
}
