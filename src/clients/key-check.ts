import { isMarketgateError, type MarketgateError } from '../errors.js';

/** How long the service's word about a key is believed, in milliseconds. */
const ACCEPTED_FOR = 5 * 60_000;
/** Shorter, so that a shop is back soon after its key was put right. */
const REJECTED_FOR = 60_000;
/** How old a check may be that lets a no erase a customer's yes, in milliseconds. */
const JUST_NOW = 5000;

interface Check {
  readonly key: string;
  readonly result: Promise<void>;
  /** When it was asked. */
  readonly at: number;
  until: number;
}

/**
 * The service says "Invalid purchase code" also to an unknown api_key. So before the first *no* of a
 * key is believed, account/details is asked whether the key is known at all. The result is remembered
 * for some minutes; callers at the same time share one question.
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
   * @param isGrave - the no would take something from a customer: only a check of just now counts.
   */
  confirm(key: string, isGrave = false): Promise<void> {
    const last = this.#last;
    const now = this.#clock();
    const isRemembered = last?.key === key && now < last.until;
    if (isRemembered && !(isGrave && now - last.at >= JUST_NOW)) return last.result;
    const result = this.#ask(key).then(() => {});
    const check: Check = { key, result, at: now, until: Number.POSITIVE_INFINITY };
    this.#last = check;
    result.then(
      () => {
        check.until = this.#clock() + ACCEPTED_FOR;
      },
      (error: unknown) => {
        const rejected = isMarketgateError(error) && error.code === 'api_key_rejected';
        // An outage says nothing about the key.
        check.until = rejected ? this.#clock() + REJECTED_FOR : Number.NEGATIVE_INFINITY;
      },
    );
    return result;
  }

  /** Takes in what account/details said to somebody else's question: nothing, or the rejection. */
  note(key: string, rejection?: MarketgateError): void {
    const at = this.#clock();
    const result = rejection ? Promise.reject<void>(rejection) : Promise.resolve();
    // Handled here as well, for nobody may ever ask.
    result.catch(() => {});
    this.#last = { key, result, at, until: at + (rejection ? REJECTED_FOR : ACCEPTED_FOR) };
  }
}
