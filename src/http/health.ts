import { type Deadline, schedule } from '../deadline.js';
import { MarketgateError } from '../errors.js';

/** How many failures in a row open the breaker. */
const FAILURES_TO_OPEN = 5;
/** Milliseconds that the breaker stays open, until the next trial. */
const REST = 2000;
/** Milliseconds that the answer to a neutral question is remembered, where it need not be a new one. */
const REMEMBERED = 5000;
/** Milliseconds between two neutral questions that nobody waits for. */
const SPACING = 3000;
/** Seconds of backoff after a 429 without a `Retry-After`. */
const DEFAULT_SECONDS = 5;
/** The longest backoff in seconds, so that one wrong header does not stop the shop. */
const MAX_SECONDS = 3600;
/** Milliseconds of a backoff, after which the service is asked whether it is over. */
const MINUTE = 60_000;

/**
 * What the neutral question shows. `up`: it is answered as documented. `down`: the service cannot be reached, times out or
 * answers 5xx. `unclear`: anything else, such as a page of a firewall, or a backoff.
 */
export type ServiceState = 'up' | 'down' | 'unclear';

/** A neutral question, and when it was answered; before that, when it was asked. */
interface Question {
  at: number;
  readonly state: Promise<ServiceState>;
}

/**
 * How the service is, apart from what it makes of one input. Only a neutral question shows that: a request that is the same
 * for all visitors, so that nothing that one of them does closes the shop, or opens it in an "outage".
 *
 * - The breaker: in an outage only the first few callers wait for the timeout. After some failures in a row it opens, if
 *   the neutral question fails as well, and refuses calls at once. After a rest it tries again: it asks, and lets one call
 *   through. It closes if either is answered, and else rests again.
 * - The retry-after gate: the service asks to be left alone, and does not answer the neutral question either. While the
 *   gate is closed, calls fail at once. Once a minute the question is asked again, and its answer opens the gate.
 */
export class Health {
  /** The neutral question that is in flight, or was asked last. */
  #question: Question | undefined;
  #failures = 0;
  /** Until when the breaker rests; `undefined`: it is closed. */
  #restsUntil: number | undefined;
  /** Settles when the neutral question has opened or closed the breaker. */
  #deciding: Promise<void> | undefined;
  #gateClosedUntil = 0;
  /** When a closed gate asks again. */
  #asksAgainAt = 0;
  /** Settles when it is known whether the gate closes. */
  #closing: Promise<unknown> | undefined;

  /**
   * @param clock - milliseconds.
   * @param ask - asks the neutral question; it never rejects.
   */
  constructor(
    private readonly clock: () => number,
    private readonly ask: () => Promise<ServiceState>,
  ) {}

  /**
   * How the service is now. That it is up is believed of a question only that was asked after this call; one question
   * serves all who wait for it. A service that asks to be left alone is not asked.
   */
  async state(): Promise<ServiceState> {
    if (this.backoff > 0) return 'unclear';
    if (this.#isResting) return 'down';
    const question = this.#question;
    const known = await question?.state;
    if (known !== undefined && known !== 'up' && this.#isRecent(question)) return known;
    // Somebody else who waited can have asked again.
    return this.#question === question || this.#question === undefined
      ? this.#askAgain()
      : this.#question.state;
  }

  /** The same for callers that can wait: while it is up it is asked seldom, so that failed attempts do not use the quota twice. */
  async stateLater(): Promise<ServiceState> {
    const question = this.#question;
    const known = await question?.state;
    const pause = known === 'up' && question ? question.at + SPACING - this.clock() : 0;
    if (pause > 0) await new Promise<void>((resolve) => schedule(pause, resolve));
    return this.state();
  }

  #isRecent(question: Question | undefined): question is Question {
    return question !== undefined && this.clock() - question.at < REMEMBERED;
  }

  #askAgain(): Promise<ServiceState> {
    const question: Question = { at: this.clock(), state: this.ask() };
    this.#question = question;
    void question.state.then(() => {
      question.at = this.clock();
    });
    return question.state;
  }

