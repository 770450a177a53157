import type { Deadline } from '../deadline.js';
import { MarketgateError } from '../errors.js';

/** How many failures in a row open the breaker. */
const FAILURES_TO_OPEN = 5;
/** Milliseconds that the breaker stays open: at first, and at most. They double with each failed trial. */
const OPEN_TIMES = { first: 2000, max: 30_000 };
/** Milliseconds that the result of a probe is remembered. */
const REMEMBERED = 5000;

/**
 * `up`: it answers the probe as documented. `down`: it cannot be reached, times out or answers 5xx. `unclear`: anything
 * else, such as a page of a firewall, or a backoff.
 */
export type ServiceState = 'up' | 'down' | 'unclear';

/**
 * A circuit breaker: in an outage only the first few callers wait for the timeout. After some failures in a row it
 * opens, if the probe confirms them, and refuses calls at once. After a while it lets one call through, the trial, whose
 * result closes it or opens it again.
 *
 * The probe is a request that is the same for all visitors, so that nothing that one of them sends opens the breaker. It
 * is sent once for all callers, and at most every few seconds.
 */
export class Breaker {
  #failures = 0;
  #openTime = OPEN_TIMES.first;
  /** Until when it stays open; `undefined`: it is closed. */
  #openUntil: number | undefined;
  #probed: { readonly at: number; readonly state: Promise<ServiceState> } | undefined;
  /** The probe that decides whether it opens, while that is in progress. */
  #confirming: Promise<void> | undefined;

  /**
   * @param clock milliseconds.
   * @param probe finds out how the service is; it never rejects.
   */
  constructor(
    private readonly clock: () => number,
    private readonly probe: () => Promise<ServiceState>,
  ) {}

  /** How the service is, by the probe. */
  async state(): Promise<ServiceState> {
    if (this.isOpen) return 'down';
    return this.#ask();
  }

  #ask(): Promise<ServiceState> {
    if (this.#probed === undefined || this.clock() - this.#probed.at >= REMEMBERED) {
      this.#probed = { at: this.clock(), state: this.probe() };
    }
    return this.#probed.state;
  }

  /**
   * Lets a call through.
   * @returns whether the call is the trial.
   * @throws MarketgateError `service_unavailable` with `retryAfter`, while the breaker is open.
   */
  enter(what: string): boolean {
    if (this.#openUntil === undefined) return false;
    const { retryAfter } = this;
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

  get isOpen(): boolean {
    return this.#openUntil !== undefined;
  }

  /** Seconds until the trial; 0: none is needed, or it is due. */
  get retryAfter(): number {
    return secondsUntil(this.#openUntil ?? 0, this.clock());
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
    this.#confirming ??= this.#openIfDown();
    await this.#confirming;
  }

  async #openIfDown(): Promise<void> {
    const state = await this.#ask();
    this.#confirming = undefined;
    if (state !== 'down') {
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
  #closedUntil = 0;

  /** @param clock milliseconds. */
  constructor(private readonly clock: () => number) {}

  /** Closes the gate, or keeps it closed for longer. Returns the seconds of this backoff. */
  close(seconds = DEFAULT_SECONDS): number {
    // With 0, the service would be taken for one that fails, and not for one that asks for less.
    const length = Math.max(1, Math.min(seconds, MAX_SECONDS));
    this.#closedUntil = Math.max(this.#closedUntil, this.clock() + length * 1000);
    return length;
  }

  /** Seconds until the gate opens; 0: it is open. */
  get retryAfter(): number {
    return secondsUntil(this.#closedUntil, this.clock());
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

const secondsUntil = (time: number, now: number): number =>
  Math.max(0, Math.ceil((time - now) / 1000));

/** Seconds from a `Retry-After` header, a number or a date (RFC 9110, section 10.2.3). `undefined`: none, or invalid. */
export function parseRetryAfter(header: string | undefined, now: number): number | undefined {
  const text = header?.trim() ?? '';
  if (/^\d/.test(text)) return Number.parseInt(text, 10);
  // `Date.parse` also accepts "-5".
  const at = /^[a-z]/i.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(at) ? undefined : secondsUntil(at, now);
}

/** The most requests of one client at a time. */
export const MAX_REQUESTS = 128;

/** Runs so many requests at a time. The others wait here and not for a connection, so that a closed gate stops them. */
export class Turns {
  #free = MAX_REQUESTS;
  readonly #waiting: { readonly deadline: Deadline; readonly go: () => void }[] = [];

  async run<T>(deadline: Deadline, request: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free--;
    else await deadline.race(new Promise<void>((go) => this.#waiting.push({ deadline, go })));
    try {
      return await request();
    } finally {
      let next = this.#waiting.shift();
      while (next?.deadline.aborted) next = this.#waiting.shift();
      if (next !== undefined) next.go();
      else this.#free++;
    }
  }
}
