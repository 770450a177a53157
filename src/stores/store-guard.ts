import { NoAnswer, withTimeout } from '../deadline.js';
import { isMarketgateError, MarketgateError } from '../errors.js';

/** The deadline of one call to a store of the app, in milliseconds. */
const DEADLINE = 2000;

/**
 * The one way to call a store. Each call has a deadline, and each failure is `store_unavailable`, with neither the message
 * of the store's own error nor that error as its cause.
 *
 * @param name - of the store and its method, for the error, as in "tokenStore.get".
 * @param work - makes the call.
 * @param deadline - in milliseconds.
 * @param undo - gets a result that comes after the deadline.
 * @throws MarketgateError `store_unavailable`.
 */
export async function callStore<T>(
  name: string,
  work: () => T | Promise<T>,
  deadline = DEADLINE,
  undo?: (result: T) => unknown,
): Promise<T> {
  try {
    return await withTimeout(deadline, work, undo);
  } catch (error) {
    // Of a store inside this one, or a store author's own.
    if (isMarketgateError(error) && error.code === 'store_unavailable') throw error;
    const message = `${name} ${describeFailure(error)}; look at the store and its connection`;
    throw new MarketgateError('store_unavailable', message);
  }
}

/** Codes at the beginning of the messages of Redis that say what to do. */
const REDIS_CODES =
  /^(?:ASK|BUSY|CLUSTERDOWN|CROSSSLOT|LOADING|MASTERDOWN|MISCONF|MOVED|NOAUTH|NOPERM|NOREPLICAS|OOM|READONLY|TRYAGAIN|UNBLOCKED|WRONGPASS|WRONGTYPE)(?= )/;

/**
 * Why a call failed, without secrets: the class and code of a store's error. Never its message, into which drivers
 * put the whole command, and with it the token.
 */
function describeFailure(error: unknown): string {
  if (error instanceof NoAnswer) return error.message;
  const { message, name, code }: Partial<Record<string, unknown>> = Object(error);
  const [redisCode] = REDIS_CODES.exec(String(message)) ?? [];
  if (redisCode !== undefined) return `failed (${redisCode})`;
  const kind = /^[A-Za-z]{0,34}Error$/.test(String(name)) ? name : 'Error';
  // As in ECONNREFUSED, ERR_SOCKET_CLOSED, 57P01.
  const isCode = typeof code === 'string' && /^[A-Z0-9_]{2,32}$/.test(code);
  return `failed (${kind}${isCode ? `, ${code}` : ''})`;
}