  /** @throws MarketgateError `service_unavailable` with `retryAfter`, where a call would not be let through. */
  check(what: string): void {
    const { backoff } = this;
    if (backoff > 0 && this.clock() < this.#asksAgainAt) {
      throw notSent(what, leftAlone(backoff), backoff);
    }
    if (!this.isOpen || (!this.#isResting && this.#deciding === undefined)) return;
    const { retryAfter } = this;
    throw notSent(
      what,
      `because the service has failed ${this.#failures} times in a row; it will be tried again in about ${retryAfter} s`,
      retryAfter,
    );
  }

  /**
   * Lets a call through. Once a minute, a call finds out whether a closed gate opens.
   * @throws MarketgateError `service_unavailable` with `retryAfter`.
   */
  async enter(what: string, deadline: Deadline): Promise<void> {
    this.check(what);
    if (this.backoff > 0) {
      this.#asksAgainAt = this.clock() + MINUTE;
      const answered = this.#askAgain().then((state) => {
        if (state === 'up') this.#gateClosedUntil = 0;
      });
      // Its answer counts also where this call ends before.
      await deadline.race(answered);
      this.check(what);
    }
    if (this.isOpen) this.#decide(this.#askAgain());
  }

  /** Waits while it is being found out whether the gate closes. @throws MarketgateError where it is closed. */
  async checkGate(what: string, deadline: Deadline): Promise<void> {
    if (this.#closing !== undefined) await deadline.race(this.#closing);
    const { backoff } = this;
    if (backoff === 0) return;
    throw notSent(what, leftAlone(backoff), backoff);
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
    if (!this.isOpen && this.#failures >= FAILURES_TO_OPEN) {
      // That the service was up a moment ago only lets the breaker open later.
      this.#decide(this.#isRecent(this.#question) ? this.#question.state : this.#askAgain());
    }
    await this.#deciding;
  }

  #decide(asking: Promise<ServiceState>): void {
    this.#deciding ??= asking.then((state) => {
      this.#deciding = undefined;
      if (state !== 'down') this.succeeded();
      // Otherwise the service has answered another call meanwhile.
      else if (this.#failures >= FAILURES_TO_OPEN) this.#restsUntil = this.clock() + REST;
    });
  }

  get isOpen(): boolean {
    return this.#restsUntil !== undefined;
  }

  get #isResting(): boolean {
    return this.clock() < (this.#restsUntil ?? 0);
  }

  /** The service asks to be left alone, at one input. Resolves with whether that holds for all: the gate closes then. */
  async isToBeLeftAlone(seconds: number): Promise<boolean> {
    const closing = this.state();
    this.#closing = closing;
    const state = await closing;
    if (this.#closing === closing) this.#closing = undefined;
    if (state !== 'up') this.closeGate(seconds);
    return state !== 'up';
  }

  /** Closes the gate, or keeps it closed for longer. */
  closeGate(seconds: number): void {
    const now = this.clock();
    if (this.backoff === 0) this.#asksAgainAt = now + MINUTE;
    this.#gateClosedUntil = Math.max(this.#gateClosedUntil, now + seconds * 1000);
  }

  /** Seconds until the gate opens; 0: it is open. */
  get backoff(): number {
    return secondsUntil(this.#gateClosedUntil, this.clock());
  }

  /** Seconds until it is worth coming again; 0: at once. */
  get retryAfter(): number {
    const rest = this.#restsUntil;
    return Math.max(
      this.backoff,
      rest === undefined ? 0 : Math.max(1, secondsUntil(rest, this.clock())),
    );
  }
}

const notSent = (what: string, why: string, retryAfter: number): MarketgateError =>
  new MarketgateError('service_unavailable', `${what}: not sent, ${why}`, { retryAfter });

const leftAlone = (seconds: number): string =>
  `because the service asked to be left alone for another ${seconds} s`;

const secondsUntil = (time: number, now: number): number =>
  Math.max(0, Math.ceil((time - now) / 1000));

/**
 * The seconds for which a response asks to be left alone; `undefined`: it does not.
 * @param header - its `Retry-After`, a number or a date (RFC 9110, section 10.2.3).
 * @param now - by the service's own clock.
 */
export function backoffOf(status: number, header: string | undefined, now: number) {
  const text = header?.trim() ?? '';
  let seconds: number | undefined;
  if (/^\d/.test(text)) seconds = Number.parseInt(text, 10);
  // `Date.parse` also accepts "-5".
  else if (/^[a-z]/i.test(text)) {
    const at = Date.parse(text);
    if (!Number.isNaN(at)) seconds = secondsUntil(at, now);
  }
  if (status !== 429 && !seconds) return undefined;
  // With 0, the service would be taken for one that fails, and not for one that asks for less.
  return Math.max(1, Math.min(seconds ?? DEFAULT_SECONDS, MAX_SECONDS));
}
