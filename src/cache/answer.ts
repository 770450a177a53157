/**
 * An answer of the service, as the cache has it.
 *
 * What says which of two answers is later:
 *
 * | | by | compares |
 * |---|---|---|
 * | `at` | the time of the request, by this process's monotonic clock | an answer with the present: its age |
 * | `order` | the same time by the shared cache's clock | answers of different processes |
 * | `orderEpoch` | the epoch in which the order was received | only orders of the same epoch: clocks can have changed |
 * | `requestNumber` | the requests of this process, counted | in-flight lookups, whose order can be unknown |
 *
 * Each time that messages were missed begins an epoch. An answer of an earlier `epoch` needs a lookup to be served.
 */
export interface Answer<T> {
  /** `null`: a negative answer. */
  readonly value: T | null;
  /** When it was requested, in milliseconds of a clock that never goes back. */
  readonly at: number;
}

/** A positive answer, as it is cached. */
export interface Positive<T> extends Answer<T> {
  readonly value: T;
  /** The spelling that was requested; in lower case it is the key. */
  readonly spelling: string;
  /** Its place in the order of the shared tier; minus infinity where that is not known. */
  readonly order: number;
  /** The epoch it was cached in. Missed messages begin a new one, in which it needs a lookup to be served. */
  readonly epoch: number;
  /** The epoch in which `order` was received. Orders of two epochs can come from different clocks. */
  readonly orderEpoch: number;
}

/** A negative answer. It is about one spelling of the key, because a service can distinguish letter cases. */
export interface Negative extends Answer<never> {
  readonly value: null;
  readonly spelling: string;
}
