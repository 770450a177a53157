import { randomBytes } from 'node:crypto';
import { later } from '../deadline.js';
import type { DriftReports } from '../diagnostics.js';
import { MarketgateError } from '../errors.js';
import { type Invalidation, type Message, Tombstones } from './invalidations.js';
import { type CacheLimits, longestLife } from './options.js';
import { Seal, Seals } from './seal.js';
import {
  DEADLINE,
  GuardedSharedCache,
  isPositive,
  type Row,
  readRow,
  type SharedAnswer,
  type SharedCache,
  type SharedRow,
  textOf,
  UNAVAILABLE,
} from './shared-cache.js';

/** How long one process can ask for all of them, in milliseconds. One that dies delays no longer. */
const LOCK_LIFE = 2000;
/** How long to wait before looking again whether the other process has its answer, in milliseconds. */
const LOOK_AGAIN = 25;
/** Invalidations that are remembered while they cannot be sent; more, and everything is invalid. */
const MOST_UNSENT = 1000;
/** The first and the longest wait before an unsent invalidation is tried again, in milliseconds. */
const FIRST_RETRY = 1000;
const LONGEST_RETRY = 30_000;
const GENERATION = 'generation';
const INVALIDATION = 'invalidation';

/** What the shared tier has for a lookup. */
export interface Found {
  /** `undefined`: nothing, or nothing that can be believed. */
  readonly answer: SharedAnswer | undefined;
  /** The order of an answer that is requested now; `undefined`: the shared tier cannot be asked. */
  readonly order: number | undefined;
  /** To be called when the service has answered and the answer is shared. */
  readonly release: () => void;
}

/** What the tier needs of the cache, and calls on it. */
export interface SharedTierOptions {
  readonly limits: CacheLimits;
  /** Never goes back; ages are measured by it. */
  readonly clock: () => number;
  /** Epoch milliseconds. */
  readonly wallClock: () => number;
  /** Milliseconds that a call can take in all. */
  readonly timeout: number;
  readonly drift: DriftReports;
  readonly secret: () => string | Promise<string>;
  /** The address of the service and the account. */
  readonly context: string;
  /** Another process has invalidated a key up to an order. Returns whether the cache knew the key. */
  onInvalidated(kind: string, key: string, order: number): boolean | undefined;
  /** Another process has invalidated everything requested until then, a time of {@link clock}. */
  onAllInvalidated(until: number): void;
  /** Messages were missed. */
  onMissed(): void;
}

const nothing = (): void => {};
const NOTHING: Found = { answer: undefined, order: undefined, release: nothing };

/**
 * The answers that the processes of a fleet share, the lock that lets one of them ask for all, and the
 * messages by which they invalidate each other's answers. Never in the way: what cannot be had from here
 * in time is requested from the service.
 *
 * Answers have an order, by the moment at which the service was asked, counted by the shared cache's own
 * clock; clocks of processes are never compared. A row is replaced only by one of a later order. What
 * invalidates everything is a new generation, which is part of all names: earlier rows are not found.
 */
export class SharedTier {
  readonly #store: GuardedSharedCache;
  readonly #id = randomBytes(12).toString('base64url');
  readonly #options: SharedTierOptions;
  /** How long a positive answer, and so a tombstone, lives. */
  readonly #life: number;
  /** Longest wait for the process that asks for all, in milliseconds. */
  readonly #patience: number;
  readonly #seals: Seals;
  /** Whether a call did without the shared tier, because no secret was there yet. */
  #isLate = false;
  /** The present generation; `undefined`: to be read first. */
  #generation: string | undefined;
  #lastGeneration = '';
  /** A generation that the shared cache does not know yet. */
  #unsentGeneration: string | undefined;
  readonly #unsent = new Map<string, Invalidation>();
  readonly #tombstones: Tombstones;
  /** The latest order that this process has seen, in a row or a message of this fleet. */
  #latestOrder = 0;
  #cancelRetry: (() => void) | undefined;
  #wait = FIRST_RETRY;
  #isSending = false;
  #isClosed = false;

