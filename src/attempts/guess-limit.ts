import { MAX_TIMER_DELAY } from '../deadline.js';
import { MarketgateError } from '../errors.js';
import { latest } from '../latest.js';
import { type Check, positive, readOptions, type Table, wrongOption } from '../options.js';

/** How many failed attempts are allowed: codes, items and logins that the service does not know. */
export interface GuessLimitOptions {
  /** Failed attempts of one client within `windowMs`. Default 10. */
  limit?: number | undefined;
  /** The length of a window in milliseconds. The first attempt of a client begins it. Default 60,000. */
  windowMs?: number | undefined;
  /**
   * Failed attempts of all clients together within a minute. Beyond it, only clients without a failed attempt are let
   * through, so that guesses from many addresses leave customers some of the service's quota. Default 30.
   */
  total?: number | undefined;
}

/** Counts attempts where all processes of a fleet can, such as `RedisGuessLimit` of `marketgate/redis`. */
export interface GuessLimit {
  /**
   * Counts an attempt, right before the service is asked.
   *
   * @param client who asks: an address, or the id that the app's `client` gives.
   * @param scope names the service and the account. Clients of two scopes are counted separately.
   * @returns a function that takes this attempt off the count again, unless its window has ended.
   * @throws MarketgateError `too_many_attempts` with `retryAfter`. After any other error the process counts by itself.
   */
  reserve(client: string, scope: string): Promise<() => void | Promise<void>>;
}

/** What `guessLimit` can be. */
export type GuessLimitOption = GuessLimitOptions | GuessLimit | false;

/** {@link GuessLimitOptions}, checked and complete. */
export type Limits = Readonly<Record<keyof GuessLimitOptions, number>>;

/** Milliseconds in which all clients together have `total`. */
export const MINUTE = 60_000;

const attempts =
  (fallback: number): Check<number> =>
  (owner, name, value) => {
    const limit = positive('failed attempts', fallback)(owner, name, value);
    if (Number.isSafeInteger(limit)) return limit;
    throw wrongOption(owner, name, 'must be a whole number');
  };

const windowMs: Check<number> = (owner, name, value) => {
  const milliseconds = positive('milliseconds', MINUTE)(owner, name, value);
  if (milliseconds <= MAX_TIMER_DELAY) return Math.ceil(milliseconds);
  throw wrongOption(owner, name, `must be at most ${MAX_TIMER_DELAY} (24 days)`);
};

const OPTIONS = {
  limit: attempts(10),
  windowMs,
  total: attempts(30),
} satisfies Table<GuessLimitOptions>;

/** @throws TypeError that names the wrong option. */
export function guessLimits(owner: string, options: GuessLimitOptions): Limits {
  return readOptions(owner, OPTIONS, options);
}

/** @param milliseconds until the client can try again. */
export const tooManyAttempts = (milliseconds: number): MarketgateError =>
  new MarketgateError(
    'too_many_attempts',
    'this client has too many failed attempts: codes, items or logins that the service does not know; wait as long as retryAfter says',
    { retryAfter: Math.max(1, Math.ceil(milliseconds / 1000)) },
  );

/** Attempts in flight, and those that have failed. */
interface Window {
  count: number;
  readonly endsAt: number;
}

/** The most clients that are counted: those with the latest attempts. */
const MAX_CLIENTS = 10_000;

/** Counts in the memory of this process, in fixed windows. */
export class MemoryGuessLimit {
  readonly #clients = latest<string, Window>(MAX_CLIENTS);
  #all: Window = { count: 0, endsAt: 0 };

  /** @param clock milliseconds. */
  constructor(
    private readonly limits: Limits,
    private readonly clock: () => number,
  ) {}

  /** Milliseconds until the client can try again; `undefined`: it can now. */
  waitOf(client: string): number | undefined {
    const { limit, windowMs, total } = this.limits;
    const now = this.clock();
    const own = this.#clients.get(client);
    if (own === undefined || now >= own.endsAt) return undefined;
    // A clock of the app's can have stepped back.
    const left = Math.min(own.endsAt - now, windowMs);
    if (own.count >= limit) return left;
    const isOver = this.#all.count >= total && now < this.#all.endsAt;
    return isOver ? Math.min(left, this.#all.endsAt - now) : undefined;
  }

  /** Counts an attempt. @returns a function that takes it off the count of its own window. */
  reserve(client: string): () => void {
    const now = this.clock();
    let own = this.#clients.get(client);
    if (own === undefined || now >= own.endsAt) {
      own = { count: 0, endsAt: now + this.limits.windowMs };
      this.#clients.set(client, own);
    }
    if (now >= this.#all.endsAt) this.#all = { count: 0, endsAt: now + MINUTE };
    const windows = [own, this.#all];
    for (const window of windows) window.count++;
    return () => {
      for (const window of windows) window.count--;
      // Clients without a failed attempt take no place from the others.
      if (own.count === 0 && this.#clients.peek(client) === own) this.#clients.delete(client);
    };
  }
}
