import { onAbort } from '../deadline.js';

/**
 * A request in progress that several callers wait for. A caller's abort does not fail the others. The request
 * is aborted when the last caller has left.
 */
export class InFlight<T> {
  readonly #controller = new AbortController();
  /** Aborted when the last caller has left, and by {@link abort}. */
  readonly signal = this.#controller.signal;
  readonly #answer: Promise<T>;
  /** Infinite once a caller without a signal has joined, which cannot leave. */
  #callers = 0;

  /** @param onEnd - called when the request has ended, also when no caller waits any more. */
  constructor(request: (self: InFlight<T>) => Promise<T>, onEnd: () => void) {
    // Begins in a microtask, when its owner has registered it.
    this.#answer = Promise.resolve(this).then(request);
    // This also handles the rejection when every caller has left.
    void this.#answer.then(onEnd, onEnd);
  }

  /** Ends the request for all its callers. */
  abort(reason: unknown): void {
    this.#controller.abort(reason);
  }

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
        if (this.#callers === 0) this.abort(signal.reason);
      });
      this.#answer.then(resolve, reject).finally(stop);
    });
  }
}

/** Options of one request to the service. */
export interface RequestOptions {
  /** Ends the request: its last caller has left, or the client was closed. */
  readonly signal: AbortSignal;
  /** Whether a positive answer is known, which a negative one would invalidate. */
  readonly hadPositive: boolean;
  /** Milliseconds of the call that have elapsed. */
  readonly elapsed: number;
}

/** Options of one call. */
export interface CallOptions {
  /** Ends this call when aborted; it rejects with the signal's reason. Calls that share the request go on. */
  signal?: AbortSignal | undefined;
  /** Asks the service even if the answer is cached, and caches the new answer. Default false. */
  fresh?: boolean | undefined;
  /** Called when the answer comes from a cache, this process's own or the shared one. */
  onCached?: (() => void) | undefined;
}
