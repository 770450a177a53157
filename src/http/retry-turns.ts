import type { Deadline, EndListener } from '../deadline.js';

/**
 * Lets few calls at a time try again; the others that failed wait for how these fare. A blip in which
 * many fail at once is over for all when it is over for the first. A dead service gets a few requests
 * more, and not each caller's three times: the breaker opens, and nobody who waited is sent.
 */
export class RetryTurns {
  readonly #most: number;
  #taken = 0;
  readonly #waiting = new Set<() => void>();

  /** @param most calls that may try again at the same time. */
  constructor(most: number) {
    this.#most = most;
  }

  /** Waits for a turn, but not longer than the deadline. Whoever got one must {@link leave}. */
  enter(deadline: Deadline): Promise<void> {
    if (this.#taken < this.#most) {
      this.#taken++;
      return Promise.resolve();
    }
    return new Promise((resolve, reject) => {
      const go = (): void => {
        this.#waiting.delete(go);
        deadline.unlisten(listener);
        this.#taken++;
        resolve();
      };
      const listener: EndListener = {
        onEnd: (reason) => {
          this.#waiting.delete(go);
          reject(reason);
        },
      };
      this.#waiting.add(go);
      deadline.listen(listener);
    });
  }

  /**
   * Gives the turn to the next.
   * @param isWell whether the service answered: then nobody needs to wait any more.
   */
  leave(isWell: boolean): void {
    this.#taken--;
    for (const go of [...this.#waiting]) {
      go();
      if (!isWell) return;
    }
  }
}
