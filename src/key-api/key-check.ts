import { isMarketgateError } from '../errors/marketgate-error.js';

/** How long the service's word about a key is believed, in milliseconds. */
const ACCEPTED_FOR = 5 * 60_000;
/** Shorter, so that a shop is back soon after its key was put right. */
const REJECTED_FOR = 60_000;

interface Check {
  readonly key: string;
  readonly result: Promise<void>;
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

  /** Resolves when the service knows the key; rejects when it does not, or when that is not known. */
  confirm(key: string): Promise<void> {
    const last = this.#last;
    const now = this.#clock();
    if (last?.key === key && now < last.until) return last.result;
    const result = this.#ask(key).then(() => {});
    const check: Check = { key, result, until: Number.POSITIVE_INFINITY };
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

  /** Takes in what account/details said to somebody else's question. */
  note(key: string): void {
    this.#last = { key, result: Promise.resolve(), until: this.#clock() + ACCEPTED_FOR };
  }
}
