import { limited, NoAnswer } from '../deadline.js';
import { isMarketgateError, MarketgateError } from '../errors.js';

/** The errors of {@link storeCall}. They hold no secrets, so they are not wrapped again. */
const failures = new WeakSet<object>();

/** Codes at the beginning of the messages of Redis that say what to do. */
const REDIS_CODES = new Set<unknown>(
  'ASK BUSY CLUSTERDOWN CROSSSLOT LOADING MASTERDOWN MISCONF MOVED NOAUTH NOPERM NOREPLICAS OOM READONLY TRYAGAIN UNBLOCKED WRONGPASS WRONGTYPE'.split(
    ' ',
  ),
);

/**
 * Why a call failed, without secrets: the class and code of a store's error. Never its message, into which drivers
 * put the whole command, and with it the token.
 */
function describeFailure(error: unknown): string {
  try {
    if (error instanceof NoAnswer) return error.message;
    if (isMarketgateError(error)) return `failed (${error.code})`;
    const { message, name, code } = error as Error & { code?: unknown };
    const [first] = message.split(' ', 1);
    if (REDIS_CODES.has(first)) return `failed (${first})`;
    const kind = /^[A-Za-z]{0,34}Error$/.test(name) ? name : 'Error';
    // As in ECONNREFUSED, ERR_SOCKET_CLOSED, 57P01.
    const isCode = typeof code === 'string' && /^[A-Z0-9_]{2,32}$/.test(code);
    return `failed (${kind}${isCode ? `, ${code}` : ''})`;
  } catch {
    // It is not an Error, so it has no message, or one of its getters throws.
    return 'failed';
  }
}

/**
 * Makes one call to a store. Every failure becomes `store_unavailable`, with neither the message of the store's own
 * error nor that error as its cause.
 *
 * @param name - the store and its method, as in "KeyvTokenStore.get".
 */
export async function storeCall<T>(name: string, run: () => T | Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (failures.has(error as object)) throw error;
    const message = `${name} ${describeFailure(error)}; look at the store and its connection`;
    const failure = new MarketgateError('store_unavailable', message);
    failures.add(failure);
    throw failure;
  }
}

/** The deadline of one call to a store of the app, in milliseconds. */
const DEADLINE = 2000;

/** One for each store, so that its unanswered calls are counted together. */
const runners = new WeakMap<object, ReturnType<typeof limited>>();

/**
 * Makes the function that calls a store of the app. Each call has a deadline: that of the store itself, if it has one.
 *
 * @param name - for the error, as in "tokenStore".
 */
export function guardedCalls(name: string, store: object) {
  const run = runners.get(store) ?? limited(store, DEADLINE);
  runners.set(store, run);
  return <T>(method: string, work: () => T | Promise<T>): Promise<T> =>
    storeCall(`${name}.${method}`, () => run(work));
}
