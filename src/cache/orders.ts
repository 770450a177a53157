import { latest } from '../latest.js';

/** The subject of an invalidation of everything. */
export const ALL = 'all';

/** Subjects, wrong codes among them. One that is forgotten matters only if the shared cache has lost its row, or never took it. */
const MAX_REMEMBERED = 10_000;

/**
 * The order of requests, and up to which order answers are invalid: a hybrid logical clock. In a process that is alone it is
 * a counter. In a fleet it goes on from the time of the shared cache, in microseconds, and from the orders of other
 * processes, and is never behind one that it has seen. So a negative answer is later than every answer that was read
 * before, whatever the clocks say.
 */
export class Orders {
  #last = 0;
  /** What it was when it last saw another one, and when that was, by `performance.now`. */
  #seen: { readonly order: number; readonly at: number } | undefined;
  readonly #invalid = latest<string, number>(MAX_REMEMBERED);
  #allInvalid = 0;
  readonly #listeners: ((subject: string, upTo: number) => void)[] = [];

  /** Calls a cache that must forget its answers about a subject, or {@link ALL}, up to an order. */
  onInvalidated(listener: (subject: string, upTo: number) => void): void {
    this.#listeners.push(listener);
  }

  /** The order of what happens now: later than all that this process knows of. */
  next(): number {
    const seen = this.#seen;
    const time = seen ? Math.round(seen.order + (performance.now() - seen.at) * 1000) : 0;
    this.#last = Math.max(time, this.#last + 1);
    return this.#last;
  }

  /** Goes on from a time of the shared cache, or an order of another process, if that is later. */
  see(order: number): void {
    this.#last = Math.max(order, this.next());
    this.#seen = { order: this.#last, at: performance.now() };
  }

  /** The answers about a subject, or {@link ALL}, are invalid up to an order. @returns the order. */
  invalidate(subject: string, upTo = this.next()): number {
    this.see(upTo);
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
    return Math.max(this.#invalid.get(subject) ?? 0, this.#allInvalid);
  }
}
