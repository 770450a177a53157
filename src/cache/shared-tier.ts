import { schedule, withTimeout } from '../deadline.js';
import { reportDrift } from '../diagnostics.js';
import { MarketgateError } from '../errors.js';
import { latest } from '../latest.js';
import { Seal } from '../seal.js';
import type { CacheLimits } from './options.js';
import { ALL, type Orders } from './orders.js';
import { GuardedSharedCache, type SharedCache } from './shared-cache.js';

/*
 * How the processes of a fleet share answers, on one page.
 *
 * **Order.** Each request has an order (orders.ts), which goes on from the shared cache's own clock. An answer counts only as
 * long as no negative one with a later order is known.
 *
 * **Row.** Under the HMAC of its subject ("purchase x"), a sealed answer with its order. It is written only over a lower
 * order, in one step, so a late answer never replaces one that was requested later. Its age is the time since its request
 * by the shared cache's clock alone. If that clock is behind the request (another server has taken over), the age is
 * unknown, and the service is asked.
 *
 * **Tombstone.** A negative answer about a code that had a positive one, or can have had one, keeps the row for as long as
 * that could have been served. So does an invalidation. Other negative answers live for `invalidTtl`, so strangers cannot
 * fill the shared cache.
 *
 * **Message.** A subject and an order. Whoever receives it forgets what it has requested until then, and remembers that, so
 * that an older positive answer cannot return from a request in flight, or from a row that could not be replaced. Every
 * negative answer about a code is published, because the row with a positive one can have been evicted. Items, lists and
 * accounts open no door: they have no tombstones and no messages.
 *
 * **Everything** is a subject too: one row and one message. Each process reads that row once in an epoch, and with every
 * lookup while messages do not arrive.
 *
 * **Epoch.** The time from one return of the connection to the next: at its end, messages may have been missed. A message
 * that does not open begins a new one too. What was cached before is still there, but the shared cache is asked before it is
 * served; if that has no row, the service is asked (about what opens no door, only past `ttl`); if that does not answer either,
 * the cached answer serves until `staleIfError`. While messages do not arrive, every lookup asks the shared cache. One that
 * cannot be asked lets what was cached in the last epoch serve without asking the service, and nothing from before.
 *
 * **Unsent.** A tombstone that could not be both stored and published waits in a bounded queue for a timer, or the
 * connection. One that was neither takes its order when it is sent, after the row was read: whatever was requested until
 * then is asked about once more, also where the code has become valid again. Until then, no row about its subject is
 * believed here. Afterwards it keeps that order, and gives way to what is requested later. If the queue overflows, everything is
 * invalidated instead. The latest tombstones that were sent are sent again with a new connection, because a failover can
 * have lost them. A tombstone is dropped once no positive answer from before it can be served.
 *
 * | fault | what answers it |
 * |---|---|
 * | the shared cache is gone, frozen or lies | short deadlines, and a rest after some failures (shared-cache.ts); the queue |
 * | it is full or read-only | the message, and the orders that are remembered; the queue. A process that starts meanwhile has neither until the next repeat |
 * | it restarts empty, or evicts a row | the epoch; messages and the orders that are remembered |
 * | another server takes over, with an older row or an earlier clock | orders that are remembered, and are never behind one that was seen; tombstones are sent again |
 * | a connection is lost; a process is killed while others wait for its answer | the epoch; the lock expires |
 */

/** The limit of one call to a shared cache, in milliseconds. */
export const MAX_CALL = 100;
/** The longest answer that is shared, in characters: a longer one would hold up the other calls. */
const MAX_LENGTH = 512 * 1024;
/** Tombstones that wait at most. More are replaced by an invalidation of everything. */
const MAX_WAITING = 1000;
/** Stored tombstones that are remembered, to be sent again: a failover loses the last seconds. */
const MAX_STORED = 200;
/** Orders that a tombstone takes at once, one after the other, where other processes come before it each time. */
const MAX_ORDERS = 10;
/** Milliseconds until what waits is sent again. */
const RETRY = 2000;
const MESSAGE = 'message';

