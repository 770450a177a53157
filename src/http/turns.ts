import type { Deadline } from '../deadline.js';

/** The most requests of one client at a time. */
export const MAX_REQUESTS = 128;

/** A call that waits, and how it goes on. */
interface Waiting {
  readonly deadline: Deadline;
  readonly go: () => void;
}

/**
 * Runs so many requests at a time. The others wait here and not for a connection, so that a closed gate stops them. They go
 * on one by one, each after the events that came in meanwhile: a closed gate refuses all of a crowd, and visitors whom the
 * cache knows do not wait for the last of them.
 */
export class Turns {
  #free = MAX_REQUESTS;
  readonly #waiting: Waiting[] = [];
  #isWaking = false;

  async run<T>(deadline: Deadline, request: () => Promise<T>): Promise<T> {
    if (this.#free > 0 && this.#waiting.length === 0) this.#free--;
    else await deadline.race(new Promise<void>((go) => this.#waiting.push({ deadline, go })));
    try {
      return await request();
    } finally {
      this.#free++;
      this.#wakeSoon();
    }
  }

  #wakeSoon(): void {
    if (this.#isWaking || this.#free === 0 || this.#waiting.length === 0) return;
    this.#isWaking = true;
    setImmediate(() => {
      this.#isWaking = false;
      let next = this.#waiting.shift();
      while (next?.deadline.aborted) next = this.#waiting.shift();
      if (next === undefined) return;
      this.#free--;
      next.go();
      this.#wakeSoon();
    });
  }
}
