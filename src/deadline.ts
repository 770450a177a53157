/** Called when a deadline ends. An object and not a function, because one is made for every call. */
export interface EndListener {
  onEnd(reason: unknown): void;
}

/**
 * How long one call may take, with all that it waits for. Ends by time, or by the caller's
 * `AbortSignal`, whichever comes first.
 *
 * It is one plain timer and not an `AbortSignal.timeout`, which costs as much as an HTTP request.
 */
export class Deadline {
  ended = false;
  /** Why it ended: what the call rejects with. */
  reason: unknown;
  /** Whether the caller's signal ended it: this says nothing about the other side. */
  isAborted = false;
  readonly #endsAt: number;
  readonly #timer: NodeJS.Timeout;
  readonly #stopListening: (() => void) | undefined;
  readonly #calls: Set<Deadline> | undefined;
  #listeners: EndListener[] = [];

  /**
   * @param exceeded makes the error that the call rejects with when its time has elapsed.
   * @param calls holds the deadline until it ends or is disposed of.
   */
  constructor(
    milliseconds: number,
    exceeded: () => unknown,
    signal?: AbortSignal,
    calls?: Set<Deadline>,
  ) {
    this.#calls = calls;
    calls?.add(this);
    this.#endsAt = performance.now() + milliseconds;
    // Timers run before sockets are read. After a stall of this process the answer may have arrived in
    // time: it is read before the call ends.
    this.#timer = setTimeout(setImmediate, milliseconds, () => this.end(exceeded()));
    if (signal === undefined) return;
    const abort = (): void => {
      this.isAborted = !this.ended;
      this.end(signal.reason);
    };
    if (signal.aborted) abort();
    else this.#stopListening = onAbort(signal, abort);
  }

  /** Milliseconds that are left. */
  get remaining(): number {
    return this.ended ? 0 : Math.max(0, this.#endsAt - performance.now());
  }

  /** Calls `listener` when it ends, at once if it has. */
  listen(listener: EndListener): void {
    if (this.ended) listener.onEnd(this.reason);
    else this.#listeners.push(listener);
  }

  unlisten(listener: EndListener): void {
    const at = this.#listeners.indexOf(listener);
    if (at >= 0) this.#listeners.splice(at, 1);
  }

  /** Waits for `promise`, but not longer than the deadline. The promise itself goes on. */
  race<T>(promise: Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const listener: EndListener = { onEnd: reject };
      this.listen(listener);
      promise.then(resolve, reject).finally(() => this.unlisten(listener));
    });
  }

  /** Waits, but not longer than the deadline. */
  wait(milliseconds: number): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const elapsed = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, milliseconds);
    });
    return this.race(elapsed).finally(() => clearTimeout(timer));
  }

  /** Lets other work run between slices of long work. Rejects when the deadline ended meanwhile. */
  async turn(): Promise<void> {
    await new Promise(setImmediate);
    if (this.ended) throw this.reason;
  }

  /** Ends the call now, whatever it waits for. */
  end(reason: unknown): void {
    if (this.ended) return;
    this.ended = true;
    this.reason = reason;
    const listeners = this.#listeners;
    this.dispose();
    for (const listener of listeners) listener.onEnd(reason);
  }

  /** Must be called when the call is over, or the timer holds the process. */
  dispose(): void {
    clearTimeout(this.#timer);
    this.#stopListening?.();
    this.#calls?.delete(this);
    this.#listeners = [];
  }
}

/** The time of a {@link TimeLimit} has elapsed. */
export class DeadlineExceeded extends Error {}

/** Too many calls of a {@link TimeLimit} are unanswered: one more would only take memory. */
export class TooManyCalls extends Error {}

/** Calls of a {@link TimeLimit} that can be unanswered at once, late ones included. */
const MOST_UNANSWERED = 10_000;

/** Calls to one store or server that each end within the same time. */
export class TimeLimit {
  readonly #milliseconds: number;
  #unanswered = 0;

  constructor(milliseconds: number) {
    this.#milliseconds = milliseconds;
  }

  /**
   * Begins a call and waits for its answer within the time. A late answer or rejection is ignored.
   *
   * @param work can look at `deadline.ended`: then nobody waits for it any more.
   * @throws DeadlineExceeded, TooManyCalls, or what `work` fails with.
   */
  async run<T>(work: (deadline: Deadline) => T | Promise<T>): Promise<T> {
    // A server that hangs for minutes answers nothing, and its client keeps every command.
    if (this.#unanswered >= MOST_UNANSWERED) throw new TooManyCalls();
    this.#unanswered++;
    const deadline = new Deadline(this.#milliseconds, () => new DeadlineExceeded());
    const answer = (async () => work(deadline))().finally(() => this.#unanswered--);
    return deadline.race(answer).finally(() => deadline.dispose());
  }
}

/** Waits for one answer within so many milliseconds. @throws as {@link TimeLimit.run}. */
export const within = <T>(
  milliseconds: number,
  work: (deadline: Deadline) => T | Promise<T>,
): Promise<T> => new TimeLimit(milliseconds).run(work);

/** Stores whose calls end within a time by themselves: what uses one sets no second limit around it. */
export const SELF_LIMITED = new WeakSet<object>();

/** Runs `task` later, unless what it returns is called. Holds no process that has nothing else to do. */
export function later(milliseconds: number, task: () => void): () => void {
  const timer = setTimeout(task, milliseconds).unref();
  return () => clearTimeout(timer);
}

/** What waits for each signal, and the one event listener that calls it all. */
const waiting = new WeakMap<AbortSignal, { all: Set<() => void>; onEvent: () => void }>();

/**
 * Calls `listener` when the signal is aborted. All calls that share a signal share one event listener:
 * Node warns when there are more than ten. None stays when nothing waits any more.
 *
 * @returns stops listening.
 */
export function onAbort(signal: AbortSignal, listener: () => void): () => void {
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

/** Milliseconds that a clock can be off without having been set. */
const SLEW = 1000;

/**
 * Whether `now` lies between two moments of the same clock. It does not where the clock was set back
 * to before `from`: the time that has passed since is unknown, so a duration counts as over.
 */
export const isBetween = (from: number, now: number, until: number): boolean =>
  now > from - SLEW && now < until;

/**
 * A clock that never goes back, made of one that can. While the clock is set back, time passes as the
 * process measures it, also when nobody reads the clock meanwhile.
 */
export function monotonic(clock: () => number): () => number {
  let last = clock();
  let lastReal = performance.now();
  let time = last;
  return () => {
    const now = clock();
    const real = performance.now();
    // Only the system's clock passes as the process measures it; others stand still in tests.
    const isSetBack = now < last || (clock === Date.now && real - lastReal > now - last + SLEW);
    time += isSetBack ? real - lastReal : now - last;
    last = now;
    lastReal = real;
    return time;
  };
}
