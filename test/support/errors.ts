import { inspect } from 'node:util';
import { isMarketgateError, type MarketgateError } from 'marketgate';
import { expect } from 'vitest';

/** The MarketgateError that a promise rejects with; fails the test when it does not. */
export async function rejection(promise: Promise<unknown>): Promise<MarketgateError> {
  const outcome = await promise.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  );
  expect(outcome).toHaveProperty('error');
  const error = 'error' in outcome ? outcome.error : undefined;
  if (!isMarketgateError(error)) throw new Error(`not a MarketgateError: ${inspect(error)}`);
  return error;
}

/** Everything that a log could make of an error, its cause included. */
export function everythingOf(error: unknown): string {
  const parts = [inspect(error, { showHidden: true, depth: 10 }), String(error)];
  for (let e = error; e instanceof Error; e = e.cause) {
    parts.push(e.stack ?? '', e.message, JSON.stringify(e), JSON.stringify(Object.entries(e)));
  }
  return parts.join('\n');
}
