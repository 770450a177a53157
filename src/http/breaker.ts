import { MarketgateError } from '../errors.js';
import { WITHOUT_ANSWER } from './meanings.js';

/** Calls in a row that must fail before it opens. */
export const FAILURES = 5;
/** How long it stays open, in milliseconds: at first, and at most; doubles while the service is down. */
const RESTS = { firstRest: 2000, longestRest: 30_000 };

/** How a call ended, for the breaker: `unknown` when the caller left before that was known. */
export type CallEnd = 'answered' | 'failed' | 'unknown';

/**
 * A circuit breaker, so that an outage costs the first few callers the timeout, and everyone after
 * them nothing. After some failures in a row it refuses at once; when its rest is over, one call may
 * try, and decides for all.
 *
 * Our own and not cockatiel's: that one reads `Date.now` and cannot be driven by `clock`, does not say
 * when it will try again, which `Retry-After` needs, and its policies would wrap what is here a dozen
 * lines.
 */
export class Breaker {
  readonly #clock: () => number;
  readonly #rests: typeof RESTS;
  #failures = 0;
  #rest: number;
  #openUntil: number | undefined;
  #isProbing = false;

  /** @param clock milliseconds; never goes back. */
  constructor(clock: () => number, rests = RESTS) {
    this.#clock = clock;
    this.#rests = rests;
    this.#rest = rests.firstRest;
  }

  /**
   * Lets a call through, or not. Whoever is let through must {@link leave}.
   * @returns whether it is the one call that tries an open breaker.
   * @throws MarketgateError `service_unavailable` with `retryAfter`, while it is open.
   */
  enter(what: string): boolean {
    if (this.#openUntil === undefined) return false;
    const left = this.#openUntil - this.#clock();
    const rests = left > 0;
    if (rests || this.#isProbing) {
      const retryAfter = rests ? Math.ceil(left / 1000) : 1;
      throw new MarketgateError(
        WITHOUT_ANSWER.notReached,
        `${what}: not sent, for the service has failed ${this.#failures} times in a row; it will be tried again in about ${retryAfter} s`,
        { retryAfter },
      );
    }
    this.#isProbing = true;
    return true;
  }

  /**
   * Whether it has opened, which a call that would try again must look for. It is open for the one that
   * tries whether the service is back as well, which so tries once.
   */
  get isOpen(): boolean {
    return this.#openUntil !== undefined;
  }

  /** Takes in how a call ended. */
  leave(isProbe: boolean, end: CallEnd): void {
    if (isProbe) this.#isProbing = false;
    if (end === 'unknown') return;
    if (end === 'answered') {
      this.#failures = 0;
      this.#rest = this.#rests.firstRest;
      this.#openUntil = undefined;
      return;
    }
    this.#failures++;
    // A call that was under way when it opened says nothing new.
    const opens = isProbe || (this.#openUntil === undefined && this.#failures >= FAILURES);
    if (!opens) return;
    this.#openUntil = this.#clock() + this.#rest;
    this.#rest = Math.min(this.#rest * 2, this.#rests.longestRest);
  }
}
