/**
 * Seconds from a `Retry-After` header (RFC 9110, section 10.2.3), which is either a number of
 * seconds or a date. `undefined` when there is none or it cannot be read.
 */
export function parseRetryAfter(header: string | undefined, now: number): number | undefined {
  const text = header?.trim();
  if (text === undefined || text === '') return undefined;
  if (/^\d+$/.test(text)) {
    const seconds = Number(text);
    return Number.isSafeInteger(seconds) ? seconds : undefined;
  }
  // Only the forms of an HTTP date: Date.parse makes something of "-5", "1.5" and "Thu, 99 Jan" too.
  if (!/^[A-Za-z]{3,9},? .*\d\d:\d\d:\d\d/.test(text)) return undefined;
  const at = Date.parse(text);
  return Number.isNaN(at) ? undefined : Math.max(0, Math.ceil((at - now) / 1000));
}
