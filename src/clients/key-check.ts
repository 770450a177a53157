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
 * Whether the service knows the api_key, remembered for some minutes. It must know the key before a negative
 * answer counts, because the service answers "Invalid purchase code" also to an unknown key.
 */
export class KeyCheck {
  readonly #clock: () => number;
  readonly #getAccount: (key: string) => Promise<unknown>;
  #latest: { key: string; result: Promise<unknown>; at: number; until: number } | undefined;

  /** @param getAccount requests account/details: only a known key gets an answer. */
  constructor(clock: () => number, getAccount: (key: string) => Promise<unknown>) {
    this.#clock = clock;
    this.#getAccount = getAccount;
  }

  /**
   * Resolves when the service knows the key; rejects when it does not, or cannot be asked. Concurrent
   * callers share one request.
   * @param isInvalidating whether the negative answer would invalidate a positive one: then only a recent
   * check counts.
   */
  confirm(key: string, isInvalidating = false): Promise<unknown> {
    const now = this.#clock();
    const latest = this.#latest;
    if (latest?.key === key && isBetween(latest.at, now, latest.until)) {
      if (!isInvalidating || now - latest.at < RECENT) return latest.result;
    }
    const result = this.#getAccount(key);
    this.#latest = { key, result, at: now, until: Number.POSITIVE_INFINITY };
    void this.note(key, result);
    return result;
  }

  /** Remembers the result of a request of account/details. Never rejects. */
  async note(key: string, result: Promise<unknown>): Promise<void> {
    const error: unknown = await result.then(() => undefined, Object);
    if (error === undefined || isKeyRejected(error)) {
      const at = this.#clock();
      this.#latest = { key, result, at, until: at + (error ? REJECTED_FOR : ACCEPTED_FOR) };
    } else if (this.#latest?.result === result) {
      // An outage says nothing about the key.
      this.#latest = undefined;
    }
  }
}
