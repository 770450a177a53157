import { LRUCache } from 'lru-cache';

/** Invalidations that are sent again after messages were missed: the shared cache can have lost them. */
const MOST_RECENT = 1000;

/** An invalidation for the other processes. */
export interface Invalidation {
  readonly subject: string;
  /** Its order, once one is known: trying again must not invalidate what was requested meanwhile. */
  order: number | undefined;
  /** The negative answer that it comes from, while it can be served. */
  readonly negative?: { readonly variant: string; readonly at: number } | undefined;
}

/** What one process tells the others: a subject is invalid, or everything is. */
export interface Message {
  /** The process that sent it: it knows already. */
  readonly from?: string;
  /** The new generation. */
  readonly generation?: string;
  readonly subject?: string;
  readonly order?: number;
  /** Whether the shared cache knows too. */
  readonly isStored?: boolean;
}

interface Tombstone {
  /** Answers up to this order are invalid. */
  readonly order: number;
  /** When no such answer could be served any more. */
  readonly until: number;
  /** Whether this process has sent it: it does so again where the shared cache can have lost it. */
  readonly isOwn: boolean;
}

/**
 * What is left of positive answers that a negative answer or an invalidation has ended: nothing that was
 * requested before is served again.
 */
export class Tombstones {
  readonly #tombstones: LRUCache<string, Tombstone>;
  readonly #life: number;
  readonly #clock: () => number;

  /** @param life - how long a positive answer, and so a tombstone, lives, in milliseconds. */
  constructor(max: number, life: number, clock: () => number) {
    this.#tombstones = new LRUCache({ max: Math.max(max, MOST_RECENT) });
    this.#life = life;
    this.#clock = clock;
  }

  /** Up to which order the answers about a subject are invalid. */
  orderOf(subject: string): number {
    return this.#find(subject)?.order ?? Number.NEGATIVE_INFINITY;
  }

  /** Keeps the later of two. */
  keep(subject: string, order: number, isOwn: boolean): void {
    const known = this.#find(subject);
    this.#tombstones.set(subject, {
      order: Math.max(order, known?.order ?? 0),
      until: this.#clock() + this.#life,
      isOwn: isOwn || known?.isOwn === true,
    });
  }

  clear(): void {
    this.#tombstones.clear();
  }

  /** The latest ones that this process has sent. */
  recent(): [subject: string, order: number][] {
    const own = [...this.#tombstones.entries()].filter(([, { isOwn }]) => isOwn);
    return own
      .slice(0, MOST_RECENT)
      .filter(([subject]) => this.#find(subject))
      .map(([subject, { order }]) => [subject, order]);
  }

  #find(subject: string): Tombstone | undefined {
    const tombstone = this.#tombstones.peek(subject);
    return tombstone && this.#clock() < tombstone.until ? tombstone : undefined;
  }
}
