import { DeadlineExceeded, SELF_LIMITED, TimeLimit, TooManyCalls } from '../deadline.js';
import { isMarketgateError, MarketgateError } from '../errors.js';

/** The errors made here. They hold no secrets, so callers do not wrap them again. */
const made = new WeakSet<object>();

/**
 * A store's failure as `store_unavailable`. It keeps neither the message of the store's own error nor that
 * error as its cause: drivers put the whole command into it, and with it the token.
 *
 * @param call - the call, as in "KeyvTokenStore.get".
 * @param problem - what happened, as in "failed (Error, ECONNREFUSED)".
 */
export function storeFailure(call: string, problem: string): MarketgateError {
  const failure = new MarketgateError(
    'store_unavailable',
    `${call} ${problem}; look at the store and its connection`,
  );
  made.add(failure);
  return failure;
}

/** Whether {@link storeFailure} made this error. `has` is false for what is no object. */
const isStoreFailure = (error: unknown): boolean => made.has(error as object);

/** The class and code of a store's error, which reveal no secret. */
export function describeFailure(error: unknown): string {
  if (isMarketgateError(error)) return `failed (${error.code})`;
  if (!(error instanceof Error)) return 'failed';
  const { code } = error as { code?: unknown };
  const name = /^[A-Za-z]{0,34}Error$/.test(error.name) ? error.name : 'Error';
  // As in ECONNREFUSED, ERR_SOCKET_CLOSED, 57P01.
  const isCode = typeof code === 'string' && /^[A-Z0-9_]{2,32}$/.test(code);
  return `failed (${name}${isCode ? `, ${code}` : ''})`;
}

/** The deadline of one call to a store of the app, in milliseconds. */
const DEADLINE = 2000;

/**
 * Calls to a store. Each has a deadline (that of the store itself, if it has one), and each failure is
 * `store_unavailable`.
 */
export class StoreGuard {
  readonly #name: string;
  readonly #limit: TimeLimit | undefined;

  /** @param name - for the error, as in "tokenStore". */
  constructor(name: string, store: object) {
    this.#name = name;
    this.#limit = SELF_LIMITED.has(store) ? undefined : new TimeLimit(DEADLINE);
  }

  async call<T>(method: string, run: () => T | Promise<T>): Promise<T> {
    try {
      return await (this.#limit ? this.#limit.run(run) : run());
    } catch (error) {
      if (isStoreFailure(error)) throw error;
      if (error instanceof DeadlineExceeded) {
        throw this.failure(method, `did not answer within ${DEADLINE} ms`);
      }
      if (error instanceof TooManyCalls) {
        throw this.failure(method, 'has left too many calls unanswered');
      }
      throw this.failure(method, describeFailure(error));
    }
  }

  /** As {@link storeFailure}, of a call to this store. */
  failure(method: string, problem: string): MarketgateError {
    return storeFailure(`${this.#name}.${method}`, problem);
  }
}
