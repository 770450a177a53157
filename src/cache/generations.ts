import type { Message } from './invalidations.js';
import type { Seal, Seals } from './seal.js';
import {
  type GuardedSharedCache,
  type Orders,
  type SharedRow,
  UNAVAILABLE,
} from './shared-cache.js';

const NAME = 'generation';
/** How long the row of a generation is kept, in milliseconds: a year. Without it, all answers are lost. */
const LIFE = 365 * 24 * 3_600_000;
/** How many times a row is read when other processes replace it meanwhile. */
const MAX_ROUNDS = 5;

export interface GenerationsOptions {
  readonly store: GuardedSharedCache;
  readonly seals: Seals;
  readonly orders: Orders;
  publish(seal: Seal, message: Message): Promise<boolean>;
  /** Another process has invalidated everything up to an order. @param age milliseconds since. */
  onAllInvalidated(upTo: number, age: number): void;
  /** Another process has lost invalidations: cached answers need a lookup. */
  onUncertain(): void;
  /** Other processes, or the rows, can lack invalidations that this one has sent. */
  onResend(): void;
  /** A new generation is to be stored or published, and is not yet. */
  onUnsent(): void;
}

/**
 * The generations of the rows, one under each secret. Names contain the generation, so the rows of an
 * earlier one are not found. A new one begins when everything is invalidated, when a process has lost invalidations
 * that it had not sent, and when the row of the current one is lost.
 *
 * Its number is the order of its row. The row holds the order up to which everything is invalid; of two
 * such orders, the later counts.
 */
export class Generations {
  #numbers = new WeakMap<Seal, number>();
  /** As far as the shared cache or another process has said so. */
  #allInvalidUpTo = 0;
  /** This process has invalidated everything, up to an order that the shared cache has not given yet. */
  #isAllInvalid = false;
  /**
   * Up to this order a process has lost invalidations. A generation is later than that. Infinity: the shared cache has
   * not given the order yet.
   */
  #uncertainUpTo = 0;
  /** As far as other processes have said so. */
  #receivedUncertainUpTo = 0;
  /** How many times messages were missed, or everything was invalidated. */
  #resets = 0;
  /** The latest generation that another process has published. */
  #latestPublished = 0;
  #reading: Promise<boolean> | undefined;
  /** The secrets whose current generation is not published yet. */
  readonly #unpublished = new WeakSet<Seal>();
  /** The shared cache has refused a new row. Only {@link retry} and {@link invalidateAll} try again. */
  #isRefused = false;

  constructor(private readonly options: GenerationsOptions) {}

  /**
   * Whether an answer of this order is invalid because everything was invalidated later, or uncertain. One of unknown
   * order (minus infinity) was removed from the cache at that time, so one that is still cached is later.
   */
  isInvalid(order: number): boolean {
    if (order === Number.NEGATIVE_INFINITY) return false;
    return this.#isAllInvalid || order <= Math.max(this.#allInvalidUpTo, this.#uncertainUpTo);
  }

  /** `undefined`: it is not known. */
  numberOf(seal: Seal): number | undefined {
    return this.#numbers.get(seal);
  }

  /** `undefined`: its generation is not known. */
  nameOf(seal: Seal, subject: string): string | undefined {
    const number = this.numberOf(seal);
    return number === undefined ? undefined : seal.name(`${number} ${subject}`);
  }

  rowOf(seal: Seal): string {
    return seal.name(NAME);
  }

  /** The rows are read again, because messages were missed. */
  forget(): void {
    this.#resets++;
    this.#numbers = new WeakMap();
  }

  /** Invalidates everything requested until now. {@link ensureKnown} stores and publishes it. */
  invalidateAll(): void {
    this.#isAllInvalid = true;
    for (const seal of this.options.seals.all) this.#unpublished.add(seal);
    this.#isRefused = false;
    this.forget();
  }

  /**
   * Unsent invalidations were lost, of which one can have been of a refund: no row until now is used any more.
   * {@link retry} begins a generation, not each of many that are lost.
   */
  abandonRows(): void {
    this.#uncertainUpTo = Number.POSITIVE_INFINITY;
    this.options.onUnsent();
  }

