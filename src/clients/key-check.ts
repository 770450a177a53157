import { InFlight } from '../cache/in-flight.js';
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

interface Check {
  readonly key: string;
  /** Why the service does not know the key; `undefined`: it does. */
  readonly rejection: MarketgateError | undefined;
  /** When the answer came, by the clock for durations. */
  readonly at: number;
}

/**
 * Whether the service knows the api_key, remembered for some minutes. It must know the key before a negative
 * answer counts, because the service answers "Invalid purchase code" also to an unknown key.
 */
export class KeyCheck {
  #last: Check | undefined;
  #inFlight: { readonly key: string; readonly request: InFlight<void> } | undefined;

  /** @param getAccount requests account/details, and notes the result: only a known key gets an answer. */
  constructor(
    private readonly clock: () => number,
    private readonly getAccount: (key: string, signal: AbortSignal) => Promise<unknown>,
  ) {}

  /**
   * Resolves when the service knows the key; rejects when it does not, or cannot be asked. Concurrent
   * callers share one request, which ends when all of them have left.
   * @param isDoubted whether only a recent check counts: the negative answer would invalidate a positive one, or
   * blames the key.
   */
  async confirm(key: string, caller: AbortSignal | undefined, isDoubted = false): Promise<void> {
    const last = this.#last;
    // What is remembered counts also while it is checked again, because an outage says nothing about the key.
    if (last?.key === key && this.clock() - last.at < lifeOf(last, isDoubted)) {
      if (last.rejection !== undefined) throw last.rejection;
      return;
    }
    const current = this.#inFlight;
    if (current?.key === key && !current.request.signal.aborted)
      return current.request.join(caller);
    const request: InFlight<void> = new InFlight(
      async ({ signal }) => void (await this.getAccount(key, signal)),
      () => {
        if (this.#inFlight?.request === request) this.#inFlight = undefined;
      },
    );
    this.#inFlight = { key, request };
    await request.join(caller);
  }

  /** Remembers how a request of account/details with this key ended, if that says whether the service knows it. */
  note(key: string, error?: unknown): void {
    if (error !== undefined && !isKeyRejected(error)) return;
    this.#last = { key, rejection: error, at: this.clock() };
  }
}

const lifeOf = ({ rejection }: Check, isDoubted: boolean): number =>
  isDoubted ? RECENT : rejection === undefined ? ACCEPTED_FOR : REJECTED_FOR;
