/** What a question came to: the service's answer, and when it was asked. */
export interface Answered<T> {
  /** `null`: the service said no. */
  readonly value: T | null;
  /** Epoch milliseconds of the question: an answer is never taken for younger than it is. */
  readonly at: number;
}

/** One that is not *no*. */
export type Yes<T> = Answered<T> & { readonly value: T };

/** A question that is under way. */
interface Flight<T> {
  /** Let go once it is answered, for what was a Map's entry can lie in the heap for long. */
  promise: Promise<Answered<T>> | undefined;
  /** The question about the same key that was asked before this one, if it is still under way. */
  earlier: Flight<T> | undefined;
  /** Whether its answer must not be kept: a later question was answered, or the key invalidated. */
  isOutdated: boolean;
}

/**
 * Questions under way, so that callers who want the same share one: one call to the service, and all
 * are answered at once, by a yes, a no and a failure alike. Nobody's leaving ends it for the others.
 */
export class Flights<T> {
  readonly #byKey = new Map<string, Flight<T>>();

  /** The newest question about a key. */
  find(key: string): Promise<Answered<T>> | undefined {
    return this.#byKey.get(key)?.promise;
  }

  /** How many keys are being asked about. */
  get size(): number {
    return this.#byKey.size;
  }

  /**
   * Starts a question; `keep` gets its answer, and whether that is outdated when it comes. Answers are
   * kept in the order in which they were asked for, however they arrive.
   */
  start(
    key: string,
    ask: () => Promise<Answered<T>>,
    keep: (answered: Answered<T>, isOutdated: boolean) => Answered<T>,
  ): Promise<Answered<T>> {
    const promise = ask().then((answered) => {
      const { isOutdated } = flight;
      if (!isOutdated) outdate(flight.earlier);
      return keep(answered, isOutdated);
    });
    const flight: Flight<T> = { promise, earlier: this.#byKey.get(key), isOutdated: false };
    this.#byKey.set(key, flight);
    // Handled here as well, for the callers may all have left.
    promise.then(
      () => this.#land(key, flight),
      () => this.#land(key, flight),
    );
    return promise;
  }

  #land(key: string, flight: Flight<T>): void {
    flight.earlier = undefined;
    flight.promise = undefined;
    if (this.#byKey.get(key) === flight) this.#byKey.delete(key);
  }

  /** Makes what is under way about one key, or all, unfit to be kept or shared. */
  forget(key?: string): void {
    for (const [each, flight] of key === undefined ? this.#byKey : this.#only(key)) {
      outdate(flight);
      this.#byKey.delete(each);
    }
  }

  #only(key: string): [string, Flight<T>][] {
    const flight = this.#byKey.get(key);
    return flight === undefined ? [] : [[key, flight]];
  }
}

function outdate<T>(flight: Flight<T> | undefined): void {
  for (let each = flight; each !== undefined; each = each.earlier) each.isOutdated = true;
}
