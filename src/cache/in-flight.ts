import { onAbort } from '../deadline.js';

/**
 * A request in progress that several callers wait for. A caller's abort does not fail the others. The request
 * is aborted when the last caller has left.
 */
export class InFlight<T> {
  /** Made when it is needed, because an answer of the shared cache needs none. */
  #controller: AbortController | undefined;
  readonly #answer: Promise<T>;
  /** Infinite once a caller without a signal has joined, which cannot leave. */
  #callers = 0;

  /** @param onEnd - called when the request has ended, with its error; also when no caller waits any more. */
  constructor(request: () => Promise<T>, onEnd: (failure?: { error: unknown }) => void) {
    // Begins in a microtask, when its owner has registered it.
    this.#answer = Promise.resolve().then(request);
    // This also handles the rejection when every caller has left.
    void this.#answer.then(
      () => onEnd(),
      (error: unknown) => onEnd({ error }),
    );
  }

  /** Ends the request. */
  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    return this.#controller.signal;
  }

  get isAborted(): boolean {
    return this.#controller?.signal.aborted === true;
  }

  /** Waits for the answer. Rejects with the signal's reason when that is aborted first. */
  join(signal?: AbortSignal): Promise<T> {
    if (signal === undefined) {
      this.#callers = Number.POSITIVE_INFINITY;
      return this.#answer;
    }
    this.#callers++;
    return new Promise<T>((resolve, reject) => {
      const stop = onAbort(signal, () => {
        this.#callers--;
        reject(signal.reason);
        if (this.#callers > 0) return;
        this.#controller ??= new AbortController();
        this.#controller.abort(signal.reason);
      });
      this.#answer.then(resolve, reject).finally(stop);
    });
  }
}
