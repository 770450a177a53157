import { withTimeout } from '../deadline.js';

/**
 * A cache that the processes of a fleet share, as `RedisCache` of `marketgate/redis` is. Any object with these methods
 * will do. What the package stores there is sealed. A cache that fails, hangs or gives what is no row is skipped.
 */
export interface SharedCache {
  /** The row that {@link write} has stored, if it has not expired, and the time. */
  read(key: string): Promise<SharedRow>;
  /**
   * Stores a value for `ttl` milliseconds, unless one of the same or a later `order` is there. Compares and writes in one
   * step. The row itself, from a client that sends a call again whose answer was lost, counts as stored.
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

/** The failed reads in a row after which a shared cache is left alone, and for how many milliseconds. */
const FAILURES_TO_REST = 3;
const REST = 2000;

/**
 * A shared cache as the shared tier uses it: each call has a short deadline, a call that fails gives `undefined`, and a
 * cache whose reads keep failing is left alone for a while.
 */
export class GuardedSharedCache {
  #failures = 0;
  #restsUntil = 0;

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
    this.#restsUntil = 0;
  }

  /** Only reads count as failed: a Redis that is full or read-only refuses everything else, and still answers reads. */
  async read(name: string): Promise<SharedRow | undefined> {
    if (this.isResting) return undefined;
    const row = await this.call((store) => store.read(name));
    if (isRow(row)) {
      this.wake();
      return row;
    }
    this.#failures++;
    if (this.#failures >= FAILURES_TO_REST) this.#restsUntil = performance.now() + REST;
    return undefined;
  }

  /** @param undo - gets a result that comes after the deadline. */
  async call<T>(
    run: (store: SharedCache) => Promise<T>,
    undo?: (result: T) => unknown,
  ): Promise<T | undefined> {
    if (this.isResting) return undefined;
    try {
      return await withTimeout(this.deadline, () => run(this.store), undo);
    } catch {
      return undefined;
    }
  }
}

function isRow(row: unknown): row is SharedRow {
  if (typeof row !== 'object' || row === null) return false;
  const { value, order, now } = row as SharedRow;
  const isText = value === undefined || typeof value === 'string';
  return isText && Number.isSafeInteger(order) && Number.isSafeInteger(now);
}
