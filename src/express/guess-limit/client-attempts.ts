import { MarketgateError } from '../../errors/marketgate-error.js';
import type { Reservation } from '../../stores/guess-limit/guess-limit.js';

/** Asks the service about a code; calls `onShared` when another process had asked before. */
export type Ask<T> = (how: { onShared?: () => void }) => Promise<T | null>;

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
  readonly #byCode = new Map<string, Promise<unknown>>();
  /** Wakes one that waits: `true` when an attempt was given back to it. */
  readonly #waiting: ((isFree: boolean) => void)[] = [];
  /** How many are being reserved or asked; those that wait are not among them. */
  #busy = 0;
  readonly #onIdle: () => void;

  /** @param onIdle is called when the last attempt has ended. */
  constructor(onIdle: () => void) {
    this.#onIdle = onIdle;
  }

  /** @throws MarketgateError `too_many_attempts`, and whatever `ask` throws. */
  attempt<T>(code: string, reserve: () => Promise<Reservation>, ask: Ask<T>): Promise<T | null> {
    const same = this.#byCode.get(code);
    if (same !== undefined) return same as Promise<T | null>;
    const answer = this.#run(reserve, ask, () => this.#byCode.delete(code));
    this.#byCode.set(code, answer);
    return answer;
  }

  async #run<T>(
    reserve: () => Promise<Reservation>,
    ask: Ask<T>,
    end: () => void,
  ): Promise<T | null> {
    let reservation: Allowed;
    try {
      reservation = await this.#enter(reserve);
    } catch (error) {
      end();
      throw error;
    }
    let isCounted = false;
    let isShared = false;
    try {
      const answer = await ask({
        onShared: () => {
          isShared = true;
        },
      });
      // What another process has asked was counted there.
      isCounted = answer === null && !isShared;
      return answer;
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
