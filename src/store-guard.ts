import { NoAnswer, withTimeout } from './deadline.js';
import { isMarketgateError, MarketgateError } from './errors.js';

/** The limit of one call to a store of the app, in milliseconds. */
const TIMEOUT = 2000;

/**
 * The one way to call a store of the app. Each call has a limit of time, which is the only one around a store, and each failure is
 * `store_unavailable`.
 *
 * @param name - of the store and its method, for the error, as in "tokenStore.get".
 * @param work - makes the call.
 * @param timeout - in milliseconds.
 * @throws MarketgateError `store_unavailable`.
 */
export const callStore = <T>(
  name: string,
  work: () => T | Promise<T>,
  timeout = TIMEOUT,
): Promise<T> => reportFailure(name, () => withTimeout(timeout, work));

/**
 * Makes a call of a store itself, without a limit of time.
 * @throws MarketgateError `store_unavailable`.
 */
export async function reportFailure<T>(name: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw storeFailure(name, error);
  }
}

/**
 * The error for a failed call to a store, with neither the message of the store's own error nor that error as its cause:
 * drivers put the whole command into it, and with that the token.
 *
 * @param name - of the store and its method, as in "tokenStore.get".
 * @param words - what the error says, if it is known. Default: the class and the code of the error.
 */
export function storeFailure(name: string, error: unknown, words?: string): MarketgateError {
  // Of a store inside this one, or a store author's own.
  if (isMarketgateError(error) && error.code === 'store_unavailable') return error;
  const what =
    error instanceof NoAnswer ? error.message : `failed (${words ?? describeError(error)})`;
  const message = `${name} ${what}; look at the store and its connection`;
  return new MarketgateError('store_unavailable', message);
}

function describeError(error: unknown): string {
  const { name, code }: Partial<Record<string, unknown>> = Object(error);
  const kind = /^[A-Za-z]{0,34}Error$/.test(String(name)) ? name : 'Error';
  // As in ECONNREFUSED, ERR_SOCKET_CLOSED, 57P01, and MongoDB's 11000.
  const isCode = /^[A-Z0-9_]{2,32}$/.test(String(code));
  return `${kind}${isCode ? `, ${code}` : ''}`;
}
