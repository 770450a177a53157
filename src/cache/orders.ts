import { LRUCache } from 'lru-cache';

/** The subject of an invalidation of everything. */
export const ALL = 'all';

/** Subjects, wrong codes among them. One that is forgotten matters only if the shared cache has lost its row too. */
const MAX_REMEMBERED = 10_000;

/** Far below every time by the clock of a shared cache, which is 0 or later. */
const BEFORE_ANY_READING = -1e15;

/** By how much the clock must be behind to be that of another server, in microseconds. */
const STEP_BACK = 1_000_000;

/** When a request was sent. */
export interface RequestTime {
  /** Its place in the order of requests. */
  readonly order: number;
  /** By `performance.now`. */
  readonly at: number;
}

/**
 * The order of requests, and up to which order answers are invalid. In a fleet, the order is the time of the request by
 * the shared cache's clock, in microseconds. In a process that is alone, it is that of its own timer.
 *
 * A request takes the time that was read just before it, which is never too late. A negative answer takes the last
 * reading and all the time since that began, which is never too early. So it counts whenever it can have been requested
 * later. Until the clock is read for the first time, orders are below 0, and are converted after that.
 */
export class Orders {
  /** The last reading of the clock, in microseconds, and when it began. */
  #reading: { readonly now: number; readonly sentAt: number } | undefined;
  /** What converts an order from before the first reading. */
  #shift = 0;
  #last = Number.NEGATIVE_INFINITY;
  readonly #invalid = new LRUCache<string, number>({ max: MAX_REMEMBERED });
  #allInvalid = Number.NEGATIVE_INFINITY;
  readonly #listeners: ((subject: string, upTo: number) => void)[] = [];

  /** Calls a cache that must forget its answers about a subject, or {@link ALL}, up to an order. */
  onInvalidated(listener: (subject: string, upTo: number) => void): void {
    this.#listeners.push(listener);
  }

  /**
   * The place of a request that is sent now: later than all that this process knows of.
   * @param hasRead - whether the clock was read just before.
   */
  begin(hasRead = false): RequestTime {
    const at = performance.now();
    const now = hasRead && this.#reading ? this.#reading.now : this.#timeAt(at);
    // In steps of two, so that the place of a negative answer is before that of the next request.
    this.#last = Math.max(now, this.#last + 2);
    return { order: this.#last, at };
  }

  /** The place of a negative answer: not before any request that can have been sent earlier. */
  ofNegative({ order, at }: RequestTime): number {
    return Math.max(this.#timeAt(at), order + 1);
  }

  /** The place of an invalidation: after everything that was requested until now. */
  now(): number {
    return this.ofNegative(this.begin());
  }

  /** Notes a reading of the shared cache's clock. @param sentAt - when it was requested, by `performance.now`. */
  noteTime(now: number, sentAt: number): void {
    const expected = this.#timeAt(sentAt);
    const isBehind = this.#reading !== undefined && expected - now > STEP_BACK;
    if (this.#reading === undefined) this.#shift = now - expected;
    // The server that has taken over is behind. The processes that know the clock of before go on by that.
    this.#reading = { now: isBehind ? expected : now, sentAt };
  }

  /** Notes an order of another process, whose clock can be ahead where the shared cache has failed over. */
  noteOrder(order: number): void {
    this.#last = Math.max(order, this.#last);
  }

  /** An order by the shared cache's clock, once that is known. */
  converted(order: number): number {
    return order < 0 ? order + this.#shift : order;
  }

  /** The answers about a subject, or {@link ALL}, are invalid up to an order. @returns the order. */
  invalidate(subject: string, upTo = this.now()): number {
    this.noteOrder(upTo);
    // Otherwise known, for example because the message is an echo.
    if (upTo > this.#invalidUpTo(subject)) {
      if (subject === ALL) this.#allInvalid = upTo;
      else this.#invalid.set(subject, upTo);
      for (const listener of this.#listeners) listener(subject, upTo);
    }
    return upTo;
  }

  /** Whether an answer must not be served, because a later negative one or an invalidation is known. */
  isInvalid(subject: string, order: number): boolean {
    return order <= this.#invalidUpTo(subject);
  }

  #invalidUpTo(subject: string): number {
    const own = this.#invalid.get(subject) ?? Number.NEGATIVE_INFINITY;
    return Math.max(this.converted(own), this.converted(this.#allInvalid));
  }

  #timeAt(at: number): number {
    const { now, sentAt } = this.#reading ?? { now: BEFORE_ANY_READING, sentAt: 0 };
    return Math.round(now + (at - sentAt) * 1000);
  }
}
