import type { Deadline } from '../deadline.js';
import { MarketgateError } from '../errors.js';

/** How many failures in a row open the breaker. */
const FAILURES_TO_OPEN = 5;
/** Milliseconds that the breaker stays open, until the next trial. */
const REST = 2000;
/** Milliseconds that the result of a probe is remembered. */
const REMEMBERED = 5000;

/**
 * `up`: it answers the probe as documented. `down`: it cannot be reached, times out or answers 5xx. `unclear`: anything
 * else, such as a page of a firewall, or a backoff.
 */
export type ServiceState = 'up' | 'down' | 'unclear';

/**
 * A circuit breaker: in an outage only the first few callers wait for the timeout. After some failures in a row it
 * opens, if the probe confirms them, and refuses calls at once. After a rest it tries again: it sends the probe, and lets
 * one call through. It closes if either is answered, and else rests again.
 *
 * The probe is a request that is the same for all visitors, so that nothing that one of them does opens the breaker or
 * keeps it open. It is sent once for all callers, and while the breaker is closed at most every few seconds.
 */
export class Breaker {
  #failures = 0;
  /** Until when it rests; `undefined`: it is closed. */
  #restsUntil: number | undefined;
  #probed: { readonly at: number; readonly state: Promise<ServiceState> } | undefined;
  /** Settles when the probe has opened or closed it. */
  #deciding: Promise<void> | undefined;

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
    return this.#isResting ? 'down' : this.#ask();
  }

  #ask(): Promise<ServiceState> {
    if (this.#probed === undefined || this.clock() - this.#probed.at >= REMEMBERED) {
      this.#probed = { at: this.clock(), state: this.probe() };
    }
    return this.#probed.state;
  }

  /**
   * Lets a call through.
   * @throws MarketgateError `service_unavailable` with `retryAfter`, while the breaker is open.
   */
  enter(what: string): void {
    this.check(what);
    if (!this.isOpen) return;
    this.#probed = undefined;
    this.#decide();
  }

  /** @throws MarketgateError `service_unavailable` with `retryAfter`, where a call would not be let through. */
  check(what: string): void {
    if (!this.isOpen || (!this.#isResting && this.#deciding === undefined)) return;
    const { retryAfter } = this;
    throw new MarketgateError(
      'service_unavailable',
      `${what}: not sent, because the service has failed ${this.#failures} times in a row; it will be tried again in about ${retryAfter} s`,
      { retryAfter },
    );
  }

  get isOpen(): boolean {
    return this.#restsUntil !== undefined;
  }

  get #isResting(): boolean {
    return this.clock() < (this.#restsUntil ?? 0);
  }

  /** Seconds until it is worth coming again; 0: it is closed. */
  get retryAfter(): number {
    return this.#restsUntil === undefined
      ? 0
      : Math.max(1, secondsUntil(this.#restsUntil, this.clock()));
  }

  /** The service answered. */
  succeeded(): void {
    this.#failures = 0;
    this.#restsUntil = undefined;
  }

  /** A request failed. Resolves when it is known whether the breaker opens. */
  async failed(): Promise<void> {
    this.#failures++;
    // A call that began before the breaker opened says nothing new.
    if (!this.isOpen && this.#failures >= FAILURES_TO_OPEN) this.#decide();
    await this.#deciding;
  }

  #decide(): void {
    this.#deciding ??= this.#ask().then((state) => {
      this.#deciding = undefined;
      if (state === 'down') this.#restsUntil = this.clock() + REST;
      else this.succeeded();
    });
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
