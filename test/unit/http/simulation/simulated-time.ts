import { afterEach, beforeEach, vi } from 'vitest';

interface Timer {
  readonly due: number;
  readonly run: () => void;
  isActive: boolean;
}

/**
 * Time that passes only when the test says so, for timers, `performance.now` and `Date.now`. Not vitest's fake timers:
 * they search all timers for the next one, which takes minutes for the tens of thousands of calls here.
 */
export class SimulatedTime {
  /** Epoch milliseconds. */
  #now = 1_800_000_000_000;
  /** What is due first is last. */
  #timers: Timer[] = [];

  readonly now = (): number => this.#now;

  /** Takes the place of the real time in each test of the file. */
  constructor() {
    const start = this.#now;
    beforeEach(() => {
      this.#now = start;
      this.#timers = [];
      vi.stubGlobal('setTimeout', this.#start);
      vi.stubGlobal('clearTimeout', (timer: Timer | undefined) => {
        if (timer !== undefined) timer.isActive = false;
      });
      vi.spyOn(performance, 'now').mockImplementation(() => this.#now - start);
      vi.spyOn(Date, 'now').mockImplementation(this.now);
    });
    afterEach(() => {
      vi.unstubAllGlobals();
      vi.restoreAllMocks();
    });
  }

  /** Lets so many milliseconds pass, with all that falls due in them. */
  async pass(milliseconds: number): Promise<void> {
    const until = this.#now + milliseconds;
    await settle();
    while (this.#runNext(until)) await settle();
    this.#now = until;
  }

  /** Lets time pass until `promise` is settled. */
  async until<T>(promise: Promise<T>): Promise<T> {
    let isSettled = false;
    const done = (): void => {
      isSettled = true;
    };
    promise.then(done, done);
    await settle();
    while (!isSettled) {
      if (!this.#runNext(Number.POSITIVE_INFINITY)) throw new Error('it hangs: no timer is left');
      await settle();
    }
    return promise;
  }

  readonly #start = (run: (...args: unknown[]) => void, delay = 0, ...args: unknown[]): Timer => {
    // As Node.js has it.
    const wait = delay >= 1 && delay < 2 ** 31 ? Math.trunc(delay) : 1;
    const due = this.#now + wait;
    const timer = { due, run: () => run(...args), isActive: true, unref: () => timer };
    let [low, high] = [0, this.#timers.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#timers[middle]?.due ?? 0) > due) low = middle + 1;
      else high = middle;
    }
    this.#timers.splice(low, 0, timer);
    return timer;
  };

  /** Moves the time to the timer that is due next, and runs it. */
  #runNext(until: number): boolean {
    for (let timer = this.#timers.at(-1); timer !== undefined; timer = this.#timers.at(-1)) {
      if (timer.isActive && timer.due > until) return false;
      this.#timers.pop();
      if (!timer.isActive) continue;
      this.#now = Math.max(this.#now, timer.due);
      timer.run();
      return true;
    }
    return false;
  }
}

/** Lets everything happen that needs no time. `setImmediate` is left real: it runs after all promises. */
const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
