import { schedule } from '../deadline.js';
import type { Generations } from './generations.js';
import { type Invalidation, InvalidationMap, type Message, Tombstones } from './invalidations.js';
import type { Seal, Seals } from './seal.js';
import {
  type GuardedSharedCache,
  isPositive,
  MAX_RETRY_DELAY,
  type Orders,
  type Row,
  type SharedAnswer,
  type SharedRow,
  UNAVAILABLE,
} from './shared-cache.js';

/** The first wait before an unsent invalidation is tried again, in milliseconds. */
const FIRST_RETRY_DELAY = 1000;
/** Unsent invalidations that are sent at the same time. */
const BATCH = 32;

export interface OutboxOptions {
  readonly store: GuardedSharedCache;
  readonly seals: Seals;
  readonly orders: Orders;
  readonly generations: Generations;
  /** Never goes back. */
  readonly clock: () => number;
  /** How long a positive answer, and so a tombstone, is kept, in milliseconds. */
  readonly life: number;
  /** The most essential invalidations that can wait to be sent. With more, everything is invalidated. */
  readonly maxUnsent: number;
  /** The seal of the current secret; `undefined`: it is not known in time. */
  currentSeal(): Seal | Promise<Seal | undefined>;
  publish(seal: Seal, message: Message): Promise<boolean>;
  /** The shared cache has an invalidation that this process can have missed. */
  onMissedRow(subject: string, answer: SharedAnswer): void;
  /** The answer in a row. */
  open(seal: Seal, name: string, row: SharedRow): SharedAnswer | undefined;
}

/**
 * Sends this process's invalidations to the others: each is stored in the shared cache in place of the answer, and
 * published. What cannot be sent is tried again by a timer, and when the connection is back. What was sent stays here
 * as a tombstone, and is sent again when a process has missed messages or the shared cache can have lost it.
 */
export class Outbox {
  readonly tombstones: Tombstones;
  readonly #unsent: InvalidationMap<Invalidation>;
  #cancelRetry: (() => void) | undefined;
  #retryDelay = FIRST_RETRY_DELAY;
  #isSending = false;
  /** This process has missed messages, and has not asked the others yet to send theirs again. */
  #mustAskOthers = false;
  #isClosed = false;

  constructor(private readonly options: OutboxOptions) {
    const { maxUnsent, life, clock } = options;
    this.#unsent = new InvalidationMap(Number.POSITIVE_INFINITY, maxUnsent);
    this.tombstones = new Tombstones(maxUnsent, life, clock);
  }

  unsentAbout(subject: string): Invalidation | undefined {
    return this.#unsent.get(subject);
  }

  /** The order up to which answers about a subject are invalid, as far as this process knows. */
  invalidUpTo(subject: string): number {
    const unsent = this.#unsent.get(subject);
    // Until its order is known, it is later than everything.
    const unsentOrder = unsent && (unsent.order ?? Number.POSITIVE_INFINITY);
    return Math.max(unsentOrder ?? Number.NEGATIVE_INFINITY, this.tombstones.orderOf(subject));
  }

  /** The subject of an unsent invalidation turns out to have had a positive answer. */
  makeEssential(unsent: Invalidation): void {
    this.#unsent.makeEssential(unsent);
  }

  /** Sends an invalidation, and tries again later where that fails. Returns whether it was sent. */
  async send(invalidation: Invalidation): Promise<boolean> {
    const isSent = this.#queue(invalidation) && (await this.#trySend(invalidation));
    if (!isSent) this.scheduleRetry();
    return isSent;
  }

  /** Another process has published an invalidation that it could not store, and can end before it does. */
  takeOver(invalidation: Invalidation & { order: number }): void {
    // What this process sends is as late, or the same.
    if (this.invalidUpTo(invalidation.subject) >= invalidation.order) return;
    this.#queue(invalidation);
    this.scheduleRetry();
  }

  /** Invalidates everything requested until now. Returns whether that was sent; if not, it is tried again later. */
  async sendAllInvalid(): Promise<boolean> {
    const { currentSeal, generations } = this.options;
    this.#invalidateAll();
    const isSent = (await currentSeal()) !== undefined && (await generations.ensureKnown());
    if (!isSent) this.scheduleRetry();
    return isSent;
  }

  /** Messages were missed, so the others are asked to send theirs again. The shared cache can be reached again. */
  onMissed(): void {
    this.#mustAskOthers = true;
    this.resendAll();
  }

  /** Sends everything again: a server that restarted empty, or a replica that was behind, lacks the latest. */
  resendAll(): void {
    this.#addSent();
    void this.#sendUnsent();
  }

