import { isBetween } from '../deadline.js';
import { MarketgateError } from '../errors.js';
import { WITHOUT_ANSWER } from './meanings.js';

/** Seconds to leave the service alone after a 429 that does not say how long. */
const DEFAULT_SECONDS = 5;
/** The most seconds that a header can order: one wrong header must not end the shop. */
const MOST_SECONDS = 3600;

/**
 * Backoff after `Retry-After`: while it lasts, the calls of this client fail at once instead of adding
 * to the load.
 */
export class RetryAfterGate {
  readonly #clock: () => number;
  #closedAt = 0;
  #until = 0;

  /** @param clock milliseconds. */
  constructor(clock: () => number) {
    this.#clock = clock;
  }

  /** Closes it, or keeps it closed for longer. Returns the seconds. */
  close(seconds = DEFAULT_SECONDS): number {
    const length = Math.min(seconds, MOST_SECONDS);
    const now = this.#clock();
    const isClosed = isBetween(this.#closedAt, now, this.#until);
    this.#until = Math.max(isClosed ? this.#until : 0, now + length * 1000);
    this.#closedAt = now;
    return length;
  }

  /** @throws MarketgateError `service_unavailable` with `retryAfter`, while it is closed. */
  check(what: string): void {
    const now = this.#clock();
    if (!isBetween(this.#closedAt, now, this.#until)) return;
    const retryAfter = Math.ceil((this.#until - Math.max(now, this.#closedAt)) / 1000);
    throw new MarketgateError(
      WITHOUT_ANSWER.notReached,
      `${what}: not sent, because the service asked to be left alone for another ${retryAfter} s`,
      { retryAfter },
    );
  }
}

/**
 * Seconds from a `Retry-After` header (RFC 9110, section 10.2.3): a number of seconds or a date.
 * `undefined` when there is none or it cannot be read.
 */
export function parseRetryAfter(header: string | undefined, now: number): number | undefined {
  const text = header?.trim() ?? '';
  if (/^\d+$/.test(text)) {
    const seconds = Number(text);
    return Number.isSafeInteger(seconds) ? seconds : undefined;
  }
  // Only the forms of an HTTP date: Date.parse makes something of "-5", "1.5" and "Thu, 99 Jan" too.
  if (!/^[A-Za-z]{3,9},? .*\d\d:\d\d:\d\d/.test(text)) return undefined;
  const at = Date.parse(text);
  return Number.isNaN(at) ? undefined : Math.max(0, Math.ceil((at - now) / 1000));
}
