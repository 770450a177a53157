import { MarketgateError } from '../../errors/marketgate-error.js';
import type { GuessesLeft } from '../../stores/guess-limit/guess-limit.js';

/** A counter that cannot be read must not refuse customers; it guards no door, only our quota. */
const UNLIMITED: GuessesLeft = { left: Number.POSITIVE_INFINITY, retryAfter: 0 };

/** A line for each guesser who is there just now. */
export class Lines {
  readonly #lines = new Map<string, Line>();

  /** How many guessers there are. */
  get size(): number {
    return this.#lines.size;
  }

  /** Runs `use` with the guesser's line, and forgets the line with the last who used it. */
  async inLine<T>(
    who: string,
    left: () => Promise<GuessesLeft>,
    use: (line: Line) => Promise<T>,
  ): Promise<T> {
    const line = this.#lines.get(who) ?? new Line(left);
    this.#lines.set(who, line);
    try {
      return await use(line);
    } finally {
      if (line.isEmpty && this.#lines.get(who) === line) this.#lines.delete(who);
    }
  }
}

/** The guesses of one guesser: those under way, and those in line behind them. */
export class Line {
  readonly #read: () => Promise<GuessesLeft>;
  /** The codes that are being asked about, each with what settles when it is counted. */
  readonly #asking = new Map<string, Promise<void>>();
  /** The last in line: each looks for a place when the one before has one, so that a place that
   * becomes free wakes one and not all. */
  #last: Promise<unknown> = Promise.resolve();
  #waiting = 0;

  constructor(left: () => Promise<GuessesLeft>) {
    // In an async function, so that a counter that throws fails as one that rejects.
    this.#read = async () => left();
  }

  get isEmpty(): boolean {
    return this.#asking.size === 0 && this.#waiting === 0;
  }

  /**
   * Waits for a place for this code. Gives what ends it, or nothing when the code has one already.
   * @throws MarketgateError `too_many_attempts`.
   */
  async enter(code: string): Promise<(() => void) | undefined> {
    const turn = this.#last.then(() => this.#find(code));
    this.#last = turn.catch(() => {});
    this.#waiting++;
    try {
      return await turn;
    } finally {
      this.#waiting--;
    }
  }

  async #find(code: string): Promise<(() => void) | undefined> {
    for (;;) {
      if (this.#asking.has(code)) return undefined;
      const { left, retryAfter } = await this.#read().catch(() => UNLIMITED);
      if (left <= 0) throw tooMany(retryAfter);
      if (this.#asking.size < left) return this.#take(code);
      await Promise.race(this.#asking.values());
    }
  }

  #take(code: string): () => void {
    let leave = (): void => {};
    const left = new Promise<void>((resolve) => {
      leave = resolve;
    });
    this.#asking.set(code, left);
    return () => {
      this.#asking.delete(code);
      leave();
    };
  }
}

const tooMany = (retryAfter: number): MarketgateError =>
  new MarketgateError('too_many_attempts', 'too many purchase codes that the service said no to', {
    retryAfter: Math.max(1, retryAfter),
  });
