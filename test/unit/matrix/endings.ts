import { isMarketgateError, type MarketgateErrorCode } from 'marketgate';

/** How a call ended: an answer, `null` or `[]`, or an error. */
type Ending =
  | { readonly end: 'positive'; readonly value: unknown }
  | { readonly end: 'negative' }
  | { readonly end: MarketgateErrorCode | 'TypeError' };

/** Waits for a call, and says how it ended. */
export async function endingOf(call: () => Promise<unknown>): Promise<Ending> {
  try {
    const value = await call();
    const isNegative = value === null || (Array.isArray(value) && value.length === 0);
    return isNegative ? { end: 'negative' } : { end: 'positive', value };
  } catch (error) {
    if (error instanceof TypeError) return { end: 'TypeError' };
    if (!isMarketgateError(error)) throw error;
    return { end: error.code };
  }
}

const TIMES = new Set(['published_at', 'supported_until', 'date', 'registered_at']);

/**
 * A record with its timestamps as instants: the same moment may be written in two ways. What is no
 * string stays as it is, and so differs.
 */
export function comparable(value: unknown, name = ''): unknown {
  if (Array.isArray(value)) return value.map((element) => comparable(element));
  if (typeof value === 'object' && value !== null) {
    const entries = Object.entries(value);
    return Object.fromEntries(entries.map(([key, inner]) => [key, comparable(inner, key)]));
  }
  return TIMES.has(name) && typeof value === 'string' ? Date.parse(value) : value;
}
