/** What a {@link SharedCache} has under a key. */
export interface SharedValue {
  /** What was stored; absent where there is nothing. */
  value?: string;
  /** Milliseconds: the age that the value was written with, and the time since then, by the store's own expiry. */
  age: number;
  /** Any text: a value can be stored as long as this is the lease of the key. */
  lease: string;
}

/**
 * A cache that the processes of a fleet share, as `RedisCache` of `marketgate/redis` is. Any object with these methods
 * will do. What the package stores there is sealed. A cache that fails, hangs or returns what is no row is left alone for a
 * second.
 *
 * A *lease* is the right to store an answer. It ends when the key is withdrawn, so an answer that was requested before
 * cannot be stored after. Its end must be remembered for two minutes.
 */
export interface SharedCache {
  /** The value of a key, if there is one, its age, and the lease under which a new value can be stored. */
  read(key: string): Promise<SharedValue>;
  /**
   * Stores a value for `ttl` milliseconds, unless the key was withdrawn since the lease was read. Compares and writes in one
   * step.
   * @returns whether it was stored.
   */
  write(key: string, value: string, age: number, ttl: number, lease: string): Promise<boolean>;
  /**
   * Ends all leases of a key, and stores `value` for `ttl` milliseconds with the age 0, or without a value removes the row. In
   * one step.
   */
  withdraw(key: string, value: string | undefined, ttl: number): Promise<void>;
  /** Sends a message to the subscribers of all processes. */
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