export interface SharedTierOptions {
  readonly limits: CacheLimits;
  /** Milliseconds that a call can take in all. */
  readonly timeout: number;
  readonly secret: () => string | Promise<string>;
  /** The address of the service and the account. */
  readonly context: string;
  readonly orders: Orders;
}

/** An answer as it is shared. */
export interface Content {
  /** `null`: a negative answer. */
  readonly value: object | null;
  /** The spelling that was requested; empty, if the answer was invalidated. */
  readonly spelling: string;
  /** Whether it is a negative answer about what had a positive one. */
  readonly isTombstone?: boolean;
}

/** What is sealed in a row. */
interface SealedContent extends Content {
  /** The time before the request by the shared cache's clock, in microseconds. */
  readonly at: number;
}

/** A row as it was read. */
interface Row {
  readonly now: number;
  readonly lag: number;
  readonly order: number;
  /** Absent where there is none, or it was not written by this fleet. */
  readonly content: SealedContent | undefined;
}

/**
 * What came of storing or sending. `late`: one of the same or a later order is there. `failed`: it could not be stored, or
 * not be published.
 */
type Outcome = 'done' | 'late' | 'failed';

/** A tombstone that is to be sent. */
interface Unsent {
  /** The order under which it was stored or published. Absent: it was neither. */
  order?: number;
}

/** What is published. */
interface Message {
  readonly subject: string;
  readonly order: number;
}

/** What the shared tier has about a subject. */
export interface Found {
  /** The epoch in which it was asked: messages that are missed from then on can be about what is requested next. */
  readonly epoch: number;
  /** The time by the shared cache's clock, in microseconds. */
  readonly now: number;
  /** How long the read took, in microseconds: the time is out of date by so much at most, and so are the orders from it. */
  readonly lag: number;
  /** Whether the row is a positive answer or a tombstone of one. */
  readonly hadPositive: boolean;
  /** The answer of the row, with its age in milliseconds. Absent: there is none, or it does not count. */
  readonly answer?: Content & { readonly order: number; readonly age: number };
}

/** Shares answers with the other processes of a fleet, and invalidates theirs. */
export class SharedTier {
  /** The epoch that began last. What is asked now is valid in it, also while messages do not arrive. */
  epoch = 0;
  #isListening = false;
  /** The epoch in which the row that invalidates everything was read. */
  #allReadIn = Number.NaN;
  readonly #store: GuardedSharedCache;
  /** How long a positive answer about a code can be served, in milliseconds. */
  readonly #life: number;
  /** Of one call to the shared cache, in milliseconds. */
  readonly #deadline: number;
  /**
   * How long a lookup waits for the answer of another process, and how long a lock lasts: a process that dies delays the
   * others by this at most. In milliseconds.
   */
  readonly longestWait: number;
  /** The tombstones that are to be sent, by subject. */
  readonly #waiting = new Map<string, Unsent>();
  /** The orders of the latest tombstones that were stored and published. */
  readonly #stored = latest<string, number>(MAX_STORED);
  #isRetrying = false;
  #seal: Seal | undefined;
  #subscription: Promise<() => Promise<void>> | undefined;
  #isClosed = false;

  constructor(
    private readonly shared: SharedCache,
    private readonly options: SharedTierOptions,
  ) {
    const { ttl, staleWhileRevalidate, staleIfError } = options.limits;
    this.#life = Math.max(ttl + Math.min(staleWhileRevalidate, staleIfError), staleIfError);
    // A lookup makes several such calls, and most of its time is for the service.
    this.#deadline = Math.min(MAX_CALL, options.timeout / 4);
    // The service gets at least half of the time.
    this.longestWait = options.timeout / 2;
    this.#store = new GuardedSharedCache(shared, this.#deadline);
  }

  /** Whether the shared cache is not asked at the moment. */
  get isResting(): boolean {
    return this.#isClosed || this.#store.isResting;
  }

  /** Whether messages can have been missed since this epoch began. */
  mayHaveMissedSince(epoch: number): boolean {
    return !this.#isListening || epoch !== this.epoch;
  }

