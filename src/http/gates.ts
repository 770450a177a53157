import type { Deadline } from '../deadline.js';
import { MarketgateError } from '../errors.js';

/** How many failures in a row open the breaker. */
const FAILURES_TO_OPEN = 5;
/** Milliseconds that the breaker stays open: at first, and at most. They double with each failed probe. */
const OPEN_TIMES = { first: 2000, max: 30_000 };

/** How a call ended. `unknown`: the caller left first, or the error says nothing about the service. */
export type CallEnd = 'answered' | 'failed' | 'unknown';

/**
 * A circuit breaker: in an outage only the first few callers wait for the timeout. After some failures in
 * a row it opens and refuses calls at once. After a while it lets one call through, the probe, whose
 * result closes it or opens it again.
 */
export class Breaker {
  #failures = 0;
  #openTime = OPEN_TIMES.first;
  /** Until when it stays open; `undefined`: it is closed. */
  #openUntil: number | undefined;
  #isProbing = false;

  /** @param clock milliseconds. */
  constructor(private readonly clock: () => number) {}

  /**
   * Lets a call through, which must then {@link leave}.
   * @returns whether the call is the probe.
   * @throws MarketgateError `service_unavailable` with `retryAfter`, while the breaker is open.
   */
  enter(what: string): boolean {
    const { retryAfter } = this;
    if (retryAfter === undefined) return false;
    if (retryAfter > 0 || this.#isProbing) {
      throw new MarketgateError(
        'service_unavailable',
        `${what}: not sent, because the service has failed ${this.#failures} times in a row; it will be tried again in about ${retryAfter || 1} s`,
        { retryAfter: retryAfter || 1 },
      );
    }
    this.#isProbing = true;
    return true;
  }

  /** Seconds until the probe; `undefined`: it is closed. */
  get retryAfter(): number | undefined {
    if (this.#openUntil === undefined) return undefined;
    return Math.max(0, Math.ceil((this.#openUntil - this.clock()) / 1000));
  }

  /** Whether calls are refused, or the one that is let through is in flight. */
  get isOpen(): boolean {
    return this.#openUntil !== undefined;
  }

  leave(isProbe: boolean, end: CallEnd): void {
    if (isProbe) this.#isProbing = false;
    if (end === 'unknown') return;
    if (end === 'answered') {
      this.#failures = 0;
      this.#openTime = OPEN_TIMES.first;
      this.#openUntil = undefined;
      return;
    }
    this.#failures++;
    // A call that began before the breaker opened says nothing new.
    const opens = isProbe || (this.#openUntil === undefined && this.#failures >= FAILURES_TO_OPEN);
    if (!opens) return;
    this.#openUntil = this.clock() + this.#openTime;
    this.#openTime = Math.min(this.#openTime * 2, OPEN_TIMES.max);
  }
}

/**
 * Limits how many calls retry at the same time; other failed calls wait. When one retry succeeds, all
 * waiting calls retry. When the retries fail, the breaker opens and the waiting calls fail, so that a dead
 * service does not get three requests from every caller.
 */
export class RetryLimit {
  readonly #waiting = new Set<() => void>();
  #taken = 0;

  /** Waits for a slot, until the deadline ends. A call that got one must {@link release} it. */
  async acquire(deadline: Deadline): Promise<void> {
    // As many as open the breaker when they fail.
    if (this.#taken < FAILURES_TO_OPEN) {
      this.#taken++;
      return;
    }
    await new Promise<void>((resolve, reject) => {
      const go = (): void => {
        this.#waiting.delete(go);
        deadline.removeListener(leave);
        this.#taken++;
        resolve();
      };
      const leave = (reason: unknown): void => {
        this.#waiting.delete(go);
        reject(reason);
      };
      this.#waiting.add(go);
      deadline.addListener(leave);
    });
  }

  /** Lets the next waiting call retry; all of them after a usable answer. */
  release(isUsable: boolean): void {
    this.#taken--;
    for (const go of [...this.#waiting]) {
      go();
      if (!isUsable) return;
    }
  }
}

/** Seconds of backoff after a 429 without a `Retry-After`. */
const DEFAULT_SECONDS = 5;
/** The longest backoff in seconds, so that one wrong header does not stop the shop. */
const MAX_SECONDS = 3600;

/** Backoff after `Retry-After`: while the gate is closed, the calls of this client fail at once. */
export class RetryAfterGate {
  #closedUntil = Number.NEGATIVE_INFINITY;
  readonly #refusals = new WeakSet<object>();

  /** @param clock milliseconds. */
  constructor(private readonly clock: () => number) {}

  /** Whether an error is one of {@link check}: nothing was sent, so it says nothing about the service. */
  isRefusal(error: object): boolean {
    return this.#refusals.has(error);
  }

  /** Closes the gate, or keeps it closed for longer. Returns the seconds of this backoff. */
  close(seconds = DEFAULT_SECONDS): number {
    const length = Math.min(seconds, MAX_SECONDS);
    this.#closedUntil = Math.max(this.#closedUntil, this.clock() + length * 1000);
    return length;
  }

  /** Seconds until the gate opens; 0: it is open. */
  get retryAfter(): number {
    return Math.max(0, Math.ceil((this.#closedUntil - this.clock()) / 1000));
  }

  /** @throws MarketgateError `service_unavailable` with `retryAfter`, while the gate is closed. */
  check(what: string): void {
    const { retryAfter } = this;
    if (retryAfter === 0) return;
    const refusal = new MarketgateError(
      'service_unavailable',
      `${what}: not sent, because the service asked to be left alone for another ${retryAfter} s`,
      { retryAfter },
    );
    this.#refusals.add(refusal);
    throw refusal;
  }
}

/** Seconds from a `Retry-After` header, a number or a date (RFC 9110, section 10.2.3). `undefined`: none, or invalid. */
export function parseRetryAfter(header: string | undefined, now: number): number | undefined {
  const text = header?.trim() ?? '';
  // Of several headers, which `fetch` joins, the first.
  const [digits] = /^\d+(?=\s*(?:,|$))/.exec(text) ?? [];
  if (digits !== undefined) return Number(digits);
  // Only the forms of an HTTP date, because Date.parse also accepts "-5" and "1.5".
  if (!/^[A-Za-z]{3,9},? .*\d\d:\d\d:\d\d/.test(text)) return undefined;
  // The form of asctime has no zone; all are in GMT.
  const at = Date.parse(/ \d{4}$/.test(text) ? `${text} GMT` : text);
  return Number.isNaN(at) ? undefined : Math.max(0, Math.ceil((at - now) / 1000));
}
