const HOUR = 3_600_000;
/** Kinds that are remembered at most: a service that makes up names must not fill the memory. */
const MOST = 1000;

/** Lets each kind of message through once an hour, so that a listener is told and not flooded. */
export class Hourly {
  readonly #clock: () => number;
  /** When each kind was let through, the longest ago first. */
  readonly #last = new Map<string, number>();

  constructor(clock: () => number) {
    this.#clock = clock;
  }

  /** Whether this kind is due; if so, it is taken for told. Ask only when somebody listens. */
  isDue(kind: string): boolean {
    const now = this.#clock();
    const last = this.#last.get(kind);
    // Ahead of now by a clock that was set back: not to be trusted.
    if (last !== undefined && last <= now && now - last < HOUR) return false;
    this.#last.delete(kind);
    this.#last.set(kind, now);
    if (this.#last.size > MOST) {
      const [oldest = kind] = this.#last.keys();
      this.#last.delete(oldest);
    }
    return true;
  }
}