  /**
   * Takes the lock of a subject, with which one process at a time asks the service. Resolves to the function that releases
   * it, to `taken` where another process has it, and to `undefined` where the shared cache fails.
   */
  async lock(subject: string): Promise<(() => void) | 'taken' | undefined> {
    const name = `${this.#seal?.name(subject)}.lock`;
    const take = async (store: SharedCache) => {
      const release = await store.lock(name, this.longestWait);
      return release === undefined ? 'taken' : release;
    };
    const lock = await this.#store.call(take, (late) => late !== 'taken' && late());
    if (typeof lock === 'function')
      return () => void withTimeout(this.#deadline, lock).catch(() => {});
    return lock === 'taken' ? lock : undefined;
  }

  /** Reads the row about a subject. `undefined`: the shared cache cannot be asked. */
  async read(subject: string): Promise<Found | undefined> {
    const seal = await this.#currentSeal();
    const { epoch } = this;
    const isAllKnown = !this.mayHaveMissedSince(this.#allReadIn) || (await this.#readAll(seal));
    const row = isAllKnown ? await this.#readRow(seal, subject) : undefined;
    return row && this.#found(subject, epoch, row);
  }

  /** What counts of a row. */
  #found(subject: string, epoch: number, { now, lag, order, content }: Row): Found {
    const { orders } = this.options;
    // It can be a positive answer from before the negative one that was not sent yet.
    const isAllUnsent = this.#unsentUpTo(ALL) === Number.POSITIVE_INFINITY;
    if (isAllUnsent || order <= this.#unsentUpTo(subject)) {
      return { epoch, now, lag, hadPositive: true };
    }
    if (content === undefined || orders.isInvalid(ALL, order)) {
      return { epoch, now, lag, hadPositive: false };
    }
    const { value, spelling, isTombstone } = content;
    const hadPositive = value !== null || isTombstone === true;
    const age = (now - content.at) / 1000;
    // A negative answer is read at any age. A positive one is not, if its age is unknown or a later negative one is known.
    const isUsable = value === null || (age >= 0 && !orders.isInvalid(subject, order));
    if (!isUsable) return { epoch, now, lag, hadPositive };
    return {
      epoch,
      now,
      lag,
      hadPositive,
      answer: { value, spelling, order, age: Math.max(age, 0) },
    };
  }

  /** Shares an answer that opens no door: by its ttl alone. */
  async shareByTtl(subject: string, order: number, content: Content, found: Found): Promise<void> {
    const { ttl, invalidTtl } = this.options.limits;
    const life = content.value === null ? invalidTtl : ttl;
    await this.#write(subject, order, { ...content, at: found.now }, life);
  }

  /**
   * Shares an answer about a code. A negative one invalidates the positive ones of all processes, and is sent later if it
   * cannot be sent now.
   * @returns whether another process has shared a later answer.
   */
  async share(subject: string, order: number, content: Content, found?: Found): Promise<boolean> {
    const isNegative = content.value === null;
    if (found === undefined) {
      // Another process can have a positive one.
      if (isNegative) this.#sendLater(subject);
      return false;
    }
    const row = { ...content, at: found.now };
    if (!isNegative) return (await this.#write(subject, order, row, this.#life)) === 'late';
    const unsent: Unsent = {};
    const outcome = await this.#send(subject, order, row, unsent);
    if (content.isTombstone && outcome === 'failed') this.#sendLater(subject, unsent);
    return outcome === 'late';
  }

  /** Stores a row. */
  async #write(
    subject: string,
    order: number,
    content: SealedContent,
    life: number,
  ): Promise<Outcome> {
    const seal = this.#seal as Seal;
    const name = seal.name(subject);
    const isWritten = await this.#store.call(async (store) => {
      // Throws where an undocumented field is nested too deeply for JSON.
      const text = JSON.stringify(content);
      if (text.length > MAX_LENGTH) return undefined;
      const sealed = seal.seal(`${name} ${order}`, text);
      return store.write(name, sealed, Math.max(1, life), order);
    });
    if (typeof isWritten !== 'boolean') return 'failed';
    return isWritten ? 'done' : 'late';
  }

  /** Stores a negative answer, and publishes it. `unsent` gets the order, once either has succeeded. */
  async #send(
    subject: string,
    order: number,
    content: SealedContent,
    unsent: Unsent,
  ): Promise<Outcome> {
    const seal = this.#seal as Seal;
    const life = content.isTombstone ? this.#life : this.options.limits.invalidTtl;
    const stored = await this.#write(subject, order, content, life);
    if (stored === 'late') {
      // It is still there, or a later answer has replaced it.
      if (this.#stored.peek(subject) === order) return 'done';
      // Nobody knows of this order yet: the caller adopts that later answer, or takes a later order.
      if (unsent.order === undefined) return 'late';
    }
    // Also where the row was refused: a Redis that is full or read-only still takes messages.
    const message: Message = { subject, order };
    const sealed = seal.tag + seal.seal(MESSAGE, JSON.stringify(message));
    const isPublished = await this.#store.call(async (store) => {
      await store.publish(sealed);
      return true;
    });
    if (stored !== 'failed' || isPublished) {
      unsent.order = this.options.orders.invalidate(subject, order);
    }
    if (stored === 'failed' || !isPublished) return 'failed';
    if (content.isTombstone) this.#stored.set(subject, order);
    return 'done';
  }

  /**
   * Sends what invalidates a subject. Unless it has an order, it takes one now that the row was read, later than whatever
   * can have been requested before.
   */
  async #sendTombstone(subject: string, unsent: Unsent): Promise<Outcome | 'unreadable'> {
    const { orders } = this.options;
    // No positive answer from before it can be served.
    if (unsent.order !== undefined && orders.next() - unsent.order > this.#life * 1000) {
      return 'done';
    }
    for (let n = 0; n < MAX_ORDERS; n++) {
      // No visitor waits for it.
      const seal = await this.#currentSeal(this.longestWait);
      const row = (await this.#readAll(seal)) ? await this.#readRow(seal, subject) : undefined;
      if (row === undefined) return 'unreadable';
      const content = { at: row.now, isTombstone: true, spelling: '', value: null };
      const order = unsent.order ?? orders.next();
      const outcome = await this.#send(subject, order, content, unsent);
      // Another process was faster, with a later order: this one takes one that is later still.
      if (outcome !== 'late') return outcome;
    }
    return 'late';
  }

  /** Invalidates a subject, or {@link ALL}, in every process, also in one that starts later. Rejects as `KeyApi.invalidate` does. */
  async invalidate(subject: string): Promise<void> {
    this.options.orders.invalidate(subject);
    const unsent: Unsent = {};
    if ((await this.#sendTombstone(subject, unsent)) === 'done') return;
    this.#sendLater(subject, unsent);
    const why = this.#isClosed
      ? 'this client was closed; the invalidation holds in it alone, and is not sent'
      : 'the shared cache could not store and publish it; the invalidation holds in this process, and is sent to the others later';
    throw new MarketgateError('store_unavailable', `KeyApi.invalidate: ${why}`);
  }

  close(): void {
    this.#isClosed = true;
    this.#subscription?.then((stop) => stop()).catch(() => {});
  }

  /**
   * The seal of the current secret. `undefined`: it is not known in time, and this call does without the shared tier.
   * @param longest - milliseconds to wait for the first one.
   */
  async #currentSeal(longest = this.#deadline): Promise<Seal | undefined> {
    if (this.#isClosed) return undefined;
    const use = (secret: string): void => {
      if (this.#seal?.secret !== secret) this.#seal = new Seal(secret, this.options.context);
    };
    const secret = this.options.secret();
    if (typeof secret === 'string') use(secret);
    else {
      const time = this.#seal === undefined ? longest : this.#deadline;
      // One that comes too late is used by the next call.
      await withTimeout(time, () => secret.then(use)).catch(() => {});
    }
    // It can have been closed meanwhile.
    if (this.#seal === undefined || this.#isClosed) return undefined;
    if (this.#subscription === undefined) await this.#subscribe();
    return this.#seal;
  }

  /** Subscribes, and waits for that a little, because what is cached before messages arrive must be asked again. */
  async #subscribe(): Promise<void> {
    // In a microtask, because a store can report at once that messages arrive.
    const subscription = Promise.resolve().then(() =>
      this.shared.subscribe(
        (message) => this.#onMessage(message),
        (isListening) => this.#onListening(isListening),
      ),
    );
    this.#subscription = subscription;
    // The next lookup tries again.
    subscription.catch(() => {
      this.#subscription = undefined;
    });
    await withTimeout(this.#deadline, () => subscription).catch(() => {});
  }

  #onListening(isListening: boolean): void {
    this.#isListening = isListening;
    if (!isListening) return;
    this.epoch++;
    // What waits is sent now, and not when the shared cache has rested. That also reads the clock, which can be another
    // server's.
    this.#store.wake();
    for (const [subject, order] of this.#stored.entries()) {
      if (!this.#waiting.has(subject)) this.#waiting.set(subject, { order });
    }
    void this.#sendWaiting();
  }

  #onMessage(text: string): void {
    const seal = this.#seal;
    if (seal === undefined || typeof text !== 'string' || !text.startsWith(seal.tag)) return;
    const opened = seal.open(MESSAGE, text.slice(seal.tag.length));
    if (opened === undefined) {
      this.epoch++;
      return;
    }
    const { subject, order } = JSON.parse(opened) as Message;
    const { orders } = this.options;
    orders.see(order);
    // One that is known changes nothing. Otherwise, all that was requested here until now is invalid, because the orders of
    // this process can be ahead of those of the other one.
    orders.invalidate(subject, orders.isInvalid(subject, order) ? order : undefined);
  }

  /** Reads up to which order everything is invalid, and the clock, which orders need. @returns whether both are known. */
  async #readAll(seal: Seal | undefined): Promise<boolean> {
    const { epoch } = this;
    const row = await this.#readRow(seal, ALL);
    if (row === undefined) return false;
    if (row.content !== undefined) this.options.orders.invalidate(ALL, row.order);
    this.#allReadIn = epoch;
    return true;
  }

  /** A row and the time. */
  async #readRow(seal: Seal | undefined, subject: string): Promise<Row | undefined> {
    if (seal === undefined) return undefined;
    const name = seal.name(subject);
    const sentAt = performance.now();
    const row = await this.#store.read(name);
    if (row === undefined) return undefined;
    const { value, order, now } = row;
    const { orders } = this.options;
    orders.see(now);
    const lag = Math.ceil((performance.now() - sentAt) * 1000);
    const text = value === undefined ? undefined : seal.open(`${name} ${order}`, value);
    if (text !== undefined) {
      orders.see(order);
      return { now, lag, order, content: JSON.parse(text) as SealedContent };
    }
    if (value !== undefined) {
      const expected = 'a value sealed by this fleet, of this version';
      reportDrift(this, { endpoint: 'shared cache', kind: 'dropped', path: 'value', expected });
      // Nobody could replace it by a lower order. Otherwise the next answer does.
      if (order > now) await this.#store.call((store) => store.delete(name));
    }
    return { now, lag, order, content: undefined };
  }

  /** Up to which order a row about a subject is not believed, because a tombstone waits. */
  #unsentUpTo(subject: string): number {
    const unsent = this.#waiting.get(subject);
    return unsent ? (unsent.order ?? Number.POSITIVE_INFINITY) : Number.NEGATIVE_INFINITY;
  }

  #sendLater(subject: string, unsent: Unsent = {}): void {
    this.#waiting.set(subject, unsent);
    if (this.#waiting.size > MAX_WAITING) {
      this.#waiting.clear();
      this.#waiting.set(ALL, {});
    }
    this.#retry();
  }

  /** Sends what waits later. One at a time: calls that hang can take longer than until the next. */
  #retry(): void {
    if (this.#isClosed || this.#isRetrying) return;
    this.#isRetrying = true;
    schedule(RETRY, async () => {
      await this.#sendWaiting();
      this.#isRetrying = false;
      if (this.#waiting.size > 0) this.#retry();
    });
  }

  async #sendWaiting(): Promise<void> {
    for (const [subject, unsent] of [...this.#waiting]) {
      const outcome = await this.#sendTombstone(subject, unsent);
      if (outcome === 'unreadable') break;
      // Unless it waits again meanwhile.
      if (outcome === 'done' && this.#waiting.get(subject) === unsent)
        this.#waiting.delete(subject);
    }
    if (this.#waiting.size > 0) this.#retry();
  }
}
