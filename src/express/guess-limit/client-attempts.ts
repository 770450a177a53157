import { InFlight } from '../../cache/in-flight.js';
import { MarketgateError } from '../../errors.js';
import type { Reservation } from '../../stores/guess-limit/guess-limit.js';

/**
 * Asks the service about a code; calls `onShared` when another process had asked before, and ends when
 * the signal is aborted.
 */
export type Ask<T> = (how: {
  onShared?: () => void;
  signal?: AbortSignal | undefined;
}) => Promise<T | null>;

/**
 * Attempts whose visitors have left before the answer came, by client and code. They stay counted, or
 * somebody who hangs up each time could ask without end; but whoever comes back with the same code goes
 * on with the attempt, so that a reload costs nothing.
 */
export class LeftAttempts {
  readonly #reservations = new Map<string, Allowed>();

  add(name: string, reservation: Allowed): void {
    this.#reservations.set(name, reservation);
    const [oldest = name] = this.#reservations.keys();
    if (this.#reservations.size > MOST_LEFT) this.#reservations.delete(oldest);
  }

  take(name: string): Allowed | undefined {
    const reservation = this.#reservations.get(name);
    this.#reservations.delete(name);
    return reservation;
  }
}

/** How many of them are remembered for each counter. */
const MOST_LEFT = 1000;

type Allowed = Extract<Reservation, { isAllowed: true }>;

/** A counter that cannot be asked refuses no customer: it protects a quota, and no door. */
const UNCOUNTED: Allowed = { isAllowed: true, refund: async () => {} };

/**
 * The attempts of one client that are in progress. Only a real *no* counts, and that is known afterwards:
 * an attempt is reserved, and given back for any other answer. When there is none left, a further one
 * waits as long as an attempt in progress can still be given back, so that a burst of customers behind one
 * address is not refused.
 */
export class ClientAttempts {
  /** Each with all that it takes, by code. Concurrent requests with one code share one attempt. */
  readonly #byCode = new Map<string, InFlight<unknown>>();
  /** Wakes one that waits: `true` when an attempt was given back to it. */
  readonly #waiting: ((isFree: boolean) => void)[] = [];
  /** How many are being reserved or asked; those that wait are not among them. */
  #busy = 0;
  readonly #name: string;
  readonly #left: LeftAttempts;
  readonly #onIdle: () => void;

  /** @param onIdle is called when the last attempt has ended. */
  constructor(onIdle: () => void, name = '', left = new LeftAttempts()) {
    this.#onIdle = onIdle;
    this.#name = name;
    this.#left = left;
  }

  /**
   * @param signal is aborted when the visitor leaves; the others with this code go on.
   * @throws MarketgateError `too_many_attempts`, and whatever `ask` throws.
   */
  attempt<T>(
    code: string,
    reserve: () => Promise<Reservation>,
    ask: Ask<T>,
    signal?: AbortSignal,
  ): Promise<T | null> {
    let attempt = this.#byCode.get(code) as InFlight<T | null> | undefined;
    if (attempt === undefined || attempt.isAborted) {
      const fresh = new InFlight<T | null>((leaving) =>
        // In a turn of its own, so that it is known by then.
        Promise.resolve().then(() =>
          this.#run(code, reserve, ask, leaving, () => {
            if (this.#byCode.get(code) === fresh) this.#byCode.delete(code);
          }),
        ),
      );
      this.#byCode.set(code, fresh);
      attempt = fresh;
    }
    return attempt.join(signal);
  }

  async #run<T>(
    code: string,
    reserve: () => Promise<Reservation>,
    ask: Ask<T>,
    signal: AbortSignal,
    end: () => void,
  ): Promise<T | null> {
    const name = `${this.#name}\n${code}`;
    let reservation: Allowed;
    try {
      const left = this.#left.take(name);
      reservation = await this.#enter(left ? async () => left : reserve);
    } catch (error) {
      end();
      throw error;
    }
    let isCounted = false;
    let isShared = false;
    try {
      signal.throwIfAborted();
      const answer = await ask({
        signal,
        onShared: () => {
          isShared = true;
        },
      });
      // What another process has asked was counted there.
      isCounted = answer === null && !isShared;
      return answer;
    } catch (error) {
      if (signal.aborted) {
        isCounted = true;
        this.#left.add(name, reservation);
      }
      throw error;
    } finally {
      end();
      if (isCounted) this.#leave(false);
      // A customer does not wait for the counter.
      else void this.#giveBack(reservation);
    }
  }

  async #enter(reserve: () => Promise<Reservation>): Promise<Allowed> {
    this.#busy++;
    for (;;) {
      const reservation = await reserve().catch(() => UNCOUNTED);
      if (reservation.isAllowed) return reservation;
      const isLast = this.#busy === 1;
      if (isLast) this.#leave(false);
      else this.#busy--;
      if (isLast || !(await new Promise<boolean>((wake) => this.#waiting.push(wake)))) {
        throw tooMany(reservation.retryAfter);
      }
    }
  }

  async #giveBack(reservation: Allowed): Promise<void> {
    await (async () => reservation.refund())().catch(() => {});
    this.#leave(true);
  }

  #leave(isFree: boolean): void {
    // Its place goes to the one that is woken, or the others would take it for the last.
    const next = isFree ? this.#waiting.shift() : undefined;
    if (next !== undefined) {
      next(true);
      return;
    }
    this.#busy--;
    if (this.#busy > 0) return;
    for (const refuse of this.#waiting.splice(0)) refuse(false);
    this.#onIdle();
  }
}

const tooMany = (retryAfter: number): MarketgateError =>
  new MarketgateError('too_many_attempts', 'too many purchase codes that the service said no to', {
    retryAfter: Math.max(1, retryAfter),
  });
