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
  readonly expire: () => void;
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
    // A server that hangs for minutes answers nothing, and the client keeps every command.
    if (this.#unanswered >= MOST) return Promise.reject(new TooMany());
    return new Promise<T>((resolve, reject) => {
      const call: Waiting = {
        isOver: false,
        endsAt: performance.now() + this.#timeout,
        expire: () => reject(new TooLate()),
      };
      this.#enter(call);
      work(call).then(
        (answer) => {
          this.#leave(call);
          resolve(answer);
        },
        (error: unknown) => {
          this.#leave(call);
          reject(error);
        },
      );
    });
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
      call.expire();
    }
  };
}
