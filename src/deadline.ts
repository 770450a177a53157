import { EventEmitter, setMaxListeners } from 'node:events';

/**
 * What an `AbortController` and its signal are, in one: an `AbortController` for each call and each lookup costs a quarter
 * of an HTTP request. undici takes any emitter of `abort` as a signal.
 */
export class Ending extends EventEmitter<{ abort: [] }> {
  aborted = false;
  reason: unknown;
  #signal: AbortSignal | undefined;

  /** An `AbortSignal` that is aborted with it, for `fetch`. */
  get signal(): AbortSignal {
    if (this.#signal === undefined) {
      const controller = new AbortController();
      onAbort(this, () => controller.abort(this.reason));
      this.#signal = controller.signal;
    }
    return this.#signal;
  }

  abort(reason: unknown): void {
    if (this.aborted) return;
    this.aborted = true;
    this.reason = reason;
    this.emit('abort');
  }

  throwIfAborted(): void {
    if (this.aborted) throw this.reason;
  }
}

/**
 * The time limit of one call, with everything that it waits for. It ends by time, by its caller or by {@link abort},
 * whichever comes first; the reason is what the call rejects with.
 */
export class Deadline extends Ending {
  /** Whether the caller ended it, which says nothing about the service. */
  isAbortedByCaller = false;
  /** Whether a request has been handed to what sends it. Time that ran out before that says nothing about the service. */
  isSent = false;
  readonly #endsAt: number;
  readonly #timer: NodeJS.Timeout;
  readonly #ended: Promise<never>;
  readonly #stopListening: (() => void) | undefined;

  /**
   * @param exceeded makes the error that the call rejects with when its time has elapsed.
   * @param caller ends the call early.
   */
  constructor(milliseconds: number, exceeded: () => unknown, caller?: AbortSignal | Ending) {
    super();
    this.#endsAt = performance.now() + milliseconds;
    // Node.js runs timers before it reads sockets, and `setImmediate` after. So when the process has stalled,
    // a response that arrived in time is read before the call ends.
    this.#timer = setTimeout(setImmediate, milliseconds, () => this.abort(exceeded()));
    this.#ended = new Promise((_resolve, reject) => {
      this.once('abort', () => {
        this.dispose();
        reject(this.reason);
      });
    });
    this.#ended.catch(() => {});
    if (caller === undefined) return;
    this.#stopListening = onAbort(caller, () => {
      this.isAbortedByCaller = !this.aborted;
      this.abort(caller.reason);
    });
  }

  get remaining(): number {
    return this.aborted ? 0 : Math.max(0, this.#endsAt - performance.now());
  }

  /** Waits for `promise` until the deadline ends. The promise itself goes on. */
  race<T>(promise: Promise<T>): Promise<T> {
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
 * @param undo gets a result that comes later, which nobody waits for any more.
 */
export async function withTimeout<T>(
  milliseconds: number,
  work: () => T | Promise<T>,
  undo?: (result: T) => unknown,
): Promise<T> {
  if (milliseconds === Number.POSITIVE_INFINITY) return work();
  let timer: NodeJS.Timeout | undefined;
  let isOver = false;
  const result = Promise.resolve(work());
  const exceeded = new Promise<never>((_resolve, reject) => {
    const fail = () => {
      if (isOver) return;
      reject(new NoAnswer(`did not answer within ${milliseconds} ms`));
      if (undo !== undefined) result.then(undo).catch(() => {});
    };
    // As in a {@link Deadline}: an answer that has arrived in time is read first.
    timer = setTimeout(setImmediate, milliseconds, fail);
  });
  try {
    return await Promise.race([result, exceeded]);
  } finally {
    isOver = true;
    clearTimeout(timer);
  }
}

/** Waits, and keeps the process alive: a caller is waiting too. */
export const wait = (milliseconds: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, milliseconds));

/** Runs `task` later. Does not keep the process alive. */
export const schedule = (milliseconds: number, task: () => void): void =>
  void setTimeout(task, milliseconds).unref();

/** @throws the reason of an aborted signal, and a TypeError for what is no signal. */
export function checkSignal(signal: AbortSignal | Ending): void {
  if (typeof (signal as AbortSignal | null)?.throwIfAborted !== 'function') {
    throw new TypeError('option "signal" must be an AbortSignal');
  }
  signal.throwIfAborted();
}

/**
 * Calls `listener` when the signal is aborted, or at once if it has been.
 * @returns a function that stops listening.
 */
export function onAbort(signal: AbortSignal | Ending, listener: () => void): () => void {
  if (signal.aborted) {
    listener();
    return () => {};
  }
  if (signal instanceof Ending) {
    signal.once('abort', listener);
    return () => signal.off('abort', listener);
  }
  // An app can pass one signal to any number of calls. Node.js would warn about more than ten.
  setMaxListeners(0, signal);
  signal.addEventListener('abort', listener, { once: true });
  return () => signal.removeEventListener('abort', listener);
}
