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

interface Check {
  readonly key: string;
  readonly result: Promise<unknown>;
  /** When it was asked. */
  readonly at: number;
  until: number;
}

/**
 * The service says "Invalid purchase code" also to an unknown api_key. So before the first negative answer
 * of a key is believed, account/details is asked whether the key is known at all. The result is
 * remembered for some minutes; concurrent callers share one request.
 */
export class KeyCheck {
  readonly #clock: () => number;
  readonly #ask: (key: string) => Promise<unknown>;
  #last: Check | undefined;

  /** @param ask calls account/details; rejects with `api_key_rejected` when the key is unknown. */
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
    const isRemembered = last?.key === key && now < last.until;
    if (isRemembered && !(isGrave && now - last.at >= JUST_NOW)) return last.result;
    const result = this.#ask(key);
    const check: Check = { key, result, at: now, until: Number.POSITIVE_INFINITY };
    this.#last = check;
    result.then(
      () => {
        check.until = this.#clock() + ACCEPTED_FOR;
      },
      (error: unknown) => {
        // An outage says nothing about the key.
        check.until = isKeyRejected(error)
          ? this.#clock() + REJECTED_FOR
          : Number.NEGATIVE_INFINITY;
      },
    );
    return result;
  }

  /** Remembers what account/details answered to another caller: the account, or the rejection. */
  note(key: string, rejection?: MarketgateError): void {
    const at = this.#clock();
    const result = rejection ? Promise.reject(rejection) : Promise.resolve();
    // Perhaps nobody ever asks.
    result.catch(() => {});
    this.#last = { key, result, at, until: at + (rejection ? REJECTED_FOR : ACCEPTED_FOR) };
  }
}
