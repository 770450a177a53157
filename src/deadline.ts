import { setMaxListeners } from 'node:events';

/**
 * A limit of time, for a call or a part of one. It ends by time, by its caller or by {@link abort}, whichever comes first; the
 * reason is what the call rejects with.
 */
export class Deadline {
  /** Whether the caller ended it, which says nothing about the service. */
  isAbortedByCaller = false;
  /** Whether a request has been handed to what sends it. Time that ran out before that says nothing about the service. */
  isSent = false;
  readonly #endsAt: number;
  readonly #timer: NodeJS.Timeout | undefined;
  readonly #stopListening: (() => void) | undefined;
  #end: { readonly reason: unknown } | undefined;
  /** Rejects {@link #ended}. */
  #reject: (reason: unknown) => void = () => {};
  readonly #ended = new Promise<never>((_resolve, reject) => {
    this.#reject = reject;
  });
  #controller: AbortController | undefined;

  /**
   * @param milliseconds - can be infinite.
   * @param exceeded - makes the error that the call rejects with when its time has elapsed.
   * @param caller - ends the call early; or the deadline that this one is a part of.
   */
  constructor(milliseconds: number, exceeded: () => unknown, caller?: AbortSignal | Deadline) {
    this.#endsAt = performance.now() + milliseconds;
    // Node.js runs timers before it reads sockets, and `setImmediate` after. So when the process has stalled,
    // a response that arrived in time is read before the call ends.
    if (milliseconds < Number.POSITIVE_INFINITY) {
      this.#timer = setTimeout(setImmediate, milliseconds, () => this.abort(exceeded()));
    }
    this.#ended.catch(() => {});
    if (caller instanceof Deadline) {
      caller.#ended.catch((reason) => this.#leave(reason, caller.isAbortedByCaller));
    } else if (caller !== undefined) {
      this.#stopListening = onAbort(caller, () => this.#leave(caller.reason, true));
    }
  }

  /** For what takes an `AbortSignal`. Made when it is first read, because only what sends a request needs one. */
  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#end !== undefined) this.#controller.abort(this.#end.reason);
    return this.#controller.signal;
  }

  get aborted(): boolean {
    return this.#end !== undefined;
  }

  abort(reason: unknown): void {
    if (this.aborted) return;
    this.dispose();
    this.#end = { reason };
    this.#reject(reason);
    this.#controller?.abort(reason);
  }

  #leave(reason: unknown, isByCaller: boolean): void {
    if (this.aborted) return;
    this.isAbortedByCaller = isByCaller;
    this.abort(reason);
  }

  throwIfAborted(): void {
    if (this.#end !== undefined) throw this.#end.reason;
  }

  get remaining(): number {
    return this.aborted ? 0 : Math.max(0, this.#endsAt - performance.now());
  }

  /** Waits for `promise` until the deadline ends. The promise itself goes on. */
  race<T>(promise: T | Promise<T>): Promise<T> {
    return Promise.race([promise, this.#ended]);
  }

  wait(milliseconds: number): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const elapsed = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, milliseconds);
    });
    return this.race(elapsed).finally(() => clearTimeout(timer));
  }

  /** Must be called when the call has ended; otherwise the timer keeps the process alive. */
  dispose(): void {
    clearTimeout(this.#timer);
    this.#stopListening?.();
  }
}

/** The longest delay of a timer, in milliseconds. With a longer one, it fires at once. */
export const MAX_TIMER_DELAY = 2 ** 31 - 1;

/** A call ended without an answer, or was not sent. The message says why and reveals no secret. */
export class NoAnswer extends Error {}

/**
 * Runs `work`, and waits for it within the limit. Rejects with {@link NoAnswer}, or with what `work` rejects with.
 * @param milliseconds can be infinite.
 */
export function withTimeout<T>(milliseconds: number, work: () => T | Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const result = Promise.resolve(work());
    const exceeded = () => reject(new NoAnswer(`did not answer within ${milliseconds} ms`));
    // As in a {@link Deadline}, which would cost a hit in Redis three more promises.
    const isLimited = milliseconds < Number.POSITIVE_INFINITY;
    const timer = isLimited ? setTimeout(setImmediate, milliseconds, exceeded) : undefined;
    result.then(
      (value) => {
        clearTimeout(timer);
        resolve(value);
      },
      (error) => {
        clearTimeout(timer);
        reject(error);
      },
    );
  });
}

/** Runs `task` later. Does not keep the process alive. */
export const schedule = (milliseconds: number, task: () => void): void =>
  void setTimeout(task, milliseconds).unref();

/** @throws the reason of an aborted signal, and a TypeError for what is no signal. */
export function checkSignal(signal: AbortSignal): void {
  if (typeof (signal as AbortSignal | null)?.throwIfAborted !== 'function') {
    throw new TypeError('option "signal" must be an AbortSignal');
  }
  signal.throwIfAborted();
}

/**
 * Calls `listener` when the signal is aborted, or at once if it has been. Not `AbortSignal.any`, which on Node.js 20 keeps
 * an entry for each call in a signal that lives long.
 * @returns a function that stops listening.
 */
export function onAbort(signal: AbortSignal, listener: () => void): () => void {
  if (signal.aborted) {
    listener();
    return () => {};
  }
  // An app can pass one signal to any number of calls. Node.js would warn about more than ten. With 0, undici's `fetch`
  // refuses the signal on Node.js 20.
  try {
    setMaxListeners(Number.POSITIVE_INFINITY, signal);
  } catch {
    // A signal of jsdom's or happy-dom's, where tests run in such an environment: that has no such limit.
  }
  signal.addEventListener('abort', listener, { once: true });
  return () => signal.removeEventListener('abort', listener);
}
