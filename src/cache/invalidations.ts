import { LRUCache } from 'lru-cache';

/** An invalidation for the other processes. */
export interface Invalidation {
  readonly subject: string;
  /** Its order, once known. A retry keeps it, so that it does not invalidate what was requested meanwhile. */
  order: number | undefined;
  /** When it was requested, in milliseconds of this process's clock. */
  readonly at: number;
  /** The spelling that got the negative answer which it comes from, if other processes can serve that. */
  readonly variant?: string | undefined;
}

/** What one process publishes: a subject is invalid, or everything is, or it has missed messages. */
export interface Message {
  /** The process that sent it, which ignores it. */
  readonly from?: string;
  /** A new generation: everything up to this order is invalid. */
  readonly allUpTo?: number;
  /** Its number, if the shared cache has stored it. */
  readonly generation?: number;
  readonly subject?: string;
  readonly order?: number;
  /** Milliseconds since it was requested. */
  readonly age?: number;
  /** Whether the shared cache has stored it too. */
  readonly isStored?: boolean;
  /** Its sender has missed messages. The others send theirs again, because rows can be lost. */
  readonly hasMissed?: boolean;
}

interface Tombstone {
  /** Answers up to this order are invalid. */
  readonly order: number;
  /** Answers up to this time are invalid. */
  readonly at: number;
  /** Whether this process has sent it, and sends it again when the shared cache can have lost it. */
  readonly isOwn: boolean;
}

/**
 * The tombstones that this process keeps of negative answers and invalidations. A positive answer that was
 * requested before its tombstone is not served again.
 */
export class Tombstones {
  readonly #tombstones: LRUCache<string, Tombstone>;
  readonly #max: number;

  /** @param life - how long a positive answer, and so a tombstone, is kept, in milliseconds. */
  constructor(max: number, life: number, clock: () => number) {
    this.#tombstones = new LRUCache({ max, ttl: life, ttlResolution: 0, perf: { now: clock } });
    this.#max = max;
  }

  /** The order up to which answers about a subject are invalid. */
  orderOf(subject: string): number {
    return this.#tombstones.peek(subject)?.order ?? Number.NEGATIVE_INFINITY;
  }

  /** Of two tombstones, the later one counts. */
  keep(subject: string, { order, at, isOwn }: Tombstone): void {
    const known = this.#tombstones.peek(subject);
    const latest = {
      order: Math.max(order, known?.order ?? 0),
      at: Math.max(at, known?.at ?? 0),
      isOwn: isOwn || known?.isOwn === true,
    };
    this.#tombstones.set(subject, latest, { start: latest.at });
  }

  clear(): void {
    this.#tombstones.clear();
  }

  /** The latest ones that this process has sent, the latest first. At most half of what can wait. */
  recent(): Invalidation[] {
    const own = [...this.#tombstones.entries()].filter(([, { isOwn }]) => isOwn);
    return own.slice(0, this.#max / 2).map(([subject, { order, at }]) => ({ subject, order, at }));
  }
}
