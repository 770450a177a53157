import { vi } from 'vitest';

interface Timer {
  readonly due: number;
  readonly run: () => void;
  isActive: boolean;
}

/**
 * Time that passes only when the test says so: timeouts, `performance.now` and `Date.now` of the whole
 * process live by it, so an hour of a service's outage is over in a moment.
 *
 * Not vitest's fake timers: those look through every timer for the next one, and wait a real
 * millisecond between two, which is minutes for the tens of thousands of calls here.
 */
export class SimulatedTime {
  /** Epoch milliseconds. */
  #now = 1_800_000_000_000;
  /** What is due first is last. */
  readonly #timers: Timer[] = [];

  readonly now = (): number => this.#now;

  /** Puts this time in the place of the real one. */
  static begin(): SimulatedTime {
    const time = new SimulatedTime();
    const started = time.#now;
    vi.stubGlobal('setTimeout', time.#start);
    vi.stubGlobal('clearTimeout', (timer: Timer | undefined) => {
      if (timer !== undefined) timer.isActive = false;
    });
    vi.spyOn(performance, 'now').mockImplementation(() => time.#now - started);
    vi.spyOn(Date, 'now').mockImplementation(time.now);
    return time;
  }

  /** Puts the real time back. */
  end(): void {
    vi.unstubAllGlobals();
    vi.restoreAllMocks();
  }

  /** Lets so many milliseconds pass, with all that falls due in them. */
  async pass(milliseconds: number): Promise<void> {
    const until = this.#now + milliseconds;
    await settle();
    for (let next = this.#next(until); next !== undefined; next = this.#next(until)) {
      next.run();
      await settle();
    }
    this.#now = until;
  }

  /** Lets time pass until `promise` is settled, or nothing is left that could settle it. */
  async until<T>(promise: Promise<T>): Promise<T> {
    let isSettled = false;
    const done = (): void => {
      isSettled = true;
    };
    promise.then(done, done);
    await settle();
    while (!isSettled) {
      const next = this.#next(Number.POSITIVE_INFINITY);
      if (next === undefined) throw new Error('it hangs: no timer is left that could settle it');
      next.run();
      await settle();
    }
    return promise;
  }

  readonly #start = (run: (...args: unknown[]) => void, delay = 0, ...args: unknown[]): Timer => {
    // As Node has it.
    const wait = delay >= 1 && delay < 2 ** 31 ? Math.trunc(delay) : 1;
    const due = this.#now + wait;
    const timer = { due, run: () => run(...args), isActive: true, unref: () => timer };
    // Most are due last, but for the deadlines, which are cleared before that.
    let [low, high] = [0, this.#timers.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#timers[middle]?.due ?? 0) > timer.due) low = middle + 1;
      else high = middle;
    }
    this.#timers.splice(low, 0, timer);
    return timer;
  };

  /** Takes out the timer that is due next, and moves the time to it. */
  #next(until: number): Timer | undefined {
    for (let timer = this.#timers.at(-1); timer !== undefined; timer = this.#timers.at(-1)) {
      if (timer.isActive && timer.due > until) return undefined;
      this.#timers.pop();
      if (!timer.isActive) continue;
      this.#now = Math.max(this.#now, timer.due);
      return timer;
    }
    return undefined;
  }
}

/** Lets everything happen that needs no time. `setImmediate` is left real: it runs after all promises. */
const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
