import type { LRUCache } from 'lru-cache';
import { type LookupMessage, lookupChannel } from '../diagnostics.js';
import { isMarketgateError } from '../errors.js';
import { latest } from '../latest.js';
import type { CacheLimits } from './options.js';
import { ALL, type Orders } from './orders.js';
import type { Found, SharedTier } from './shared-tier.js';

/** A cached answer of the service. */
export interface Answer<T> {
  /** `null`: a negative answer. */
  readonly value: T | null;
  /** When it was requested, by the cache's clock. */
  readonly at: number;
}

/** An answer as this process keeps it. */
export interface Kept<V> {
  readonly value: V;
  readonly at: number;
  /** Its place in the order of requests. */
  readonly order: number;
  /** What was asked for. The refresh of a positive answer asks for that too, whatever the spelling of the call that causes it. */
  readonly spelling: string;
  /** The shared tier's epoch in which it was last known to be valid. In a later one, the shared tier is asked first. */
  validIn: number;
  /** When its last refresh has failed, by the cache's clock. */
  failedAt?: number;
}

export interface AnswersParts<T> {
  /** The kind of answer, as in `marketgate:lookup`. */
  readonly what: LookupMessage['what'];
  readonly limits: CacheLimits;
  /** Milliseconds, for durations. */
  readonly clock: () => number;
  /** Makes of an answer what callers share. */
  readonly freeze: (value: T) => T;
  readonly orders: Orders;
  readonly sharedTier: SharedTier | undefined;
}

/**
 * The answers of one kind that this process has. A positive one is kept for a key in any letter case (the key is in lower
 * case). A negative one is about one spelling of the key, the last that was asked for, because a service can distinguish letter
 * cases. It has a separate cache, and invalidates at once the positive answers that were requested before it, also those that
 * arrive later.
 */
export class Answers<T extends object> {
  readonly #positive: LRUCache<string, Kept<T>>;
  readonly #negative: LRUCache<string, Kept<null>>;

  constructor(readonly parts: AnswersParts<T>) {
    this.#positive = latest(parts.limits.max);
    this.#negative = latest(parts.limits.maxInvalid);
    parts.orders.onInvalidated((subject, upTo) => this.#forget(subject, upTo));
  }

  /** What invalidations call a key. */
  subjectOf(key: string): string {
    return `${this.parts.what} ${key}`;
  }

  /** A positive answer of any age. */
  positive(key: string): Kept<T> | undefined {
    return this.#positive.get(key);
  }

  /** A negative answer about this spelling that can be served. */
  negative(spelling: string, key: string): Kept<null> | undefined {
    const negative = this.#negative.get(key);
    if (negative?.spelling !== spelling) return undefined;
    return this.ageOf(negative) < this.parts.limits.invalidTtl ? negative : undefined;
  }

  /**
   * A positive answer that is younger than `ttl`, where the shared tier cannot be read: valid as far as this process can
   * know.
   */
  withoutSharedTier(key: string): Kept<T> | undefined {
    const positive = this.positive(key);
    return positive && !this.isStale(positive) && !this.#isOutdated(positive)
      ? positive
      : undefined;
  }

  /** A negative answer invalidates what was kept, and takes its place. */
  keep(key: string, answer: Kept<T> | Kept<null>): void {
    if (isNegative(answer)) {
      this.parts.orders.invalidate(this.subjectOf(key), answer.order);
      this.#negative.set(key, answer);
    } else {
      this.#negative.delete(key);
      this.#positive.set(key, answer);
    }
  }

  /** Keeps what the shared tier has, unless a later answer is kept. @returns it, if the service need not be asked. */
  adopt(spelling: string, key: string, { answer, epoch }: Found): Answer<T> | undefined {
    const known = this.positive(key);
    if (answer === undefined) {
      // The shared tier does not take every answer. Items and accounts are invalidated with everything only, and it has
      // read whether that was.
      if (this.parts.what === 'purchase' || !known || this.isStale(known)) return undefined;
      known.validIn = epoch;
      return known;
    }
    const { value, order, age } = answer;
    const isLater = known !== undefined && known.order >= order;
    if (value === null && isLater) return undefined;
    const at = this.parts.clock() - age;
    const asked = answer.spelling;
    if (value === null) {
      this.keep(key, { value, at, order, spelling: asked, validIn: epoch });
      return this.negative(spelling, key);
    }
    const positive = isLater
      ? known
      : { value: this.parts.freeze(value as T), at, order, spelling: asked, validIn: epoch };
    positive.validIn = epoch;
    this.keep(key, positive);
    return this.isStale(positive) ? undefined : positive;
  }

  /** Whether a key was asked about, or invalidated, after this order. */
  isAskedSince(key: string, order: number): boolean {
    const positive = this.positive(key);
    const isInvalid = this.parts.orders.isInvalid(this.subjectOf(key), order);
    return (positive && positive.order > order) || isInvalid;
  }

  /**
   * Whether the shared tier must be asked before the answer is served: messages can have been missed since it was known to be
   * valid. While the shared tier rests, only an answer from an earlier epoch is not served.
   */
  mustAsk(positive: Kept<T>): boolean {
    const { sharedTier } = this.parts;
    if (!sharedTier?.mayHaveMissedSince(positive.validIn)) return false;
    return !sharedTier.isResting || this.#isOutdated(positive);
  }

  /** Whether another epoch has begun since then. */
  #isOutdated({ validIn }: Kept<T>): boolean {
    const { sharedTier } = this.parts;
    return sharedTier !== undefined && validIn !== sharedTier.epoch;
  }

  /** Whether a positive answer is past its `ttl`. */
  isStale(positive: Answer<T>): boolean {
    return this.ageOf(positive) >= this.parts.limits.ttl;
  }

  ageOf({ at }: Answer<T>): number {
    return this.parts.clock() - at;
  }

  /** Forgets the answers about a subject, except a positive one that was requested after this order. */
  #forget(subject: string, upTo: number): void {
    const prefix = this.subjectOf('');
    if (subject !== ALL && !subject.startsWith(prefix)) return;
    const keys = subject === ALL ? [...this.#positive.keys()] : [subject.slice(prefix.length)];
    for (const key of keys) {
      const positive = this.#positive.peek(key);
      if (positive && positive.order <= upTo) this.#positive.delete(key);
      this.#negative.delete(key);
    }
    if (subject === ALL) this.#negative.clear();
  }

  /** Reports on `marketgate:lookup`. @param error in place of the answer. */
  report(source: LookupMessage['source'], answer: Answer<T> | undefined, error?: unknown): void {
    if (!lookupChannel.hasSubscribers) return;
    const outcome = answer ? (answer.value === null ? 'negative' : 'positive') : 'failed';
    const code = isMarketgateError(error) && { code: error.code };
    const { what } = this.parts;
    lookupChannel.publish({ what, source, outcome, ...code } satisfies LookupMessage);
  }
}

const isNegative = (answer: Kept<object> | Kept<null>): answer is Kept<null> =>
  answer.value === null;
