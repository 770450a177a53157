import type { Deadline } from '../deadline.js';

/** The most requests of one client at a time. */
export const MAX_REQUESTS = 128;

/** Runs so many requests at a time. The others wait here and not for a connection, so that a closed gate stops them. */
export class Turns {
  #free = MAX_REQUESTS;
  readonly #waiting: { readonly deadline: Deadline; readonly go: () => void }[] = [];

  async run<T>(deadline: Deadline, request: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free--;
    else await deadline.race(new Promise<void>((go) => this.#waiting.push({ deadline, go })));
    try {
      return await request();
    } finally {
      let next = this.#waiting.shift();
      while (next?.deadline.aborted) next = this.#waiting.shift();
      if (next !== undefined) next.go();
      else this.#free++;
    }
  }
}
