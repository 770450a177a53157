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
  /** The last answer about a key. `rejection`: why the service does not know it; `undefined`: it does. */
  #last: { key: string; rejection: MarketgateError | undefined; at: number } | undefined;
  readonly #inFlight = new Map<string, Promise<unknown>>();

  /**
   * @param clock milliseconds.
   * @param getAccount requests account/details, and notes the result: only a known key gets an answer.
   */
  constructor(
    private readonly clock: () => number,
    private readonly getAccount: (key: string) => Promise<unknown>,
  ) {}

  /**
   * Resolves when the service knows the key; rejects when it does not, or cannot be asked. Concurrent callers share one
   * request.
   * @param isDoubted whether only a recent check counts: the negative answer would invalidate a positive one, or
   * blames the key.
   */
  async confirm(key: string, isDoubted = false): Promise<void> {
    const last = this.#last;
    const life = isDoubted ? RECENT : last?.rejection ? REJECTED_FOR : ACCEPTED_FOR;
    // What is remembered counts also while it is checked again, because an outage says nothing about the key.
    if (last?.key === key && this.clock() - last.at < life) {
      if (last.rejection !== undefined) throw last.rejection;
      return;
    }
    const check =
      this.#inFlight.get(key) ?? this.getAccount(key).finally(() => this.#inFlight.delete(key));
    this.#inFlight.set(key, check);
    await check;
  }

  /** Remembers an answer of account/details to this key. */
  note(key: string, rejection?: MarketgateError): void {
    this.#last = { key, rejection, at: this.clock() };
  }
}
