import { inspect } from 'node:util';
import { isMarketgateError, type MarketgateError } from 'marketgate';
import { expect } from 'vitest';

export { everythingOf } from './secrets/support/everything-of.js';

/** The MarketgateError that a promise rejects with; fails the test when it does not. */
export async function rejection(promise: Promise<unknown>): Promise<MarketgateError> {
  const error = await promise.then(
    (value) => new Error(`it gave ${inspect(value)}`),
    (error: unknown) => error,
  );
  if (!isMarketgateError(error)) throw new Error(`not a MarketgateError: ${inspect(error)}`);
  return error;
}

/** A call rejects with an error of this code, whose message says all of this. */
export async function expectError(
  call: Promise<unknown>,
  code: string,
  ...says: (string | RegExp)[]
): Promise<void> {
  const error = await rejection(call);
  expect(error.code).toBe(code);
  for (const each of says) expect(error.message).toMatch(each);
}

/** A function that throws this. */
export const throwing = (error: unknown) => (): never => {
  throw error;
};