  /** The same a little later, once for all processes that have missed messages at the same time. */
  scheduleResend(): void {
    this.#addSent();
    if (this.#unsent.size > 0) this.scheduleRetry();
  }

  /** A process that did not hear what is unsent looks for answers: it is sent at once. */
  onNewcomer(): void {
    if (this.#cancelRetry !== undefined) void this.#sendUnsent();
  }

  scheduleRetry(): void {
    if (this.#isClosed || this.#cancelRetry !== undefined) return;
    this.#cancelRetry = schedule(this.#retryDelay, () => {
      this.#cancelRetry = undefined;
      void this.#sendUnsent();
    });
    this.#retryDelay = Math.min(this.#retryDelay * 2, MAX_RETRY_DELAY);
  }

  close(): void {
    this.#isClosed = true;
    this.#cancelRetry?.();
  }

  /** Begins a new generation, as soon as the shared cache can be asked. */
  #invalidateAll(): void {
    this.options.generations.invalidateAll();
    // No row of an earlier generation is found any more.
    this.#unsent.clear();
    this.tombstones.clear();
  }

  /** Returns whether it waits to be sent. Of too many, all are dropped, and everything is invalidated. */
  #queue(invalidation: Invalidation): boolean {
    const { essential } = this.tombstones;
    invalidation.isEssential ||= essential.has(invalidation.subject);
    this.#add(invalidation);
    // Up to as many as there are essential tombstones can be those that are sent again: these do not count.
    const isTooMany = this.#unsent.essential.size > this.options.maxUnsent + essential.size;
    if (isTooMany) this.#invalidateAll();
    return !isTooMany;
  }

  #add(invalidation: Invalidation): void {
    if (this.#unsent.set(invalidation)) this.options.generations.abandonRows();
  }

  #addSent(): void {
    for (const each of this.tombstones.sent()) {
      if (!this.#unsent.get(each.subject)) this.#add(each);
    }
  }

  async #trySend(invalidation: Invalidation): Promise<boolean> {
    const { store, seals, orders, generations, clock, currentSeal, publish } = this.options;
    const { subject, at } = invalidation;
    if ((await currentSeal()) === undefined) return false;
    // Where a generation cannot be stored, the message is sent all the same.
    let isSent = await generations.ensureKnown();
    for (const seal of seals.all) {
      if (seal === invalidation.receivedUnder) break;
      const name = generations.nameOf(seal, subject);
      if (invalidation.order === undefined) {
        const row = await store.read(name ?? generations.rowOf(seal));
        if (row === UNAVAILABLE) return false;
        const answer = name && this.options.open(seal, name, row);
        if (answer && isPositive(answer)) this.#unsent.makeEssential(invalidation);
        // It can have been missed, and this one replaces it.
        else if (answer) this.options.onMissedRow(subject, answer);
        // A lookup can have received an order meanwhile.
        invalidation.order ??= orders.next(row) + 1;
      }
      const { order, isEssential } = invalidation;
      orders.saw(order);
      const age = clock() - at;
      const isStored = name !== undefined && (await this.#store(seal, name, invalidation, age));
      const isPublished = await publish(seal, { subject, order, age, isStored, isEssential });
      isSent = isSent && isStored && isPublished;
    }
    if (!isSent) return false;
    const { order = 0, isEssential } = invalidation;
    this.tombstones.keep({ subject, order, at, isEssential, isOwn: true });
    if (this.#unsent.get(subject) === invalidation) this.#unsent.delete(subject);
    return true;
  }

  /** Stores an invalidation in place of the answer. Returns whether it is there, or a later one. */
  async #store(
    seal: Seal,
    name: string,
    { order = 0, spelling }: Invalidation,
    age: number,
  ): Promise<boolean> {
    const { store, life } = this.options;
    const row: Row = { spelling, life: life + age };
    const sealed = seal.seal(`${name} ${order}`, JSON.stringify(row));
    if ((await store.write(name, sealed, life, order)) !== UNAVAILABLE) return true;
    // Deleted, so that a process that starts later does not find it: a full Redis refuses writes, and still deletes.
    // The negative answer of another process stays.
    const found = await store.read(name);
    const answer = found === UNAVAILABLE ? undefined : this.options.open(seal, name, found);
    if (answer === undefined || isPositive(answer)) await store.delete(name);
    return false;
  }

  async #sendUnsent(): Promise<void> {
    if (this.#isClosed) return;
    // What comes while others are sent is not among them.
    if (this.#isSending) return this.scheduleRetry();
    this.#isSending = true;
    const { store, generations, currentSeal, publish } = this.options;
    try {
      const seal = await currentSeal();
      // Before the generation, which can be lost and refused: others send again all the same.
      if (seal && this.#mustAskOthers) {
        this.#mustAskOthers = false;
        const isAsked = await publish(seal, { hasMissed: true });
        this.#mustAskOthers ||= !isAsked;
      }
      let isSent = seal !== undefined && (await generations.retry()) && !this.#mustAskOthers;
      const waiting = this.#unsent.all();
      while (isSent && waiting.length > 0) {
        const batch = waiting.splice(0, BATCH);
        // One server of a cluster can be down: what it lacks waits behind the rest.
        for (const each of batch) this.#unsent.moveBack(each);
        isSent = (await Promise.all(batch.map((each) => this.#trySend(each)))).includes(true);
      }
      const isDone = isSent && !store.isMissingMessages;
      if (isDone) this.#retryDelay = FIRST_RETRY_DELAY;
      if (this.#mustAskOthers || this.#unsent.size > 0 || !isDone) this.scheduleRetry();
    } finally {
      this.#isSending = false;
    }
  }
}
