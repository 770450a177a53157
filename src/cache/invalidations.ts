import type { Seal } from './seal.js';

/** An invalidation for the other processes. */
export interface Invalidation {
  readonly subject: string;
  /** Its order, once known. A retry keeps it, so that it does not invalidate what was requested meanwhile. */
  order: number | undefined;
  /** When it was requested, in milliseconds of this process's clock. */
  readonly at: number;
  /**
   * False for a negative answer where no positive one is known. Visitors can cause any number of these, so they are
   * dropped first when there are too many.
   */
  isEssential: boolean;
  /** The spelling that got the negative answer which it comes from, if other processes can serve that. */
  readonly spelling?: string | undefined;
  /**
   * Of an invalidation that is passed on: the seal it has come under. It is sent under later ones only, or it would come
   * back.
   */
  readonly receivedUnder?: Seal;
}

/** What one process publishes: a subject is invalid, or everything is, or it has missed messages, or can have. */
export interface Message {
  /** The process that sent it, which ignores it. */
  readonly from?: string;

  /** The invalid subject. */
  readonly subject?: string;
  readonly order?: number;
  /** Milliseconds since it was requested. */
  readonly age?: number;
  /** Whether the shared cache has stored it too. */
  readonly isStored?: boolean;
  /** As of the {@link Invalidation}, as far as its sender knows. */
  readonly isEssential?: boolean;

  /** A new generation: everything up to this order is invalid. */
  readonly allUpTo?: number;
  /** Its number, if the shared cache has stored it. */
  readonly generation?: number;
  /** With a new generation: its sender, or one before it, had lost invalidations until this order. */
  readonly uncertainUpTo?: number;

  /** Its sender has missed messages. The others send theirs again, because rows can be lost. */
  readonly hasMissed?: boolean;

  /** Its sender did not listen earlier. The others send at once what they could not send yet. */
  readonly isNewcomer?: boolean;
}

interface Tombstone extends Invalidation {
  /** Answers up to this order are invalid. */
  order: number;
  /** Whether this process has sent it, and sends it again when the shared cache can have lost it. */
  readonly isOwn: boolean;
}

/** Invalidations by subject. Essential ones have separate room, so that others cannot push them out. */
export class InvalidationMap<T extends Invalidation> {
  /** Those of subjects with a positive answer, as of a refunded purchase, and those that the app asked for. */
  readonly essential = new Map<string, T>();
  readonly #others = new Map<string, T>();

  constructor(
    private readonly maxEssential: number,
    private readonly maxOthers: number,
  ) {}

  get size(): number {
    return this.essential.size + this.#others.size;
  }

  get(subject: string): T | undefined {
    return this.essential.get(subject) ?? this.#others.get(subject);
  }

  /**
   * Adds one at the end, in place of an earlier one of its subject. The later order counts, and an essential subject
   * stays essential. Above the limit, drops the oldest, and returns whether it did.
   */
  set(invalidation: T): boolean {
    const { subject, order } = invalidation;
    const earlier = this.get(subject)?.order;
    if (order !== undefined && earlier !== undefined) invalidation.order = Math.max(order, earlier);
    invalidation.isEssential ||= this.essential.has(subject);
    this.delete(subject);
    const room = invalidation.isEssential ? this.essential : this.#others;
    room.set(subject, invalidation);
    const [first = subject] = room.keys();
    const max = invalidation.isEssential ? this.maxEssential : this.maxOthers;
    return room.size > max && room.delete(first);
  }

  /** Puts one behind the others, if it is still there. */
  moveBack(invalidation: T): void {
    if (this.get(invalidation.subject) === invalidation) this.set(invalidation);
  }

  /** Its subject turns out to have had a positive answer. */
  makeEssential(invalidation: T): void {
    invalidation.isEssential = true;
    this.moveBack(invalidation);
  }

  delete(subject: string): void {
    this.essential.delete(subject);
    this.#others.delete(subject);
  }

  clear(): void {
    this.essential.clear();
    this.#others.clear();
  }

  /** The essential ones, and then the others. */
  all(): T[] {
    return [...this.essential.values(), ...this.#others.values()];
  }
}

/**
 * The tombstones that this process keeps of negative answers and invalidations. A positive answer that was
 * requested before its tombstone is not served again.
 */
export class Tombstones extends InvalidationMap<Tombstone> {
  /**
   * @param max - of essential ones. Of the others it is half, because all are sent again.
   * @param life - how long a positive answer, and so a tombstone, is kept, in milliseconds.
   */
  constructor(
    max: number,
    private readonly life: number,
    private readonly clock: () => number,
  ) {
    super(max, max / 2);
  }

  override get(subject: string): Tombstone | undefined {
    const tombstone = super.get(subject);
    return tombstone && this.#isLive(tombstone) ? tombstone : undefined;
  }

  /** The order up to which answers about a subject are invalid. */
  orderOf(subject: string): number {
    return this.get(subject)?.order ?? Number.NEGATIVE_INFINITY;
  }

  /** Of two tombstones, the later one counts. */
  keep(tombstone: Tombstone): void {
    const { at, isOwn } = this.get(tombstone.subject) ?? tombstone;
    this.set({
      ...tombstone,
      at: Math.max(at, tombstone.at),
      isOwn: isOwn || tombstone.isOwn,
    });
  }

  /** Those that this process has sent. */
  sent(): Invalidation[] {
    const own = this.all().filter((each) => each.isOwn && this.#isLive(each));
    return own.map((each) => ({ ...each }));
  }

  #isLive({ at }: Tombstone): boolean {
    return this.clock() - at < this.life;
  }
}
