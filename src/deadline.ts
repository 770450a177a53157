import { setTimeout as delay } from 'node:timers/promises';

/**
 * The time limit of one call, with everything that it waits for. It ends by time, by its caller or by {@link abort},
 * whichever comes first; the reason is what the call rejects with.
 *
 * It uses a plain timer, because an `AbortSignal.timeout` costs as much as an HTTP request.
 */
export class Deadline {
  readonly #controller = new AbortController();
  /** Aborted when the deadline ends. */
  readonly signal: AbortSignal = this.#controller.signal;
  /** Whether the caller ended it, which says nothing about the service. */
  isAbortedByCaller = false;
  readonly #endsAt: number;
  readonly #timer: NodeJS.Timeout;
  readonly #stopListening: (() => void) | undefined;

  /**
   * @param exceeded makes the error that the call rejects with when its time has elapsed.
   * @param caller ends the call early.
   */
  constructor(milliseconds: number, exceeded: () => unknown, caller?: AbortSignal) {
    this.#endsAt = performance.now() + milliseconds;
    // Node.js runs timers before it reads sockets, and `setImmediate` after. So when the process has stalled,
    // a response that arrived in time is read before the call ends.
    this.#timer = setTimeout(setImmediate, milliseconds, () => this.abort(exceeded()));
    if (caller === undefined) return;
    this.#stopListening = onAbort(caller, () => {
      this.isAbortedByCaller = !this.aborted;
      this.abort(caller.reason);
    });
  }

  get aborted(): boolean {
    return this.signal.aborted;
  }

  get remaining(): number {
    return this.aborted ? 0 : Math.max(0, this.#endsAt - performance.now());
  }

  abort(reason: unknown): void {
    this.#controller.abort(reason);
    this.dispose();
  }

  /** Waits for `promise` until the deadline ends. The promise itself goes on. */
  race<T>(promise: Promise<T>): Promise<T> {
    const { signal } = this;
    return new Promise<T>((resolve, reject) => {
      const stop = onAbort(signal, () => reject(signal.reason));
      void promise.then(resolve, reject).then(stop);
    });
  }

  wait(milliseconds: number): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const elapsed = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, milliseconds);
    });
    return this.race(elapsed).finally(() => clearTimeout(timer));
  }

  /** Lets other work run between slices of long work, as `scheduler.yield` does. Rejects if the deadline has ended. */
  async yield(): Promise<void> {
    await new Promise(setImmediate);
    this.signal.throwIfAborted();
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
 * Runs `work`, and waits for it within the limit. A late result or rejection is ignored. Rejects with {@link NoAnswer}, or
 * with what `work` rejects with.
 */
export async function withTimeout<T>(milliseconds: number, work: () => T | Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const exceeded = new Promise<never>((_resolve, reject) => {
    const fail = () => reject(new NoAnswer(`did not answer within ${milliseconds} ms`));
    // As in a {@link Deadline}: an answer that has arrived in time is read first.
    timer = setTimeout(setImmediate, milliseconds, fail);
  });
  try {
    return await Promise.race([work(), exceeded]);
  } finally {
    clearTimeout(timer);
  }
}

/** Waits, at most until the signal is aborted. Does not keep the process alive. */
export const sleep = (milliseconds: number, signal: AbortSignal): Promise<void> =>
  delay(milliseconds, undefined, { signal, ref: false }).catch(() => {});

/** Waits, and keeps the process alive: a caller is waiting too. */
export const wait = (milliseconds: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, milliseconds));

/** Runs `task` later, unless the returned function cancels it. Does not keep the process alive. */
export function schedule(milliseconds: number, task: () => void): () => void {
  const timer = setTimeout(task, milliseconds).unref();
  return () => clearTimeout(timer);
}

/** @throws the reason of an aborted signal, and a TypeError for what is no signal. */
export function checkSignal(signal: AbortSignal): void {
  if (typeof (signal as AbortSignal | null)?.throwIfAborted !== 'function') {
    throw new TypeError('option "signal" must be an AbortSignal');
  }
  signal.throwIfAborted();
}

/** The listeners of each signal, and the one event listener that calls them. */
const waiting = new WeakMap<AbortSignal, { all: Set<() => void>; onEvent: () => void }>();

/**
 * Calls `listener` when the signal is aborted, or at once if it has been. Listeners of the same signal share one
 * event listener, because Node.js warns about more than ten. It is removed with the last of them.
 * @returns a function that stops listening.
 */
export function onAbort(signal: AbortSignal, listener: () => void): () => void {
  if (signal.aborted) {
    listener();
    return () => {};
  }
  let entry = waiting.get(signal);
  if (entry === undefined) {
    const all = new Set<() => void>();
    const onEvent = (): void => {
      for (const each of [...all]) each();
    };
    entry = { all, onEvent };
    signal.addEventListener('abort', onEvent, { once: true });
    waiting.set(signal, entry);
  }
  const { all, onEvent } = entry;
  all.add(listener);
  return () => {
    if (!all.delete(listener) || all.size > 0) return;
    waiting.delete(signal);
    signal.removeEventListener('abort', onEvent);
  };
}
