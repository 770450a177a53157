import { MarketgateError } from './errors.js';

/** Who must know when a call is over. An object and not a function, for one is made for every call. */
export interface EndListener {
  onEnd(reason: unknown): void;
}

/**
 * How long one call may take, with all that it does: connecting, retries, the waits between them,
 * the check of the key. Ends by time, or by the caller's `AbortSignal`, whichever comes first.
 *
 * It is one plain timer and not an `AbortSignal.timeout`, which costs as much as the request itself.
 */
export class Deadline {
  readonly #what: string;
  readonly #milliseconds: number;
  readonly #endsAt: number;
  readonly #timer: NodeJS.Timeout;
  readonly #stopListening: (() => void) | undefined;
  // There is one at a time, but for rare cases: a set for each call would cost more than its timer.
  #listener: EndListener | undefined;
  #more: Set<EndListener> | undefined;
  readonly #calls: Set<Deadline> | undefined;
  #ended = false;
  #isAborted = false;
  #reason: unknown;

  /**
   * @param what names the call in the error, as in "GET /api/items/all".
   * @param calls the calls of its client that have not ended: it is among them until then.
   */
  constructor(what: string, milliseconds: number, signal?: AbortSignal, calls?: Set<Deadline>) {
    this.#what = what;
    this.#milliseconds = milliseconds;
    this.#calls = calls;
    calls?.add(this);
    this.#endsAt = performance.now() + milliseconds;
    this.#timer = setTimeout(Deadline.#expire, milliseconds, this);
    if (signal === undefined) return;
    const abort = (): void => {
      this.#isAborted = !this.#ended;
      this.#end(signal.reason);
    };
    if (signal.aborted) abort();
    else this.#stopListening = onAbort(signal, abort);
  }

  static #expire(this: void, deadline: Deadline): void {
    deadline.#end(
      new MarketgateError(
        'service_unavailable',
        `${deadline.#what}: no answer within ${Math.round(deadline.#milliseconds)} ms; the service is slow or down, or "timeout" is too short`,
      ),
    );
  }

  /** Its client was closed: whatever the call waits for, it ends now. */
  close(): void {
    this.#end(closedError(this.#what));
  }

  get ended(): boolean {
    return this.#ended;
  }

  /** Whether the caller ended it: whatever its reason is, it says nothing about the service. */
  get isAborted(): boolean {
    return this.#isAborted;
  }

  /** Why it ended: what the call rejects with. */
  get reason(): unknown {
    return this.#reason;
  }

  /** Milliseconds that are left. */
  get remaining(): number {
    return this.#ended ? 0 : Math.max(0, this.#endsAt - performance.now());
  }

  /** Tells `listener` when it ends, at once if it has. */
  listen(listener: EndListener): void {
    if (this.#ended) {
      listener.onEnd(this.#reason);
    } else if (this.#listener === undefined) {
      this.#listener = listener;
    } else {
      this.#more ??= new Set();
      this.#more.add(listener);
    }
  }

  /** Tells it no more. */
  leave(listener: EndListener): void {
    if (this.#listener === listener) this.#listener = undefined;
    else this.#more?.delete(listener);
  }

  /** Waits for `promise`, but not longer than the deadline. The promise itself goes on. */
  race<T>(promise: Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const listener: EndListener = { onEnd: reject };
      this.listen(listener);
      promise.then(
        (value) => {
          this.leave(listener);
          resolve(value);
        },
        (error: unknown) => {
          this.leave(listener);
          reject(error);
        },
      );
    });
  }

  /** Between slices of long work: others have their turn. Rejects when the deadline ended meanwhile. */
  turn(): Promise<void> {
    return new Promise((resolve, reject) => {
      setImmediate(() => {
        if (this.#ended) reject(this.#reason);
        else resolve();
      });
    });
  }

  /** Waits, but not longer than the deadline. */
  wait(milliseconds: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const listener: EndListener = {
        onEnd(reason) {
          clearTimeout(timer);
          reject(reason);
        },
      };
      const timer = setTimeout(() => {
        this.leave(listener);
        resolve();
      }, milliseconds);
      this.listen(listener);
    });
  }

  /** Must be called when the call is over, or the timer holds the process. */
  dispose(): void {
    clearTimeout(this.#timer);
    this.#stopListening?.();
    this.#calls?.delete(this);
    this.#listener = undefined;
    this.#more = undefined;
  }

  #end(reason: unknown): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#reason = reason;
    const listeners = [this.#listener, ...(this.#more ?? [])];
    this.dispose();
    for (const listener of listeners) listener?.onEnd(reason);
  }
}

/** What a call ends with when its client is closed. */
export const closedError = (what: string): MarketgateError =>
  new MarketgateError('service_unavailable', `${what}: this client was closed`);

/** What waits for each signal, and the one event listener that it has for all of them. */
const waiting = new WeakMap<AbortSignal, { readonly all: Set<() => void>; onEvent: () => void }>();

/**
 * Calls `listener` when the signal is aborted. However many calls share one signal, it gets one event
 * listener: Node prints a warning when there are more than ten. None stays when nobody waits any more.
 *
 * @returns stops listening.
 */
export function onAbort(signal: AbortSignal, listener: () => void): () => void {
  let entry = waiting.get(signal);
  if (entry === undefined) {
    const all = new Set<() => void>();
    const onEvent = (): void => {
      waiting.delete(signal);
      for (const each of [...all]) each();
    };
    signal.addEventListener('abort', onEvent, { once: true });
    entry = { all, onEvent };
    waiting.set(signal, entry);
  }
  const { all, onEvent } = entry;
  all.add(listener);
  return () => {
    all.delete(listener);
    if (all.size > 0 || waiting.get(signal)?.all !== all) return;
    waiting.delete(signal);
    signal.removeEventListener('abort', onEvent);
  };
}

/**
 * A clock that never goes back, made of one that can: durations measured by it stay as long as they are
 * when the wall clock is set back, so that no cached answer, key check or backoff outlives its time.
 * A clock that jumps ahead ends them early.
 */
export function monotonic(clock: () => number): () => number {
  let offset = 0;
  let last = Number.NEGATIVE_INFINITY;
  return () => {
    let now = clock() + offset;
    if (now < last) {
      offset += last - now;
      now = last;
    }
    last = now;
    return now;
  };
}
