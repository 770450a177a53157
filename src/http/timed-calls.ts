/** A call did not end in time. */
export class TooLate extends Error {}

/** Too many calls are unanswered: one more would only take memory. */
export class TooMany extends Error {}

/** What a call can know about itself. */
export interface TimedCall {
  /** Nobody waits for it any more. */
  readonly isOver: boolean;
}

interface Waiting {
  isOver: boolean;
  readonly endsAt: number;
  /** What to do when it is too late; `undefined` once it has ended. */
  expire: (() => void) | undefined;
}

/** Calls that may be unanswered at once, late ones included. */
const MOST = 10_000;

/**
 * Calls that each end within one and the same time. All share one timer: they end in the order in
 * which they began, so it is only ever set for the oldest. A timer or an `AbortSignal` per command
 * costs several times the command.
 */
export class TimedCalls {
  readonly #timeout: number;
  /** In the order of their ends. */
  readonly #waiting = new Set<Waiting>();
  #unanswered = 0;
  #timer: NodeJS.Timeout | undefined;

  /** @param timeout milliseconds. */
  constructor(timeout: number) {
    this.#timeout = timeout;
  }

  /**
   * Begins a call and waits for its end, but not too long. What comes later is listened to, so that
   * no rejection is left alone, and ignored.
   */
  run<T>(work: (call: TimedCall) => Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => this.start(work, resolve, reject));
  }

  /**
   * {@link run} for who makes something else of the end: every promise between a command and who waits
   * for it costs a good part of the command.
   *
   * @param work - what it throws is its failure.
   * @param answered - is called, unless `failed` is; once.
   */
  start<T>(
    work: (call: TimedCall) => T | Promise<T>,
    answered: (answer: T) => void,
    failed: (error: unknown) => void,
  ): void {
    // A server that hangs for minutes answers nothing, and the client keeps every command.
    if (this.#unanswered >= MOST) {
      failed(new TooMany());
      return;
    }
    const endsAt = performance.now() + this.#timeout;
    const call: Waiting = { isOver: false, endsAt, expire: () => failed(new TooLate()) };
    this.#enter(call);
    begin(work, call).then(
      (answer) => {
        this.#leave(call);
        if (!call.isOver) answered(answer);
      },
      (error: unknown) => {
        this.#leave(call);
        if (!call.isOver) failed(error);
      },
    );
  }

  #enter(call: Waiting): void {
    this.#unanswered++;
    this.#waiting.add(call);
    if (this.#timer === undefined) this.#set(this.#timeout);
    else if (this.#waiting.size === 1) this.#timer.ref();
  }

  #leave(call: Waiting): void {
    this.#unanswered--;
    this.#waiting.delete(call);
    // A Set that was rehashed leaves its old table to the collector, and that can lie in old space for
    // long: whatever hangs on its entries would lie there as well, answers and all.
    call.expire = undefined;
    // It is not cleared, for the next call would set it again; but it holds no process that is done.
    if (this.#waiting.size === 0) this.#timer?.unref();
  }

  #set(milliseconds: number): void {
    // Timers run before sockets are read. After a turn that took long, answers may lie there in time:
    // they are read before anything is called late.
    this.#timer = setTimeout(() => setImmediate(this.#expire), milliseconds);
  }

  readonly #expire = (): void => {
    this.#timer = undefined;
    const now = performance.now();
    for (const call of this.#waiting) {
      // Timers can be a little early by this clock.
      if (call.endsAt - now > 1) {
        this.#set(call.endsAt - now);
        return;
      }
      this.#waiting.delete(call);
      call.isOver = true;
      call.expire?.();
    }
  };
}

/** Whatever it does, a promise: also for what throws at once, and for what a foreign store returns. */
function begin<T>(work: (call: TimedCall) => T | Promise<T>, call: TimedCall): Promise<T> {
  try {
    return Promise.resolve(work(call));
  } catch (error) {
    return Promise.reject(error);
  }
}
