import { NoAnswer, withTimeout } from '../deadline.js';
import { isMarketgateError, MarketgateError } from '../errors.js';

/** The deadline of one call to a store of the app, in milliseconds. */
const DEADLINE = 2000;

/**
 * The most calls of one guard that the store has not answered, those past their deadline included. While a server hangs,
 * its client keeps every command in memory.
 */
const MAX_UNANSWERED = 10_000;

/**
 * The one way to call a store. Each call has a deadline, and each failure is `store_unavailable`, with neither the message
 * of the store's own error nor that error as its cause.
 */
export class StoreGuard {
  #unanswered = 0;

  /**
   * @param name - of the store, for the error, as in "tokenStore".
   * @param deadline - of one call, in milliseconds.
   */
  constructor(
    private readonly name: string,
    private readonly deadline = DEADLINE,
  ) {}

  /**
   * @param method - for the error, as in "get".
   * @param work - makes the call. It can ask whether the caller has its error already: what it gets then, nobody takes.
   * @throws MarketgateError `store_unavailable`.
   */
  async call<T>(method: string, work: (isOver: () => boolean) => T | Promise<T>): Promise<T> {
    let isOver = false;
    try {
      if (this.#unanswered >= MAX_UNANSWERED) {
        throw new NoAnswer('was not sent, because too many calls are unanswered');
      }
      return await withTimeout(this.deadline, async () => {
        this.#unanswered++;
        try {
          return await work(() => isOver);
        } finally {
          this.#unanswered--;
        }
      });
    } catch (error) {
      throw storeUnavailable(`${this.name}.${method}`, error);
    } finally {
      isOver = true;
    }
  }
}

/** The errors made here. They hold no secrets, so the guard of an outer store passes them on. */
const made = new WeakSet<object>();

function storeUnavailable(name: string, error: unknown): unknown {
  if (made.has(error as object)) return error;
  const message = `${name} ${describeFailure(error)}; look at the store and its connection`;
  const failure = new MarketgateError('store_unavailable', message);
  made.add(failure);
  return failure;
}

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
