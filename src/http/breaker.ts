import { isBetween } from '../deadline.js';
import { MarketgateError } from '../errors.js';

/** Failures in a row that open the breaker. */
export const FAILURES = 5;
/** Milliseconds that the breaker stays open: at first, and at most. They double with each failed probe. */
const RESTS = { firstRest: 2000, longestRest: 30_000 };

/** How a call ended. `unknown`: the caller left first, or the error says nothing about the service. */
export type CallEnd = 'answered' | 'failed' | 'unknown';

/**
 * A circuit breaker: in an outage only the first few callers wait for the timeout. After some failures in
 * a row it opens and refuses calls at once. After its rest it lets one call through, the probe, whose
 * result closes it or opens it again.
 *
 * cockatiel's breaker does not fit: it uses `Date.now` instead of `clock`, and does not know when it will
 * try again, which `Retry-After` needs.
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
   * Lets a call through, which must then {@link leave}.
   * @returns whether the call is the probe.
   * @throws MarketgateError `service_unavailable` with `retryAfter`, while the breaker is open.
   */
  enter(what: string): boolean {
    if (this.#openUntil === undefined) return false;
    const now = this.#clock();
    const left = isBetween(this.#openedAt, now, this.#openUntil) ? this.#openUntil - now : 0;
    if (left > 0 || this.#isProbing) {
      const retryAfter = left > 0 ? Math.ceil(left / 1000) : 1;
      throw new MarketgateError(
        'service_unavailable',
        `${what}: not sent, because the service has failed ${this.#failures} times in a row; it will be tried again in about ${retryAfter} s`,
        { retryAfter },
      );
    }
    this.#isProbing = true;
    return true;
  }

  /** Whether the breaker is open or a probe is in flight: no call is retried, the probe included. */
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
    // A call that began before the breaker opened says nothing new.
    const opens = isProbe || (this.#openUntil === undefined && this.#failures >= FAILURES);
    if (!opens) return;
    this.#openedAt = this.#clock();
    this.#openUntil = this.#openedAt + this.#rest;
    this.#rest = Math.min(this.#rest * 2, this.#rests.longestRest);
  }
}
