import { LRUCache } from 'lru-cache';
import { schedule } from '../deadline.js';

/** Invalidations that wait at most. More are replaced by one of everything. */
const MAX_WAITING = 1000;
/** Stored invalidations that are remembered, to be sent again: a failover loses the last seconds. */
const MAX_STORED = 200;
/** Milliseconds before the next attempt: at first, and at most. They double. */
const FIRST_DELAY = 250;
const LONGEST_DELAY = 5000;

interface UnsentParts {
  /** Whether something can be sent now. */
  readonly prepare: () => Promise<boolean>;
  /** Stores and publishes an invalidation of one subject. Whether both are done. */
  readonly send: (subject: string, order: number) => Promise<boolean>;
  /** The same of everything. */
  readonly sendAll: () => Promise<boolean>;
  /** Too many wait: everything is to be invalidated. */
  readonly onOverflow: () => void;
}

/**
 * The invalidations that the shared cache has not stored yet. They are sent by a timer until it has, and at once when
 * the connection is back. Those that were stored are then sent again, because a failover can have lost them.
 */
export class Unsent {
  readonly #parts: UnsentParts;
  readonly #waiting = new Map<string, number>();
  readonly #stored = new LRUCache<string, number>({ max: MAX_STORED });
  #isAllWaiting = false;
  #isSending = false;
  #delay = FIRST_DELAY;
  #cancel: (() => void) | undefined;
  #isClosed = false;

  constructor(parts: UnsentParts) {
    this.#parts = parts;
  }

  /** Sends an invalidation later. */
  add(subject: string, order: number): void {
    this.#wait(subject, order);
    if (this.#waiting.size > MAX_WAITING) {
      this.#waiting.clear();
      this.#parts.onOverflow();
      this.addAll();
    } else this.#schedule();
  }

  /** Sends the invalidation of everything later. */
  addAll(): void {
    this.#isAllWaiting = true;
    this.#schedule();
  }

  /** Remembers an invalidation that is stored. */
  stored(subject: string, order: number): void {
    this.#stored.set(subject, Math.max(order, this.#stored.get(subject) ?? order));
  }

  /** Sends all now, because the connection is back. */
  sendAgain(): void {
    for (const [subject, order] of this.#stored.entries()) this.#wait(subject, order);
    this.#delay = FIRST_DELAY;
    void this.#sendWaiting();
  }

  close(): void {
    this.#isClosed = true;
    this.#cancel?.();
  }

  #wait(subject: string, order: number): void {
    this.#waiting.set(subject, Math.max(order, this.#waiting.get(subject) ?? order));
  }

  #schedule(): void {
    if (this.#cancel !== undefined || this.#isClosed) return;
    this.#cancel = schedule(this.#delay, () => {
      this.#cancel = undefined;
      void this.#sendWaiting();
    });
    this.#delay = Math.min(this.#delay * 2, LONGEST_DELAY);
  }

  async #sendWaiting(): Promise<void> {
    if (this.#isSending || this.#isClosed) return;
    this.#isSending = true;
    try {
      if (!(await this.#parts.prepare())) return;
      if (this.#isAllWaiting) {
        this.#isAllWaiting = false;
        if (!(await this.#parts.sendAll())) this.#isAllWaiting = true;
      }
      // All of them, because a shared cache that stores nothing still publishes.
      for (const [subject, order] of [...this.#waiting]) {
        if (!(await this.#parts.send(subject, order))) continue;
        if (this.#waiting.get(subject) === order) this.#waiting.delete(subject);
        this.stored(subject, order);
      }
    } finally {
      this.#isSending = false;
      if (this.#isAllWaiting || this.#waiting.size > 0) this.#schedule();
      else this.#delay = FIRST_DELAY;
    }
  }
}