  /** Tries again to store a generation that was refused. */
  retry(): Promise<boolean> {
    this.#isRefused = false;
    if (this.#uncertainUpTo === Number.POSITIVE_INFINITY) this.forget();
    return this.ensureKnown();
  }

  /** Returns whether the generations are known, stored, and published where they are new. */
  async ensureKnown(): Promise<boolean> {
    const { store, seals } = this.options;
    // Without messages, another process can have begun a new one at any time.
    if (!store.isListening) return this.#readAll();
    while (seals.all.some((seal) => !this.#numbers.has(seal))) {
      this.#reading ??= this.#readAll().finally(() => {
        this.#reading = undefined;
      });
      if (!(await this.#reading)) return false;
    }
    return true;
  }

  /** Another process has published its generation. */
  receive(seal: Seal, { allUpTo = 0, uncertainUpTo = 0, generation }: Message): void {
    const isUncertain = uncertainUpTo > this.#receivedUncertainUpTo;
    if (isUncertain) {
      this.#receivedUncertainUpTo = uncertainUpTo;
      this.#uncertainUpTo = Math.max(uncertainUpTo, this.#uncertainUpTo);
      this.forget();
      this.options.onUncertain();
    }
    const isNew = allUpTo > this.#allInvalidUpTo;
    const isKnown = generation === undefined || generation === this.#numbers.get(seal);
    if (isKnown && allUpTo === this.#allInvalidUpTo) return;
    if (generation === undefined) this.#resets++;
    else this.#latestPublished = Math.max(this.#latestPublished, generation);
    this.#numbers = new WeakMap();
    if (isNew) {
      this.#allInvalidUpTo = allUpTo;
      this.options.onAllInvalidated(allUpTo, 0);
    } else if (!isUncertain) {
      // Its sender can have missed what this process knows.
      this.options.onResend();
    }
  }

  async #readAll(): Promise<boolean> {
    for (const seal of this.options.seals.all) if (!(await this.#read(seal))) return false;
    return true;
  }

  /** Reads the generation under a secret. Begins one where there is none, or one that misses an invalidation. */
  async #read(seal: Seal): Promise<boolean> {
    const { store, seals, orders, onResend } = this.options;
    const name = this.rowOf(seal);
    for (let round = 1; round <= MAX_ROUNDS; round++) {
      const [resets, latestPublished] = [this.#resets, this.#latestPublished];
      const row = await store.read(name);
      if (row === UNAVAILABLE) return false;
      // Everything was invalidated after this was read, or another process has begun a later generation.
      const isOutdated = (): boolean =>
        resets !== this.#resets ||
        (this.#latestPublished > latestPublished && row.order < this.#latestPublished);
      if (isOutdated()) continue;
      const storedUpTo = this.#compare(seal, row);
      // No process has shared anything under an earlier secret, or all of it is lost.
      const isUnused = row.value === undefined && seal !== seals.newest;
      const isCurrent = storedUpTo === this.#allInvalidUpTo && row.order > this.#uncertainUpTo;
      if (isCurrent || isUnused) {
        if (!(await this.#publishNew(seal, row.order))) return false;
        if (isOutdated()) continue;
        this.#numbers.set(seal, row.order);
        orders.saw(Math.max(row.order, this.#allInvalidUpTo));
        return true;
      }
      if (this.#isRefused || !(await this.#replace(seal, row))) return false;
      // The tombstones are lost.
      if (storedUpTo !== this.#allInvalidUpTo) onResend();
    }
    return false;
  }

  /**
   * Compares a row with what this process knows: adopts an invalidation of everything that was missed, and gives this
   * process's own ones their order. Returns the order up to which the row says that everything is invalid.
   */
  #compare(seal: Seal, row: SharedRow): number {
    const { orders, onAllInvalidated } = this.options;
    const text =
      row.value === undefined
        ? undefined
        : seal.open(`${this.rowOf(seal)} ${row.order}`, row.value);
    // A row that does not open is replaced, as one that is lost.
    const storedUpTo = text === undefined ? -1 : Number(text);
    if (storedUpTo > this.#allInvalidUpTo) {
      // The message was missed. Its age is measured by the shared cache's own clock, which is another one
      // after a failover.
      this.#allInvalidUpTo = storedUpTo;
      onAllInvalidated(storedUpTo, Math.max(0, row.now - storedUpTo) / 1000);
    }
    if (this.#isAllInvalid) this.#allInvalidUpTo = orders.next(row);
    this.#isAllInvalid = false;
    if (this.#uncertainUpTo === Number.POSITIVE_INFINITY) this.#uncertainUpTo = orders.next(row);
    return storedUpTo;
  }

  /** Publishes a generation of this process that is not published yet. Returns whether none is left. */
  async #publishNew(seal: Seal, generation: number): Promise<boolean> {
    // What is invalidated while it is published must be published again.
    if (!this.#unpublished.delete(seal)) return true;
    const [allUpTo, uncertainUpTo] = [this.#allInvalidUpTo, this.#uncertainUpTo];
    if (await this.options.publish(seal, { allUpTo, uncertainUpTo, generation })) return true;
    this.#unpublished.add(seal);
    this.options.onUnsent();
    return false;
  }

  /** Begins a generation: replaces its row. Returns whether the shared cache has taken it. */
  async #replace(seal: Seal, row: SharedRow): Promise<boolean> {
    const { store, orders, publish, onUnsent } = this.options;
    const [allUpTo, uncertainUpTo] = [this.#allInvalidUpTo, this.#uncertainUpTo];
    this.#unpublished.add(seal);
    orders.saw(uncertainUpTo);
    const order = orders.next(row);
    const name = this.rowOf(seal);
    const sealed = seal.seal(`${name} ${order}`, `${allUpTo}`);
    if ((await store.write(name, sealed, LIFE, order)) !== UNAVAILABLE) return true;
    this.#isRefused = true;
    // Without it, a process that starts later begins a new one.
    await store.delete(name);
    await publish(seal, { allUpTo, uncertainUpTo });
    onUnsent();
    return false;
  }
}
