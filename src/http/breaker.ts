import type { Deadline } from '../deadline.js';
import { isMarketgateError, type MarketgateError, withRetryAfter } from '../errors.js';
import { Failure, failureOf, type Health, unavailable } from './failure.js';

/** Calls without an answer in a row, after which the breaker can open. */
const FAILURES_TO_OPEN = 5;
/** Milliseconds that it stays open, until one call tries. */
const REST = 2000;
/** The longest, whatever a `Retry-After` says: one wrong header must not stop the shop. */
const MAX_REST = 60_000;
/** Milliseconds that the answer to the probe is remembered. */
const REMEMBERED = 5000;

/** What a probe has shown; `retryAfter` in seconds, where the service asks to be left alone. */
interface Probed {
  readonly health: Health;
  readonly retryAfter?: number | undefined;
}

/** A probe, and when and how it was answered. */
interface Probe {
  readonly probed: Promise<Probed>;
  at: number;
  health?: Health;
}

/**
 * Leaves the service alone while it is of no use to ask it. Calls then fail at once: this file says why one was not sent.
 *
 * It opens after five calls in a row without an answer, or at once by a 429 or a `Retry-After`. What one visitor sends can
 * cause both, so each time it opens only if the probe fails or is refused too: a request that is the same for all visitors. It
 * stays open for two seconds, or for as long as the probe's answer or the first one says. After that one call tries, which
 * moves the time on, so that the others go on failing at once until it is answered.
 *
 * The probe also tells an outage from a failure that only concerns one request ({@link Failure.health}). It is sent once for
 * all who ask at a time.
 */
export class Breaker {
  #failures = 0;
  /** Since when and until when no call is let through, and why. */
  #open: { readonly since: number; until: number; readonly why: Failure } | undefined;
  /** The probe that is in flight, or was sent last. */
  #probe: Probe | undefined;

  /**
   * @param clock milliseconds.
   * @param send sends the probe.
   */
  constructor(
    private readonly clock: () => number,
    private readonly send: () => Promise<unknown>,
  ) {}

  get isOpen(): boolean {
    return this.#open !== undefined;
  }

  /** The error of a call that is not let through now; `undefined`: it is. */
  refusal(name: string): MarketgateError | undefined {
    const open = this.#open;
    if (open === undefined || this.clock() >= open.until) return undefined;
    const { why } = open;
    const seconds = this.#secondsLeft(open);
    const words = why.isOutage ? 'the service is down' : 'the service asked to be left alone';
    return unavailable(
      `${name}: not sent, because ${words}; it will be tried again in about ${seconds} s`,
      why,
      seconds,
    );
  }

  /** Lets a call through. @returns when. @throws MarketgateError `service_unavailable` where the breaker is open. */
  enter(name: string): number {
    const refusal = this.refusal(name);
    if (refusal !== undefined) throw refusal;
    const now = this.clock();
    // This call tries.
    if (this.#open !== undefined) this.#open.until = now + REST;
    return now;
  }

  /** A call that entered then was answered. One from before the breaker opened says nothing new. */
  answered(enteredAt: number): void {
    if (this.#isOld(enteredAt)) return;
    this.#failures = 0;
    this.#open = undefined;
    const { health = 'up' } = this.#probe ?? {};
    if (health !== 'up') this.#probe = undefined;
  }

  /**
   * A call that entered then has failed: finds out what that means, for this error and for the other calls. Waits for the probe,
   * unless the caller leaves.
   */
  async failed(error: unknown, enteredAt: number, deadline: Deadline): Promise<void> {
    const failure = failureOf(error);
    if (!isMarketgateError(error) || failure?.kind === 'own') return;
    if (failure === undefined || failure.kind === 'unreadable') {
      this.answered(enteredAt);
      return;
    }
    if (failure.kind === 'down') this.#failures++;
    const { retryAfter } = error;
    const isRefused = retryAfter !== undefined || failure.code === 'HTTP_429';
    const probing = this.probe().then((probed) => {
      // Another call can have been answered meanwhile. While it is open, this is the call that tries.
      const isOpen = this.#open !== undefined;
      const isLimit = isOpen || isRefused || this.#failures >= FAILURES_TO_OPEN;
      if (isLimit && !this.#isOld(enteredAt)) this.#decide(probed, failure, retryAfter);
      return probed;
    });
    const probed = await this.#within(deadline, probing);
    failure.health = probed?.health ?? 'unclear';
    const open = this.#open;
    if (open !== undefined) withRetryAfter(error, retryAfter ?? this.#secondsLeft(open));
  }

  /** Sends the probe, unless one is in flight or was answered a moment ago. */
  probe(): Promise<Probed> {
    const last = this.#probe;
    if (last !== undefined && this.clock() - last.at < REMEMBERED) return last.probed;
    return this.note(this.send());
  }

  /** Remembers how a request that is the probe, or the same one for a caller, ends. */
  note(sent: Promise<unknown>): Promise<Probed> {
    const probed = sent.then((): Probed => ({ health: 'up' }), shownBy);
    const probe: Probe = { probed, at: Number.POSITIVE_INFINITY };
    this.#probe = probe;
    void probed.then(({ health }) => {
      probe.at = this.clock();
      probe.health = health;
    });
    return probed;
  }

  #decide({ health, ...probed }: Probed, failure: Failure, seconds: number | undefined): void {
    if (health === 'up') {
      this.#failures = 0;
      this.#open = undefined;
    }
    if (health !== 'down' && health !== 'busy') return;
    const since = this.clock();
    const told = probed.retryAfter ?? seconds ?? 0;
    const rest = Math.min(Math.max(REST, told * 1000), MAX_REST);
    const isOutage = failure.kind === 'down' && health === 'down';
    // One for all calls that are refused, which are many.
    const why = isOutage ? new Failure('FAILING', 'down') : new Failure('LEFT_ALONE', 'busy');
    this.#open = { since, until: Math.max(this.#open?.until ?? 0, since + rest), why };
  }

  /** Waits also where the deadline has just ended: the probe is sent early enough to be answered by then. */
  #within<T>(deadline: Deadline, promise: Promise<T>): Promise<T | undefined> {
    return deadline.race(promise).catch(() => (deadline.isAbortedByCaller ? undefined : promise));
  }

  #isOld(enteredAt: number): boolean {
    return this.#open !== undefined && enteredAt <= this.#open.since;
  }

  #secondsLeft({ until }: { readonly until: number }): number {
    return Math.max(1, Math.ceil((until - this.clock()) / 1000));
  }
}

/** What an error of the probe shows. A refusal of the api_key is an answer. */
function shownBy(error: unknown): Probed {
  if (!isMarketgateError(error)) return { health: 'unclear' };
  const { code, retryAfter } = error;
  if (code === 'api_key_rejected' || code === 'service_refused') return { health: 'up' };
  const kind = failureOf(error)?.kind;
  if (kind === 'down') return { health: 'down', retryAfter };
  return kind === 'busy' ? { health: 'busy', retryAfter } : { health: 'unclear' };
}
