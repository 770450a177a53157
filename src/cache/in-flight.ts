import { LightSignal, onAbort } from '../deadline.js';
import type { LookupMessage } from '../diagnostics.js';

/**
 * A request in progress that several callers wait for. A caller's abort does not fail the others. The request
 * is aborted when the last caller has left.
 */
export class InFlight<T> {
  /** Ends the request for all its callers; by itself when the last one has left. */
  readonly signal = new LightSignal();
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
        if (this.#callers === 0) this.signal.abort(signal.reason);
      });
      this.#answer.then(resolve, reject).finally(stop);
    });
  }
}

/** A lookup that has begun and has no answer yet; callers join it. */
export class Lookup<T> extends InFlight<T> {
  /** Where it is looking, and so where its answer or failure comes from. */
  source: LookupMessage['source'] = 'service';
  /** The number of its request to the service, in the order of this process; infinite before that. */
  requestNumber = Number.POSITIVE_INFINITY;
  /** By `performance.now`. */
  readonly begun = performance.now();
  /** The key was invalidated, or a later negative answer arrived: its answer is not served. */
  isOutdated = false;
  /** A later positive answer arrived: its own is not cached, and is served only if the later one is gone. */
  isSuperseded = false;

  constructor(
    readonly key: string,
    readonly spelling: string,
    readonly isFresh: boolean,
    answer: (lookup: Lookup<T>) => Promise<T>,
    onEnd: () => void,
  ) {
    super((self) => answer(self as Lookup<T>), onEnd);
  }
}

export interface RequestOptions {
  /** Ends the request: its last caller has left, or the client was closed. */
  readonly signal: LightSignal;
  /** Whether a positive answer is cached, which a negative one would invalidate. */
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
