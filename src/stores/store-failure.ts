import { isMarketgateError, MarketgateError } from '../errors.js';

/** The errors made here: known to be clean, so they are not wrapped again on their way up. */
const made = new WeakSet<object>();

/**
 * A store's failure as `store_unavailable`. Neither the text of the store's own error is kept nor the
 * error as a cause: drivers put the whole command into it, and with it the token.
 *
 * @param call which call it was, as in "KeyvTokenStore.get".
 * @param problem what was seen, as in "failed (Error, ECONNREFUSED)".
 */
export function storeFailure(call: string, problem: string): MarketgateError {
  const failure = new MarketgateError(
    'store_unavailable',
    `${call} ${problem}; look at the store and its connection`,
  );
  made.add(failure);
  return failure;
}

/** Whether this error came out of {@link storeFailure}. */
export function isStoreFailure(error: unknown): error is MarketgateError {
  // Asked about what is no object, a WeakSet says no.
  return made.has(error as object);
}

/** The class and code of a store's error: enough to find it, too little to give anything away. */
export function describeFailure(error: unknown): string {
  if (isMarketgateError(error)) return `failed (${error.code})`;
  if (!(error instanceof Error)) return 'failed';
  const { code } = error as { code?: unknown };
  const name = /^[A-Za-z]{0,34}Error$/.test(error.name) ? error.name : 'Error';
  // ECONNREFUSED, ERR_SOCKET_CLOSED, 57P01: a code is capitals and digits, and short.
  const known = typeof code === 'string' && /^[A-Z0-9_]{2,32}$/.test(code);
  return `failed (${name}${known ? `, ${code}` : ''})`;
}
