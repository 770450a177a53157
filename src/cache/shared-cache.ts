import { withTimeout } from '../deadline.js';

/**
 * A cache that the processes of a fleet share, as `RedisCache` of `marketgate/redis` is. Any object with these methods
 * will do. What the package stores there is sealed, so that nobody who can read there learns a purchase code. A cache
 * that fails, hangs or lies is skipped.
 */
export interface SharedCache {
  /** The row that {@link write} has stored, if it has not expired, and the time. */
  read(key: string): Promise<SharedRow>;
  /**
   * Stores a value for `ttl` milliseconds, unless one of the same or a later `order` is there. Compares and writes in one
   * step.
   *
   * @returns whether it was stored.
   */
  write(key: string, value: string, ttl: number, order: number): Promise<boolean>;
  /** Deletes a row. No error when there is none. */
  delete(key: string): Promise<void>;
  /**
   * Takes the lock of a key for at most `ttl` milliseconds, so that one process of the fleet asks the service and the
   * others wait for its answer. Resolves to the function that releases it, or to `undefined` when another process holds
   * it. Releasing a lock that has expired must not release the one that another process has taken since.
   */
  lock(key: string, ttl: number): Promise<(() => Promise<void>) | undefined>;
  /** Sends a message to the subscribers of all processes, its own included. */
  publish(message: string): Promise<void>;
  /**
   * Calls `onMessage` with each message that any process publishes, and `onListening` with whether messages arrive:
   * `true` when they begin to, `false` when the connection is lost, and `true` again when it is back. Messages that were
   * published in between need not be repeated. Resolves to the function that unsubscribes. A rejected subscription is
   * tried again.
   */
  subscribe(
    onMessage: (message: string) => void,
    onListening: (isListening: boolean) => void,
  ): Promise<() => Promise<void>>;
}

/** What {@link SharedCache.read} finds. */
export interface SharedRow {
  /** `undefined`: there is none. */
  readonly value?: string | undefined;
  /** The order it was written with; 0 when there is none. */
  readonly order: number;
  /** The time by the cache's own clock, which all processes share, in whole microseconds. */
  readonly now: number;
}

/** In place of a result, when the call failed or was not made. */
export const UNAVAILABLE = Symbol('the shared cache cannot be asked');
export type Unavailable = typeof UNAVAILABLE;

/** The failed reads in a row after which a shared cache is left alone, and for how many milliseconds. */
const FAILURES_TO_REST = 3;
const REST = 2000;

/**
 * A shared cache as the shared tier uses it. The whole failure policy is here: each call has a short deadline, a failure
 * becomes {@link UNAVAILABLE} and never an error of the lookup, and a cache whose reads keep failing is left alone for a
 * while.
 */
export class GuardedSharedCache {
  #failures = 0;
  #failedAt = Number.NEGATIVE_INFINITY;
  #restsUntil = Number.NEGATIVE_INFINITY;

  /** @param deadline - of one call, in milliseconds. */
  constructor(
    private readonly store: SharedCache,
    private readonly deadline: number,
  ) {}

  /** Whether calls fail without being made. */
  get isResting(): boolean {
    return performance.now() < this.#restsUntil;
  }

  /** Makes calls again, for example because the connection is back. */
  wake(): void {
    this.#failures = 0;
    this.#restsUntil = Number.NEGATIVE_INFINITY;
  }

  async read(name: string): Promise<SharedRow | Unavailable> {
    if (this.isResting) return UNAVAILABLE;
    const begun = performance.now();
    const row = await this.#call(() => this.store.read(name));
    // Only reads count: a Redis that is full or read-only refuses everything else, and still answers reads.
    if (isRow(row)) {
      this.wake();
      return row;
    }
    // Reads that were in flight together count once, because they had one fault in common.
    if (begun < this.#failedAt) return UNAVAILABLE;
    this.#failures++;
    this.#failedAt = performance.now();
    if (this.#failures >= FAILURES_TO_REST) this.#restsUntil = this.#failedAt + REST;
    return UNAVAILABLE;
  }

  /** Whether the row was stored: not when one of the same or a later order is there. */
  async write(...row: Parameters<SharedCache['write']>): Promise<boolean | Unavailable> {
    const isWritten = await this.#call(() => this.store.write(...row));
    return typeof isWritten === 'boolean' ? isWritten : UNAVAILABLE;
  }

  async delete(name: string): Promise<void> {
    await this.#call(() => this.store.delete(name));
  }

  /** Takes a lock; `undefined`: another process holds it. The function that releases it never rejects. */
  async lock(name: string, ttl: number): Promise<(() => void) | undefined | Unavailable> {
    let hasLeft = false;
    // Also while the cache is left alone.
    const release = (unlock: () => Promise<void>): void =>
      void withTimeout(this.deadline, unlock).catch(() => {});
    const unlock = await this.#call(async () => {
      const taken = await this.store.lock(name, ttl);
      // Nobody waits for it any more, and other processes would wait until it expires.
      if (hasLeft && typeof taken === 'function') release(taken);
      return taken;
    });
    hasLeft = unlock === UNAVAILABLE;
    return typeof unlock === 'function' ? () => release(unlock) : unlock;
  }

  /** Whether it was published. */
  async publish(message: string): Promise<boolean> {
    return (await this.#call(() => this.store.publish(message))) !== UNAVAILABLE;
  }

  /** Subscribes without a deadline, because the connection can come later. Rejects as the store does. */
  async subscribe(
    onMessage: (message: string) => void,
    onListening: (isListening: boolean) => void,
  ): Promise<() => Promise<void>> {
    let hasReported = false;
    const stop = await this.store.subscribe(
      (message: unknown) => {
        if (typeof message === 'string') onMessage(message);
      },
      (isListening) => {
        hasReported = true;
        onListening(isListening);
      },
    );
    // A store without connections has nothing to report.
    if (!hasReported) onListening(true);
    return stop;
  }

  async #call<T>(run: () => Promise<T>): Promise<T | Unavailable> {
    if (this.isResting) return UNAVAILABLE;
    try {
      return await withTimeout(this.deadline, run);
    } catch {
      return UNAVAILABLE;
    }
  }
}

function isRow(row: unknown): row is SharedRow {
  if (typeof row !== 'object' || row === null) return false;
  const { value, order, now } = row as SharedRow;
  const isText = value === undefined || typeof value === 'string';
  return isText && Number.isSafeInteger(order) && Number.isSafeInteger(now);
}
