import { onAbort } from '../deadline.js';
import type { LookupMessage } from '../diagnostics.js';

/**
 * A request in progress that several callers wait for. One caller's abort does not fail the others; the
 * request itself ends when the last caller has left.
 */
export class InFlight<T> {
  readonly #controller = new AbortController();
  readonly #answer: Promise<T>;
  #callers = 0;
  /** Whether a caller waits that cannot leave. */
  #isPinned = false;

  constructor(request: (signal: AbortSignal, self: InFlight<T>) => Promise<T>) {
    this.#answer = request(this.#controller.signal, this);
    // Every caller can have left when it fails.
    this.#answer.catch(() => {});
  }

  /** Aborted when its last caller has left. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  get isAborted(): boolean {
    return this.signal.aborted;
  }

  /** Settles when the request has ended, also when no caller waits any more. */
  get ended(): Promise<unknown> {
    return this.#answer.catch(() => {});
  }

  /** Waits for the answer, until the signal is aborted. */
  join(signal: AbortSignal | undefined): Promise<T> {
    if (signal === undefined) {
      this.#isPinned = true;
      return this.#answer;
    }
    this.#callers++;
    return new Promise<T>((resolve, reject) => {
      const stop = onAbort(signal, () => {
        this.#callers--;
        reject(signal.reason);
        if (this.#callers === 0 && !this.#isPinned) this.abort(signal.reason);
      });
      this.#answer.then(resolve, reject).finally(stop);
    });
  }

  /** Ends the request, for all its callers. */
  abort(reason: unknown): void {
    this.#controller.abort(reason);
  }
}

/** A lookup that has begun and has no answer yet; callers join it. */
export class Lookup<T> extends InFlight<T> {
  /** Where it looks at present, and so where its answer or failure comes from. */
  source: LookupMessage['source'] = 'service';
  /** When it asked the service, in the order of this process's requests; infinite before that. */
  asked = Number.POSITIVE_INFINITY;
  /** Set when the key was invalidated, or a later negative answer arrived: its answer is not served. */
  isOutdated = false;
  /** Set when a later positive answer arrived: its own is served, and not cached. */
  isSuperseded = false;

  constructor(
    readonly key: string,
    readonly variant: string,
    readonly isFresh: boolean,
    answer: (lookup: Lookup<T>) => Promise<T>,
  ) {
    // Begins in the next turn, when the cache knows of it.
    super((_signal, self) => Promise.resolve().then(() => answer(self as Lookup<T>)));
  }
}
