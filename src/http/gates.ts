import type { Deadline } from '../deadline.js';
import { MarketgateError } from '../errors.js';

/** Milliseconds that the result of a probe is remembered. */
const REMEMBERED = 5000;

/**
 * `up`: it answers the probe as documented. `down`: it cannot be reached, times out or answers 5xx. `unclear`: anything
 * else, such as a page of a firewall, or a backoff.
 */
export type ServiceState = 'up' | 'down' | 'unclear';

/**
 * How the service is. The request that finds out is the same for all visitors, so that nothing that one of them
 * sends decides it. It is sent once for all callers, and at most every few seconds.
 */
export class Probe {
  #last: { readonly at: number; readonly state: Promise<ServiceState> } | undefined;

  /**
   * @param clock milliseconds.
   * @param ask sends the request; it never rejects.
   */
  constructor(
    private readonly clock: () => number,
    private readonly ask: () => Promise<ServiceState>,
  ) {}

  state(): Promise<ServiceState> {
    if (this.#last === undefined || this.clock() - this.#last.at >= REMEMBERED) {
      this.#last = { at: this.clock(), state: this.ask() };
    }
    return this.#last.state;
  }
}

/** How many failures in a row open the breaker. */
const FAILURES_TO_OPEN = 5;
/** Milliseconds that the breaker stays open: at first, and at most. They double with each failed trial. */
const OPEN_TIMES = { first: 2000, max: 30_000 };

/**
 * A circuit breaker: in an outage only the first few callers wait for the timeout. After some failures in a row it
 * opens, if the probe confirms them, and refuses calls at once. After a while it lets one call through, the trial, whose
 * result closes it or opens it again.
 */
export class Breaker {
  #failures = 0;
  #openTime = OPEN_TIMES.first;
  /** Until when it stays open; `undefined`: it is closed. */
  #openUntil: number | undefined;
  /** The probe that decides whether it opens, while that is in progress. */
  #confirming: Promise<void> | undefined;

  /**
   * @param clock milliseconds.
   * @param confirm whether it opens after failures in a row.
   */
  constructor(
    private readonly clock: () => number,
    private readonly confirm: () => Promise<boolean>,
  ) {}

  /**
   * Lets a call through.
   * @returns whether the call is the trial.
   * @throws MarketgateError `service_unavailable` with `retryAfter`, while the breaker is open.
   */
  enter(what: string): boolean {
    const { retryAfter } = this;
    if (retryAfter === undefined) return false;
    if (retryAfter > 0) {
      throw new MarketgateError(
        'service_unavailable',
        `${what}: not sent, because the service has failed ${this.#failures} times in a row; it will be tried again in about ${retryAfter} s`,
        { retryAfter },
      );
    }
    // The others wait for the result of the trial, and where it has none, for the next one.
    this.#openUntil = this.clock() + this.#openTime;
    return true;
  }

  /** Seconds until the trial; `undefined`: it is closed. */
  get retryAfter(): number | undefined {
    if (this.#openUntil === undefined) return undefined;
    return Math.max(0, Math.ceil((this.#openUntil - this.clock()) / 1000));
  }

  get isOpen(): boolean {
    return this.#openUntil !== undefined;
  }

  /** The service answered. */
  succeeded(): void {
    this.#failures = 0;
    this.#openTime = OPEN_TIMES.first;
    this.#openUntil = undefined;
  }

  /** A request failed. Resolves when it is known whether the breaker opens. */
  async failed(isTrial: boolean): Promise<void> {
    this.#failures++;
    // A call that began before the breaker opened says nothing new.
    if (!isTrial && (this.isOpen || this.#failures < FAILURES_TO_OPEN)) return;
    this.#confirming ??= this.#openIfConfirmed();
    await this.#confirming;
  }

  async #openIfConfirmed(): Promise<void> {
    const isDown = await this.confirm();
    this.#confirming = undefined;
    if (!isDown) {
      this.succeeded();
      return;
    }
    this.#openUntil = this.clock() + this.#openTime;
    this.#openTime = Math.min(this.#openTime * 2, OPEN_TIMES.max);
  }
}

/** Seconds of backoff after a 429 without a `Retry-After`. */
const DEFAULT_SECONDS = 5;
/** The longest backoff in seconds, so that one wrong header does not stop the shop. */
const MAX_SECONDS = 3600;

/** Backoff after `Retry-After`: while the gate is closed, the calls of this client fail at once. */
export class RetryAfterGate {
  #closedUntil = Number.NEGATIVE_INFINITY;

  /** @param clock milliseconds. */
  constructor(private readonly clock: () => number) {}

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
  // Of several headers, which `fetch` joins, the first.
  const [digits] = /^\d+(?=\s*(?:,|$))/.exec(text) ?? [];
  if (digits !== undefined) return Number(digits);
  // Only the forms of an HTTP date, because Date.parse also accepts "-5" and "1.5".
  if (!/^[A-Za-z]{3,9},? .*\d\d:\d\d:\d\d/.test(text)) return undefined;
  // The form of asctime has no zone; all are in GMT.
  const at = Date.parse(/ \d{4}$/.test(text) ? `${text} GMT` : text);
  return Number.isNaN(at) ? undefined : Math.max(0, Math.ceil((at - now) / 1000));
}

/** The most requests of one client at a time. */
export const MAX_REQUESTS = 128;

/** Lets so many requests out at a time. The others wait here and not for a connection, so that a closed gate stops them. */
export class Turns {
  #taken = 0;
  readonly #waiting = new Set<() => void>();

  /** Waits for a turn, which must be given back. */
  async take(deadline: Deadline): Promise<void> {
    if (this.#taken < MAX_REQUESTS) {
      this.#taken++;
      return;
    }
    let go = (): void => {};
    const turn = new Promise<void>((resolve) => {
      go = resolve;
      this.#waiting.add(go);
    });
    await deadline.race(turn).catch((reason: unknown) => {
      // It can have got its turn in the same moment.
      if (!this.#waiting.delete(go)) this.giveBack();
      throw reason;
    });
  }

  giveBack(): void {
    const [next] = this.#waiting;
    if (next === undefined) this.#taken--;
    else {
      this.#waiting.delete(next);
      next();
    }
  }
}
