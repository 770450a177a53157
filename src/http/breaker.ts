import { isBetween } from '../deadline.js';
import { MarketgateError } from '../errors.js';
import { WITHOUT_ANSWER } from './meanings.js';

/** Calls in a row that must fail before it opens. */
export const FAILURES = 5;
/** Milliseconds that it stays open: at first, and at most; doubles while the service is down. */
const RESTS = { firstRest: 2000, longestRest: 30_000 };

/** How a call ended, for the breaker: `unknown` when the caller left before that was known. */
export type CallEnd = 'answered' | 'failed' | 'unknown';

/**
 * A circuit breaker, so that an outage costs the first few callers the timeout, and all after them
 * nothing. After some failures in a row it refuses at once; after its rest one call, the probe, may try,
 * and decides for all.
 *
 * Not cockatiel's: that one reads `Date.now` and not `clock`, and does not say when it will try again,
 * which `Retry-After` needs.
 */
export class Breaker {
  readonly #clock: () => number;
  readonly #rests: typeof RESTS;
  #failures = 0;
  #rest: number;
  #openedAt = 0;
  #openUntil: number | undefined;
  #isProbing = false;

  /** @param clock milliseconds. */
  constructor(clock: () => number, rests = RESTS) {
    this.#clock = clock;
    this.#rests = rests;
    this.#rest = rests.firstRest;
  }

  /**
   * Lets a call through, or not. A call that is let through must {@link leave}.
   * @returns whether it is the probe.
   * @throws MarketgateError `service_unavailable` with `retryAfter`, while it is open.
   */
  enter(what: string): boolean {
    if (this.#openUntil === undefined) return false;
    const now = this.#clock();
    const left = isBetween(this.#openedAt, now, this.#openUntil) ? this.#openUntil - now : 0;
    if (left > 0 || this.#isProbing) {
      const retryAfter = left > 0 ? Math.ceil(left / 1000) : 1;
      throw new MarketgateError(
        WITHOUT_ANSWER.notReached,
        `${what}: not sent, because the service has failed ${this.#failures} times in a row; it will be tried again in about ${retryAfter} s`,
        { retryAfter },
      );
    }
    this.#isProbing = true;
    return true;
  }

  /** Whether it has opened: then no call is retried, the probe included. */
  get isOpen(): boolean {
    return this.#openUntil !== undefined;
  }

  /** Notes how a call ended. */
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
    // A call that was in progress when it opened says nothing new.
    const opens = isProbe || (this.#openUntil === undefined && this.#failures >= FAILURES);
    if (!opens) return;
    this.#openedAt = this.#clock();
    this.#openUntil = this.#openedAt + this.#rest;
    this.#rest = Math.min(this.#rest * 2, this.#rests.longestRest);
  }
}
