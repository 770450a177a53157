import { type Deadline, LightSignal } from '../deadline.js';
import { isMarketgateError, type MarketgateError } from '../errors.js';

/** Milliseconds that a positive check of a key is remembered. */
const ACCEPTED_FOR = 5 * 60_000;
/** Shorter, so that a shop recovers soon after its key is corrected. */
const REJECTED_FOR = 60_000;
/** The greatest age of a check that lets a negative answer invalidate a positive one, in milliseconds. */
const RECENT = 5000;

/** Whether the service does not know the api_key. */
export const isKeyRejected = (error: unknown): error is MarketgateError =>
  isMarketgateError(error) && error.code === 'api_key_rejected';

interface Check {
  readonly key: string;
  /** Ends the request, when its last caller has left. */
  readonly signal: LightSignal;
  callers: number;
  readonly result: Promise<unknown>;
  /** When it began, by the clock for durations. */
  readonly at: number;
  /** Milliseconds for which it counts. */
  readonly life: number;
}

/**
 * Whether the service knows the api_key, remembered for some minutes. It must know the key before a negative
 * answer counts, because the service answers "Invalid purchase code" also to an unknown key.
 */
export class KeyCheck {
  #remembered: Check | undefined;
  #inFlight: Check | undefined;

  /** @param getAccount requests account/details: only a known key gets an answer. */
  constructor(
    private readonly clock: () => number,
    private readonly getAccount: (key: string, signal: LightSignal) => Promise<unknown>,
  ) {}

  /**
   * Resolves when the service knows the key; rejects when it does not, or cannot be asked. Concurrent
   * callers share one request.
   * @param caller the deadline of the waiting call; it ends only that call's wait.
   * @param isDoubted whether only a recent check counts: the negative answer would invalidate a positive one, or
   * blames the key.
   */
  confirm(key: string, caller: Deadline, isDoubted = false): Promise<unknown> {
    const counts = (check: Check | undefined): check is Check =>
      check?.key === key &&
      this.clock() - check.at < (isDoubted ? Math.min(check.life, RECENT) : check.life);
    // What is remembered counts also while it is checked again, because an outage says nothing about the key.
    if (counts(this.#remembered)) return this.#remembered.result;
    if (counts(this.#inFlight) && !this.#inFlight.signal.aborted)
      return join(this.#inFlight, caller);
    const signal = new LightSignal();
    const result = this.getAccount(key, signal);
    const check = this.#check(key, result, Number.POSITIVE_INFINITY, signal);
    this.#inFlight = check;
    void this.note(key, result).then(() => {
      if (this.#inFlight === check) this.#inFlight = undefined;
    });
    return join(check, caller);
  }

  /** Remembers the result of a request of account/details. Never rejects. */
  async note(key: string, result: Promise<unknown>): Promise<void> {
    let life = ACCEPTED_FOR;
    try {
      await result;
    } catch (error) {
      if (!isKeyRejected(error)) return;
      life = REJECTED_FOR;
    }
    this.#remembered = this.#check(key, result, life);
  }

  #check(key: string, result: Promise<unknown>, life: number, signal = new LightSignal()): Check {
    return { key, signal, callers: 0, result, at: this.clock(), life };
  }
}

/**
 * Waits for a check. Its request ends when the last caller aborts. A caller whose deadline elapses aborts nothing, so that
 * a slow answer is remembered: that is why it is no `InFlight`.
 */
function join(check: Check, caller: Deadline): Promise<unknown> {
  check.callers++;
  caller.addListener((reason) => {
    check.callers--;
    if (caller.isAbortedByCaller && check.callers === 0) check.signal.abort(reason);
  });
  return caller.race(check.result);
}
