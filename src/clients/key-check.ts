import { isMarketgateError, type MarketgateError } from '../errors.js';

/** Milliseconds that the service is believed to know a key. */
const KNOWN_FOR = 5 * 60_000;
/** The same where an answer blames the key, and milliseconds that a rejection is believed: a key can be corrected any time. */
const DOUBTED_FOR = 5000;

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
   * @param isDoubted whether an answer blames the key: then only a recent check counts.
   */
  async confirm(key: string, isDoubted: boolean): Promise<void> {
    const last = this.#last;
    const life = isDoubted || last?.rejection ? DOUBTED_FOR : KNOWN_FOR;
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
