import { isBetween } from '../deadline.js';
import { isMarketgateError, type MarketgateError } from '../errors.js';

/** Milliseconds that a positive check of a key is remembered. */
const ACCEPTED_FOR = 5 * 60_000;
/** Shorter, so that a shop recovers soon after its key is corrected. */
const REJECTED_FOR = 60_000;
/** The greatest age of a check that lets a negative answer invalidate a positive one, in milliseconds. */
const RECENT = 5000;

/** Whether the service does not know the api_key. */
export const isKeyRejected = (error: unknown): error is MarketgateError =>
  isMarketgateError(error) && error.code === 'api_key_rejected';

/**
 * Checks with account/details that the service knows the api_key. It must know the key before a negative
 * answer counts, because the service answers "Invalid purchase code" also to an unknown key. The result is
 * remembered for some minutes; concurrent callers share one request.
 */
export class KeyCheck {
  readonly #clock: () => number;
  readonly #check: (key: string) => Promise<unknown>;
  #latest: { key: string; result: Promise<unknown>; at: number; until: number } | undefined;

  /** @param check requests account/details, and passes the result to {@link note}. */
  constructor(clock: () => number, check: (key: string) => Promise<unknown>) {
    this.#clock = clock;
    this.#check = check;
  }

  /**
   * Resolves when the service knows the key; rejects when it does not, or cannot be asked.
   * @param isInvalidating - whether the negative answer would invalidate a positive one: then only a recent check
   * counts.
   */
  confirm(key: string, isInvalidating = false): Promise<unknown> {
    const now = this.#clock();
    const latest = this.#latest;
    if (latest?.key === key && isBetween(latest.at, now, latest.until)) {
      if (!isInvalidating || now - latest.at < RECENT) return latest.result;
    }
    const result = this.#check(key);
    const inFlight = { key, result, at: now, until: Number.POSITIVE_INFINITY };
    this.#latest = inFlight;
    result.catch(() => {
      // An outage says nothing about the key. A rejected key is remembered by `note`.
      if (this.#latest === inFlight) this.#latest = undefined;
    });
    return result;
  }

  /** Remembers the result of a request of account/details. Never rejects. */
  async note(key: string, result: Promise<unknown>): Promise<void> {
    const remember = (milliseconds: number): void => {
      const at = this.#clock();
      this.#latest = { key, result, at, until: at + milliseconds };
    };
    await result.then(
      () => remember(ACCEPTED_FOR),
      (error: unknown) => {
        if (isKeyRejected(error)) remember(REJECTED_FOR);
      },
    );
  }
}
