/**
 * A cache that the processes of a fleet share. Known by its shape: any object with these methods will
 * do. What the package puts there is sealed, so that the cache's own operator reads no purchase code;
 * a cache that fails, hangs or lies is skipped.
 */
export interface SharedCache {
  /** The value of a key, or `undefined` when there is none or its time is over. */
  get(key: string): Promise<string | undefined>;
  /** Keeps a value for `ttl` milliseconds, in place of an earlier one. */
  set(key: string, value: string, ttl: number): Promise<void>;
  /** Forgets a key. No error when there is none. */
  delete(key: string): Promise<void>;
  /**
   * Takes the lock of a key for at most `ttl` milliseconds, so that one process of the fleet asks the
   * service and the others wait for its answer. Resolves to the function that gives the lock back, or
   * to `undefined` when another holds it. Giving back a lock that ran out meanwhile must not free the
   * one that another process has taken since.
   */
  lock?(key: string, ttl: number): Promise<(() => Promise<void>) | undefined>;
  /**
   * Calls `onInvalidate` with each key that any process publishes; `undefined` stands for all keys.
   * Resolves, once messages arrive, to the function that ends it.
   */
  subscribe?(onInvalidate: (key: string | undefined) => void): Promise<() => Promise<void>>;
  /** Tells every subscriber, in every process, to forget a key; `undefined` stands for all keys. */
  publish?(key: string | undefined): Promise<void>;
  /**
   * A value that {@link write} keeps, with what the order of answers needs. A cache that has `read` and
   * `write` keeps a late answer from replacing a newer one, whichever process asked for it.
   */
  read?(key: string): Promise<SharedRow>;
  /**
   * Keeps a value for `ttl` milliseconds, unless one of the same or a later `order` is there. Looks and
   * writes in one step.
   *
   * @returns whether it was kept.
   */
  write?(key: string, value: string, ttl: number, order: number): Promise<boolean>;
}

/** What {@link SharedCache.read} finds. */
export interface SharedRow {
  /** `undefined`: there is none. */
  readonly value: string | undefined;
  /** The order it was written with; 0 when there is none. */
  readonly order: number;
  /** Milliseconds until it expires. */
  readonly ttl: number;
  /**
   * The order of something that begins now: microseconds by the cache's own clock, which is one for all
   * processes. Theirs can differ by minutes.
   */
  readonly now: number;
}
