import { vi } from 'vitest';
import { loadReaders } from '../../../../src/clients/load-readers.js';
import { loadReader } from '../../../../src/clients/login-api.js';

// A module that is being loaded waits for the disk, and that is not simulated.
await Promise.all([loadReaders(), loadReader()]);

interface Timer {
  readonly id: number;
  readonly run: () => void;
  delay: number;
  due: number;
  /** Where it stands among those that are due at the same time. */
  order: number;
  repeats: boolean;
  active: boolean;
}

/**
 * Time that passes only when the test says so: timers, `performance.now` and `Date.now` of the whole
 * process live by it, so an hour of a service's outage is over in a moment.
 *
 * Our own and not vitest's fake timers: those look through every timer for the next one, and wait a
 * real millisecond between two, which is minutes for the tens of thousands of calls here.
 */
export class SimulatedTime {
  /** Epoch milliseconds. */
  #now = 1_800_000_000_000;
  #ids = 0;
  #orders = 0;
  /** A binary heap: what is due first is first. */
  readonly #heap: { due: number; order: number; timer: Timer }[] = [];
  readonly #timers = new Map<number, Timer>();

  readonly now = (): number => this.#now;

  /** Puts this time in the place of the real one. */
  static begin(): SimulatedTime {
    const time = new SimulatedTime();
    const started = time.#now;
    vi.stubGlobal('setTimeout', (run: () => void, delay = 0, ...args: unknown[]) =>
      time.#start(run, delay, args, false),
    );
    vi.stubGlobal('setInterval', (run: () => void, delay = 0, ...args: unknown[]) =>
      time.#start(run, delay, args, true),
    );
    vi.stubGlobal('clearTimeout', (handle: unknown) => time.#stop(handle));
    vi.stubGlobal('clearInterval', (handle: unknown) => time.#stop(handle));
    vi.spyOn(performance, 'now').mockImplementation(() => time.#now - started);
    vi.spyOn(Date, 'now').mockImplementation(time.now);
    return time;
  }

  /** Puts the real time back. */
  end(): void {
    vi.unstubAllGlobals();
    vi.restoreAllMocks();
  }

  /** Timers that are still to fire: what would hold the process. */
  get pending(): number {
    return this.#timers.size;
  }

  /** Lets so many milliseconds pass, with all that falls due in them. */
  async pass(milliseconds: number): Promise<void> {
    const until = this.#now + milliseconds;
    await settle();
    for (let next = this.#first(); next !== undefined && next.due <= until; next = this.#first()) {
      this.#fire(next);
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
      const next = this.#first();
      if (next === undefined) throw new Error('it hangs: no timer is left that could settle it');
      this.#fire(next);
      await settle();
    }
    return promise;
  }

  #fire(timer: Timer): void {
    this.#now = Math.max(this.#now, timer.due);
    if (timer.repeats) this.#plan(timer);
    else this.#forget(timer);
    timer.run();
  }

  #start(run: (...args: unknown[]) => void, delay: number, args: unknown[], repeats: boolean) {
    const timer: Timer = {
      id: ++this.#ids,
      run: () => run(...args),
      // As Node has it.
      delay: delay >= 1 && delay < 2 ** 31 ? Math.trunc(delay) : 1,
      due: 0,
      order: 0,
      repeats,
      active: true,
    };
    this.#timers.set(timer.id, timer);
    this.#plan(timer);
    const handle = {
      ref: () => handle,
      unref: () => handle,
      hasRef: () => true,
      refresh: () => {
        timer.active = true;
        this.#timers.set(timer.id, timer);
        this.#plan(timer);
        return handle;
      },
      close: () => this.#forget(timer),
      [Symbol.toPrimitive]: () => timer.id,
      [Symbol.dispose]: () => this.#forget(timer),
    };
    return handle;
  }

  #stop(handle: unknown): void {
    const timer = handle == null ? undefined : this.#timers.get(Number(handle));
    if (timer !== undefined) this.#forget(timer);
  }

  #forget(timer: Timer): void {
    timer.active = false;
    this.#timers.delete(timer.id);
  }

  #plan(timer: Timer): void {
    timer.due = this.#now + timer.delay;
    timer.order = ++this.#orders;
    const heap = this.#heap;
    let at = heap.push({ due: timer.due, order: timer.order, timer }) - 1;
    for (let up = (at - 1) >> 1; at > 0 && this.#isBefore(at, up); up = (at - 1) >> 1) {
      this.#swap(at, up);
      at = up;
    }
  }

  /** The timer that is due next. Entries of timers that were stopped or planned anew are thrown out. */
  #first(): Timer | undefined {
    for (let top = this.#heap[0]; top !== undefined; top = this.#heap[0]) {
      if (top.timer.active && top.timer.order === top.order) return top.timer;
      this.#dropFirst();
    }
    return undefined;
  }

  #dropFirst(): void {
    const heap = this.#heap;
    this.#swap(0, heap.length - 1);
    heap.pop();
    for (let at = 0; ; ) {
      const left = 2 * at + 1;
      const right = left + 1;
      let least = at;
      if (left < heap.length && this.#isBefore(left, least)) least = left;
      if (right < heap.length && this.#isBefore(right, least)) least = right;
      if (least === at) return;
      this.#swap(at, least);
      at = least;
    }
  }

  #isBefore(a: number, b: number): boolean {
    const [x, y] = [this.#heap[a], this.#heap[b]];
    if (x === undefined || y === undefined) return false;
    return x.due === y.due ? x.order < y.order : x.due < y.due;
  }

  #swap(a: number, b: number): void {
    const [x, y] = [this.#heap[a], this.#heap[b]];
    if (x === undefined || y === undefined) return;
    this.#heap[a] = y;
    this.#heap[b] = x;
  }
}

/** Lets everything happen that needs no time. `setImmediate` is left real: it runs after all promises. */
const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
