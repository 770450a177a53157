import { isBetween } from '../deadline.js';
import { isMarketgateError, type MarketgateError } from '../errors.js';

/** How long a key is known to be accepted, in milliseconds. */
const ACCEPTED_FOR = 5 * 60_000;
/** Shorter, so that a shop is back soon after its key was put right. */
const REJECTED_FOR = 60_000;
/** How old a check can be when a negative answer would withdraw a positive one, in milliseconds. */
const JUST_NOW = 5000;

/** Whether the service said that it does not know the api_key. */
export const isKeyRejected = (error: unknown): error is MarketgateError =>
  isMarketgateError(error) && error.code === 'api_key_rejected';

/**
 * The service says "Invalid purchase code" also to an unknown api_key. So before the first negative answer
 * of a key is believed, account/details is asked whether the key is known at all. The result is
 * remembered for some minutes; concurrent callers share one request.
 */
export class KeyCheck {
  readonly #clock: () => number;
  readonly #ask: (key: string) => Promise<unknown>;
  #last: { key: string; result: Promise<unknown>; at: number; until: number } | undefined;

  /** @param ask calls account/details, and {@link note}. */
  constructor(clock: () => number, ask: (key: string) => Promise<unknown>) {
    this.#clock = clock;
    this.#ask = ask;
  }

  /**
   * Resolves when the service knows the key; rejects when it does not, or when that is not known.
   * @param isGrave - the negative answer would withdraw a positive one: only a check of just now counts.
   */
  confirm(key: string, isGrave = false): Promise<unknown> {
    const last = this.#last;
    const now = this.#clock();
    const isRemembered = last?.key === key && isBetween(last.at, now, last.until);
    if (last !== undefined && isRemembered && !(isGrave && now - last.at >= JUST_NOW))
      return last.result;
    const result = this.#ask(key);
    const check = { key, result, at: now, until: Number.POSITIVE_INFINITY };
    this.#last = check;
    result.catch(() => {
      // An outage says nothing about the key.
      if (this.#last === check) this.#last = undefined;
    });
    return result;
  }

  /** Remembers what account/details answers about a key. */
  async note(key: string, answer: Promise<unknown>): Promise<void> {
    const remember = (milliseconds: number): void => {
      const at = this.#clock();
      this.#last = { key, result: answer, at, until: at + milliseconds };
    };
    await answer.then(
      () => remember(ACCEPTED_FOR),
      (error: unknown) => {
        if (isKeyRejected(error)) remember(REJECTED_FOR);
      },
    );
  }
}
