import { isBetween } from '../deadline.js';
import { MarketgateError } from '../errors.js';

/** Seconds of backoff after a 429 without a `Retry-After`. */
const DEFAULT_SECONDS = 5;
/** The longest backoff in seconds, so that one wrong header does not stop the shop. */
const MOST_SECONDS = 3600;

/** Backoff after `Retry-After`: while the gate is closed, the calls of this client fail at once. */
export class RetryAfterGate {
  readonly #clock: () => number;
  #closedAt = 0;
  #until = 0;

  /** @param clock milliseconds. */
  constructor(clock: () => number) {
    this.#clock = clock;
  }

  /** Closes the gate, or keeps it closed for longer. Returns the seconds of this backoff. */
  close(seconds = DEFAULT_SECONDS): number {
    const length = Math.min(seconds, MOST_SECONDS);
    const now = this.#clock();
    const isClosed = isBetween(this.#closedAt, now, this.#until);
    this.#until = Math.max(isClosed ? this.#until : 0, now + length * 1000);
    this.#closedAt = now;
    return length;
  }

  /** @throws MarketgateError `service_unavailable` with `retryAfter`, while the gate is closed. */
  check(what: string): void {
    const now = this.#clock();
    if (!isBetween(this.#closedAt, now, this.#until)) return;
    const retryAfter = Math.ceil((this.#until - Math.max(now, this.#closedAt)) / 1000);
    throw new MarketgateError(
      'service_unavailable',
      `${what}: not sent, because the service asked to be left alone for another ${retryAfter} s`,
      { retryAfter },
    );
  }
}

/** Seconds from a `Retry-After` header, a number or a date (RFC 9110, section 10.2.3). `undefined`: none, or invalid. */
export function parseRetryAfter(header: string | undefined, now: number): number | undefined {
  const text = header?.trim() ?? '';
  if (/^\d+$/.test(text)) {
    const seconds = Number(text);
    return Number.isSafeInteger(seconds) ? seconds : undefined;
  }
  // Only the forms of an HTTP date, because Date.parse also accepts "-5" and "1.5".
  if (!/^[A-Za-z]{3,9},? .*\d\d:\d\d:\d\d/.test(text)) return undefined;
  const at = Date.parse(text);
  return Number.isNaN(at) ? undefined : Math.max(0, Math.ceil((at - now) / 1000));
}
