import { isMarketgateError, type MarketgateErrorCode } from 'marketgate';
import type { Documented, Fact } from './facts/fact.js';

/** How a call ended: an answer, `null` or `[]`, or an error. */
export type Ending =
  | { readonly end: 'positive'; readonly value: unknown }
  | { readonly end: 'negative' }
  | { readonly end: MarketgateErrorCode; readonly retryAfter?: number | undefined }
  | { readonly end: 'TypeError' };

/** Waits for a call, and says how it ended. */
export async function endingOf(call: () => Promise<unknown>): Promise<Ending> {
  try {
    const value = await call();
    const isNegative = value === null || (Array.isArray(value) && value.length === 0);
    return isNegative ? { end: 'negative' } : { end: 'positive', value };
  } catch (error) {
    if (error instanceof TypeError) return { end: 'TypeError' };
    if (!isMarketgateError(error)) throw error;
    return { end: error.code, retryAfter: error.retryAfter };
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
    return Object.fromEntries(
      Object.entries(value).map(([key, inner]) => [key, comparable(inner, key)]),
    );
  }
  return TIMES.has(name) && typeof value === 'string' ? Date.parse(value) : value;
}

/** The documented record of a kind, as it is where these facts hold. */
export function changed(documented: Documented, kinds: readonly string[], facts: readonly Fact[]) {
  let record = documented;
  for (const { changes } of facts) {
    for (const kind of kinds) record = changes?.[kind]?.(record) ?? record;
  }
  return record;
}