  constructor(shared: SharedCache, options: SharedTierOptions) {
    this.#store = new GuardedSharedCache(shared, options.wallClock);
    this.#options = options;
    this.#seals = new Seals(options.secret, options.context, () => {
      this.#generation = this.#unsentGeneration;
      if (this.#isLate && !this.#isClosed) void this.#subscribe();
    });
    this.#life = Math.max(1, longestLife(options.limits));
    this.#tombstones = new Tombstones(options.limits.max, this.#life, options.clock);
    this.#patience = Math.min(LOCK_LIFE, options.timeout / 2);
  }

  /**
   * Looks for an answer, until there is one that can be served or the caller can ask the service. One
   * process asks at a time; the others wait for its answer.
   */
  async find(
    subject: string,
    isServable: (answer: SharedAnswer) => boolean,
    isLooking: () => boolean,
  ): Promise<Found> {
    const begun = performance.now();
    const isFound = ({ answer }: Found): boolean =>
      answer !== undefined && !this.#isInvalidated(subject, answer) && isServable(answer);
    for (;;) {
      const found = await this.read(subject);
      if (found.order === undefined || isFound(found)) return found;
      const name = this.#nameOf(this.#seals.all[0] as Seal, subject);
      const release = await this.#store.lock(`${name}.lock`, LOCK_LIFE);
      if (release === undefined && performance.now() - begun < this.#patience && isLooking()) {
        await soon();
        continue;
      }
      if (typeof release !== 'function') return found;
      // The process that held the lock can have answered between our look and our lock.
      const late = await this.read(subject);
      if (isFound(late)) {
        release();
        return late;
      }
      return { ...(late.order === undefined ? found : late), release };
    }
  }

  /** Looks once. */
  async read(subject: string): Promise<Found> {
    const seal = await this.#open();
    if (seal === undefined) return NOTHING;
    const isGenerationSure = this.#generation !== undefined && this.#store.canSubscribe;
    if (!isGenerationSure && !(await this.#readGeneration(seal))) return NOTHING;
    const name = this.#nameOf(seal, subject);
    const row = await this.#store.read(name);
    if (row === UNAVAILABLE) return NOTHING;
    const order = this.#orderAfter(row);
    // Where an invalidation is still to be sent, the row is not believed.
    if (row.value === undefined || this.#unsent.has(subject)) return { ...NOTHING, order };
    const text = seal.open(`${name} ${row.order}`, row.value);
    const answer = text === undefined ? undefined : readRow(text, row, this.#options.wallClock());
    if (answer === undefined) this.reportUnreadable();
    else this.#latestOrder = Math.max(answer.order, this.#latestOrder);
    return { ...NOTHING, answer, order };
  }

  /**
   * The order of a request that begins now: an even number after all that this process has seen, because
   * the clock of a shared cache that fails over can step back. A negative answer has the odd number that
   * follows: of two that began at the same moment, it counts.
   */
  #orderAfter({ now, order }: SharedRow): number {
    const next = Math.max(now, order + 1, this.#latestOrder + 1);
    this.#latestOrder = Math.max(now, this.#latestOrder);
    return next + (next % 2);
  }

  /** Whether a row is invalid that says nothing of it: the shared cache does not know, or has lost it. */
  #isInvalidated(subject: string, answer: SharedAnswer): boolean {
    return isPositive(answer) && this.#hasTombstone(subject, answer.order);
  }

  /** Whether what was requested up to an order is invalid, as far as this process knows. */
  #hasTombstone(subject: string, order: number): boolean {
    if (this.#unsent.has(subject)) return true;
    return order <= this.#tombstones.orderOf(subject);
  }

  /** Whether what was requested up to an order is invalid, as far as any process knows. */
  async isInvalidatedSince(subject: string, order: number): Promise<boolean> {
    if (this.#hasTombstone(subject, order)) return true;
    const { answer } = await this.read(subject);
    return answer !== undefined && !isPositive(answer) && answer.order >= order;
  }

  /** Reports a row that this fleet has not put there, or that another version of the package has. */
  reportUnreadable(): void {
    this.#options.drift.report({
      endpoint: 'shared cache',
      kind: 'dropped',
      path: 'value',
      expected: 'a value sealed by this fleet, of this version',
    });
  }

  /**
   * Shares a positive answer.
   *
   * @param at - when the service was asked, by this process's clock.
   * @returns `lost`: another process has a later answer, or has invalidated this one.
   */
  async share(
    subject: string,
    value: unknown,
    { variant, at, order }: { variant: string; at: number; order: number },
  ): Promise<'kept' | 'lost' | 'unavailable'> {
    const seal = await this.#open();
    if (seal === undefined || this.#generation === undefined) return 'unavailable';
    const age = this.#options.clock() - at;
    const ttl = this.#life - age;
    const valueText = textOf(value);
    if (valueText === undefined || ttl <= 0) return 'unavailable';
    const row: Row = { variant, at: this.#options.wallClock() - age, life: this.#life };
    const text = `${JSON.stringify(row).slice(0, -1)},"value":${valueText}}`;
    const name = this.#nameOf(seal, subject);
    const sealed = seal.seal(`${name} ${order}`, text);
    const kept = await this.#store.write(name, sealed, Math.ceil(ttl), order);
    if (kept === true) this.#latestOrder = Math.max(order, this.#latestOrder);
    return kept === UNAVAILABLE ? 'unavailable' : kept ? 'kept' : 'lost';
  }

  /**
   * Shares a negative answer, which invalidates the positive ones of all processes: at last, if not now.
   *
   * @param negative - the answer, where other processes can serve it.
   */
  async shareNegative(
    subject: string,
    order: number | undefined,
    negative: Invalidation['negative'],
  ): Promise<void> {
    await this.#send({ subject, order: order && order + 1, negative });
  }

  /**
   * Invalidates a subject in every process.
   *
   * @throws MarketgateError `store_unavailable` when that cannot be sent; it is sent later.
   */
  async invalidate(subject: string): Promise<void> {
    if (!(await this.#send({ subject, order: undefined }))) throw notSent();
  }

  /**
   * Invalidates everything requested until now, in every process, also in one that starts later.
   *
   * @throws MarketgateError `store_unavailable` when that cannot be sent; it is sent later.
   */
  async invalidateAll(): Promise<void> {
    this.#newGeneration();
    if (await this.#sendGeneration()) return;
    this.#sendLater();
    throw notSent();
  }

  close(): void {
    this.#isClosed = true;
    this.#cancelRetry?.();
    this.#store.close();
  }

  /**
   * The seal of the present secret, once this process receives invalidations. `undefined` when the secret
   * cannot be had at once: then this call does without the shared tier.
   */
  #open(): Seal | Promise<Seal | undefined> {
    if (this.#isClosed) return Promise.resolve(undefined);
    const seal = this.#seals.present(DEADLINE);
    // Nearly every call ends here, with nothing to wait for.
    if (seal instanceof Seal && this.#store.isSubscribed) return seal;
    return this.#prepare(seal);
  }

  async #prepare(given: Seal | Promise<Seal | undefined>): Promise<Seal | undefined> {
    const seal = await given;
    if (seal === undefined) this.#isLate = true;
    else await this.#subscribe();
    return seal;
  }

  #subscribe(): Promise<void> {
    return this.#store.subscribe((message) => this.#onMessage(message), this.#isLate);
  }

  /** Whether messages are missed at present: what a process has cached must be asked here first. */
  get isDeaf(): boolean {
    return !this.#isClosed && this.#seals.all.length > 0 && this.#store.isDeaf;
  }

  #nameOf(seal: Seal, subject: string): string {
    return seal.name(`${this.#generation} ${subject}`);
  }

  #newGeneration(): void {
    this.#generation = randomBytes(12).toString('base64url');
    this.#lastGeneration = this.#generation;
    this.#unsentGeneration = this.#generation;
    // Nothing of the generation before is found any more, invalidated or not.
    this.#unsent.clear();
    this.#tombstones.clear();
  }

  async #readGeneration(seal: Seal): Promise<boolean> {
    if (this.#unsentGeneration !== undefined) return this.#sendGeneration();
    const name = seal.name(GENERATION);
    const row = await this.#store.read(name);
    if (row === UNAVAILABLE) return false;
    if (row.value === undefined && this.#lastGeneration !== '') {
      // Lost by the shared cache, with a restart or a failover: it is sent again.
      this.#unsentGeneration = this.#lastGeneration;
      this.#generation = this.#lastGeneration;
      return this.#sendGeneration();
    }
    const generation = row.value === undefined ? '' : seal.open(`${name} ${row.order}`, row.value);
    if (generation === undefined) return false;
    if (generation !== this.#lastGeneration) {
      // The message was missed. How long ago it was sent, the shared cache's own clock tells.
      const ago = Math.max(0, row.now - row.order) / 1000;
      this.#options.onAllInvalidated(this.#options.clock() - ago);
    }
    this.#generation = generation;
    this.#lastGeneration = generation;
    return true;
  }

  async #sendGeneration(): Promise<boolean> {
    const generation = this.#unsentGeneration;
    if (generation === undefined) return true;
    if ((await this.#open()) === undefined) return false;
    let isSent = true;
    for (const seal of this.#seals.all) {
      const name = seal.name(GENERATION);
      const row = await this.#store.read(name);
      if (row === UNAVAILABLE) return false;
      const message = { generation };
      isSent =
        (await this.#writeAndPublish(seal, name, this.#orderAfter(row), generation, message)) &&
        isSent;
    }
    if (isSent && this.#unsentGeneration === generation) this.#unsentGeneration = undefined;
    return isSent;
  }

  /** Whether it was sent; if not, it is tried again until it is. */
  async #send(invalidation: Invalidation): Promise<boolean> {
    this.#unsent.set(invalidation.subject, invalidation);
    const isTooMany = this.#unsent.size > MOST_UNSENT;
    if (isTooMany) this.#newGeneration();
    const isSent = !isTooMany && (await this.#trySend(invalidation));
    if (!isSent) this.#sendLater();
    return isSent;
  }

  async #trySend(invalidation: Invalidation): Promise<boolean> {
    const { subject, negative } = invalidation;
    if ((await this.#open()) === undefined) return false;
    let isSent = true;
    for (const seal of this.#seals.all) {
      if (this.#generation === undefined && !(await this.#readGeneration(seal))) return false;
      const name = this.#nameOf(seal, subject);
      if (invalidation.order === undefined) {
        const row = await this.#store.read(name);
        if (row === UNAVAILABLE) return false;
        invalidation.order = this.#orderAfter(row) + 1;
      }
      const { order } = invalidation;
      const age = negative && this.#options.clock() - negative.at;
      const at = this.#options.wallClock() - (age ?? 0);
      const no = negative !== undefined;
      const row: Row = { no, variant: negative?.variant, age, at, life: this.#life };
      const text = JSON.stringify(row);
      isSent = (await this.#writeAndPublish(seal, name, order, text, { subject, order })) && isSent;
    }
    if (!isSent) return false;
    this.#tombstones.keep(subject, invalidation.order ?? 0, true);
    if (this.#unsent.get(subject) === invalidation) this.#unsent.delete(subject);
    return true;
  }

  /** Whether both were done. */
  async #writeAndPublish(
    seal: Seal,
    name: string,
    order: number,
    text: string,
    message: Message,
  ): Promise<boolean> {
    const sealed = seal.seal(`${name} ${order}`, text);
    const isStored = UNAVAILABLE !== (await this.#store.write(name, sealed, this.#life, order));
    // At least no process that starts later must find what was there.
    if (!isStored) await this.#store.delete(name);
    const published = JSON.stringify({ ...message, isStored, from: this.#id });
    return (await this.#store.publish(seal.seal(INVALIDATION, published))) && isStored;
  }

  #sendLater(): void {
    if (this.#isClosed || this.#cancelRetry !== undefined) return;
    this.#cancelRetry = later(this.#wait, () => {
      this.#cancelRetry = undefined;
      void this.#sendUnsent();
    });
    this.#wait = Math.min(this.#wait * 2, LONGEST_RETRY);
  }

  async #sendUnsent(): Promise<void> {
    if (this.#isSending || this.#isClosed) return;
    this.#isSending = true;
    try {
      let isSent = await this.#sendGeneration();
      for (const invalidation of [...this.#unsent.values()]) {
        if (!isSent) break;
        isSent = await this.#trySend(invalidation);
      }
      if (isSent) this.#wait = FIRST_RETRY;
      else this.#sendLater();
    } finally {
      this.#isSending = false;
    }
  }

  #onMessage(message: string | undefined): void {
    if (message === undefined) this.#onMissed();
    if (message === undefined || this.#receive(message)) return;
    // Sealed with another secret: perhaps the api_key was rotated, and nothing was requested since.
    const [known] = this.#seals.all;
    this.#seals.refresh().then(() => {
      if (known !== this.#seals.all[0]) this.#receive(message);
    }, nothing);
  }

  /** Messages were missed, of this generation or of a new one; and what is unsent can be sent now. */
  #onMissed(): void {
    this.#generation = this.#unsentGeneration;
    this.#options.onMissed();
    // A server that restarted empty, or a replica that was behind, does not know the latest ones.
    for (const [subject, order] of this.#tombstones.recent()) {
      if (!this.#unsent.has(subject)) this.#unsent.set(subject, { subject, order });
    }
    void this.#sendUnsent();
  }

  /** Whether the message could be read. */
  #receive(sealed: string): boolean {
    for (const seal of this.#seals.all) {
      const text = seal.open(INVALIDATION, sealed);
      if (text === undefined) continue;
      const { from, generation, subject, order, isStored = false } = JSON.parse(text) as Message;
      if (from === this.#id) return true;
      if (generation !== undefined) {
        if (!isStored) this.#lastGeneration = generation;
        // Which of two new generations has won is only known by looking.
        if (this.#unsentGeneration === undefined) {
          this.#generation = isStored ? undefined : generation;
        }
        this.#options.onAllInvalidated(this.#options.clock());
      } else if (subject !== undefined && order !== undefined) {
        this.#latestOrder = Math.max(order, this.#latestOrder);
        const [kind = '', ...key] = subject.split(' ');
        const isKnown = this.#options.onInvalidated(kind, key.join(' '), order);
        // Where the shared cache knows, only what was here or in flight could come back.
        if (isKnown || !isStored) this.#tombstones.keep(subject, order, false);
      }
      return true;
    }
    return false;
  }
}

const notSent = (): MarketgateError =>
  new MarketgateError(
    'store_unavailable',
    'KeyApi.invalidate: the shared cache cannot be reached; this process has forgotten it, and will tell the others later',
  );

/** With jitter, so that the processes do not all look at once. */
const soon = (): Promise<void> =>
  new Promise((resolve) => void later(LOOK_AGAIN * (0.5 + Math.random()), resolve));
