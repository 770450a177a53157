import { MarketgateError } from '../errors/marketgate-error.js';

type EndListener = (reason: unknown) => void;

/**
 * How long one call may take, with all that it does: connecting, retries, the waits between them,
 * the check of the key. Ends by time, or by the caller's `AbortSignal`, whichever comes first.
 *
 * It is one plain timer and not an `AbortSignal.timeout`, which costs as much as the request itself.
 */
export class Deadline {
  readonly #endsAt: number;
  readonly #timer: NodeJS.Timeout;
  readonly #signal: AbortSignal | undefined;
  readonly #listeners = new Set<EndListener>();
  #ended = false;
  #reason: unknown;

  /** @param what names the call in the error, as in "GET /api/items/all". */
  constructor(what: string, milliseconds: number, signal?: AbortSignal) {
    this.#endsAt = performance.now() + milliseconds;
    this.#timer = setTimeout(() => {
      this.#end(
        new MarketgateError(
          'service_unavailable',
          `${what}: no answer within ${milliseconds} ms; the service is slow or down, or "timeout" is too short`,
        ),
      );
    }, milliseconds);
    this.#signal = signal;
    if (signal?.aborted) this.#end(signal.reason);
    else signal?.addEventListener('abort', this.#onAbort, { once: true });
  }

  get ended(): boolean {
    return this.#ended;
  }

  /** Why it ended: what the call rejects with. */
  get reason(): unknown {
    return this.#reason;
  }

  /** Milliseconds that are left. */
  get remaining(): number {
    return this.#ended ? 0 : Math.max(0, this.#endsAt - performance.now());
  }

  /** Calls `listener` when it ends, at once if it has. Returns a function that takes it off again. */
  onEnd(listener: EndListener): () => void {
    if (this.#ended) {
      listener(this.#reason);
      return () => {};
    }
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Waits for `promise`, but not longer than the deadline. The promise itself goes on. */
  race<T>(promise: Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const off = this.onEnd(reject);
      promise.then(resolve, reject).finally(off);
    });
  }

  /** Waits, but not longer than the deadline. */
  wait(milliseconds: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        off();
        resolve();
      }, milliseconds);
      const off = this.onEnd((reason) => {
        clearTimeout(timer);
        reject(reason);
      });
    });
  }

  /** Must be called when the call is over, or the timer holds the process. */
  dispose(): void {
    clearTimeout(this.#timer);
    this.#signal?.removeEventListener('abort', this.#onAbort);
    this.#listeners.clear();
  }

  readonly #onAbort = (): void => this.#end(this.#signal?.reason);

  #end(reason: unknown): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#reason = reason;
    const listeners = [...this.#listeners];
    this.dispose();
    for (const listener of listeners) listener(reason);
  }
}
