import { MarketgateError } from '../errors.js';
import { WITHOUT_ANSWER } from './meanings.js';

/** How long to leave a service alone that limits us without saying how long, in seconds. */
const UNSAID = 5;
/** The longest pause that a header can order, in seconds: one wrong header must not end the shop. */
const LONGEST = 3600;

/**
 * The service asked for a pause (429, or a `Retry-After`): until it is over, calls of this client
 * fail at once instead of adding to the load.
 */
export class Pause {
  readonly #clock: () => number;
  #until = Number.NEGATIVE_INFINITY;

  /** @param clock milliseconds; never goes back. */
  constructor(clock: () => number) {
    this.#clock = clock;
  }

  /** Starts one, or makes the present one longer. Returns its seconds. */
  begin(seconds: number | undefined): number {
    const length = Math.min(seconds ?? UNSAID, LONGEST);
    this.#until = Math.max(this.#until, this.#clock() + length * 1000);
    return length;
  }

  /** @throws MarketgateError `service_unavailable` with `retryAfter`, during a pause. */
  check(what: string): void {
    const left = this.#until - this.#clock();
    if (left <= 0) return;
    const retryAfter = Math.ceil(left / 1000);
    throw new MarketgateError(
      WITHOUT_ANSWER.notReached,
      `${what}: not sent, for the service asked to be left alone for another ${retryAfter} s`,
      { retryAfter },
    );
  }
}
