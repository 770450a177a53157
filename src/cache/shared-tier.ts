import { LRUCache } from 'lru-cache';
import { schedule, wait, withTimeout } from '../deadline.js';
import { reportDrift } from '../diagnostics.js';
import { MarketgateError } from '../errors.js';
import { unreadableIn } from '../model/fields.js';
import { type CacheLimits, maxLife } from './options.js';
import { ALL, type Orders, type RequestTime } from './orders.js';
import { Seal } from './seal.js';
import {
  GuardedSharedCache,
  type SharedCache,
  UNAVAILABLE,
  type Unavailable,
} from './shared-cache.js';

/*
 * How the processes of a fleet share answers, on one page.
 *
 * **Order.** Each request has an order: its time by the shared cache's own clock (orders.ts). An answer counts only as
 * long as no negative one with a later order is known.
 *
 * **Row.** Under the HMAC of its subject ("purchase x"), a sealed answer with its order. It is written only over a lower
 * order, in one step, so a late answer never replaces one that was requested later. Beside the order it has the time of
 * the request. Its age is the time since by the shared cache's clock alone, so processes' clocks do not matter. If that
 * clock is behind the time of the request (another server has taken over), the age is unknown, and the service is asked.
 *
 * **Tombstone.** A negative answer about a code that had a positive one keeps the row for as long as the positive one
 * could have been served. Other negative answers live for `invalidTtl`, so strangers cannot fill the shared cache. A
 * later negative answer does not shorten a tombstone.
 *
 * **Message.** A subject and an order. Whoever receives it forgets what it has up to there, and remembers the order. So
 * an older positive answer cannot return: not from a request that is still in flight, and not from a row that could not
 * be replaced. Every negative answer about a code is published, because the row with a positive one can have been
 * evicted. Items, lists and accounts open no door: they have no tombstones and no messages.
 *
 * **Everything** is a subject too, so its invalidation is one row and one message. Each process reads that row once in
 * an epoch.
 *
 * **Epoch.** A connection that was lost and is back, a message that does not open, and a new secret begin a new epoch.
 * What was cached before is still there, but the shared cache is asked before it is served; if that has no row, the
 * service is asked; if that does not answer either, the cached answer serves until `staleIfError`. While no connection
 * is there, there is no epoch: every lookup asks the shared cache.
 *
 * **Unsent.** A tombstone that could not be stored or published waits in a bounded queue. A timer sends it, and so does
 * the connection when it is back. If the queue overflows, everything is invalidated instead. The latest tombstones that
 * were stored are sent again with a new connection, because a failover can have lost them.
 *
 * | fault | what answers it |
 * |---|---|
 * | the shared cache is gone, frozen or lies | short deadlines, and a rest after some failures (shared-cache.ts); the queue |
 * | it is full or read-only | the message, and the orders that are remembered; the queue |
 * | it restarts empty, or evicts a row | the epoch; messages and the orders that are remembered |
 * | another server takes over, with an older row or an earlier clock | orders that are remembered; tombstones are sent again; an order is never below one that was seen |
 * | a connection is lost; a process is killed while others wait for its answer | the epoch; the lock expires |
 *
 * Not answered, because it takes two faults and an outage of the service to be seen: the row of a positive answer is
 * evicted, and a process that found no row stores its negative answer for `invalidTtl` just after another one has stored
 * the tombstone. A third process that is cut off all the while learns of neither.
 */

/** The limit of one call to a shared cache, in milliseconds. */
const MAX_CALL = 100;
/** How long the lock of a lookup lasts, in milliseconds: a process that dies delays the others by this at most. */
const LOCK_TTL = 2000;
/** How long to wait before looking again for the answer of another process, in milliseconds. */
const POLL = 25;
/** The longest answer that is shared, in characters: a catalogue of megabytes is cheaper to request. */
const MAX_LENGTH = 512 * 1024;
/** Tombstones that wait at most. More are replaced by an invalidation of everything. */
const MAX_WAITING = 1000;
/** Stored tombstones that are remembered, to be sent again: a failover loses the last seconds. */
const MAX_STORED = 200;
/** Milliseconds until what waits is sent again. */
const RETRY = 2000;
const MESSAGE = 'message';

/** Options and callbacks of a shared tier. */
export interface SharedTierOptions {
  readonly limits: CacheLimits;
  /** Milliseconds that a call can take in all. */
  readonly timeout: number;
  readonly secret: () => string | Promise<string>;
  /** The address of the service and the account. */
  readonly context: string;
  readonly orders: Orders;
  /** The answers about a key are invalid up to an order. */
  onInvalidated(kind: string, key: string, upTo: number): void;
  /** All answers are invalid up to an order. */
  onAllInvalidated(upTo: number): void;
}

/** An answer as other processes can serve it. */
interface Shareable {
  /** `null`: a negative answer. */
  readonly value: object | null;
  /** The spelling that was requested; `undefined`: the answer was invalidated, or cannot be served by other processes. */
  readonly spelling?: string | undefined;
  /** The fields of the value that could not be read. */
  readonly unreadable?: readonly string[] | undefined;
}

/** What is sealed in a row. */
interface Content extends Shareable {
  /** The time before the request by the shared cache's clock, in microseconds. */
  readonly at: number;
  readonly isTombstone?: boolean;
}

/** An answer that another process has shared. */
export interface SharedAnswer extends Shareable {
  /** Milliseconds since the request, by the shared cache's clock. */
  readonly age: number;
  readonly order: number;
  /** The epoch in which it was read. */
  readonly epoch: number;
}

/** What the shared tier has about a subject. */
export interface Found<A> {
  /** The epoch in which it was asked: messages that are missed from then on can be about what is requested next. */
  readonly epoch: number;
  /** How the row was read. Absent, if the shared cache could not be asked. */
  readonly reading?: {
    readonly seal: Seal;
    /** The time by the shared cache's clock, in microseconds. */
    readonly now: number;
  };
  readonly adopted?: A | undefined;
  /** Whether the row is a positive answer or a tombstone of one. */
  readonly hadPositive: boolean;
  /** Releases the lock, if there is one. To be called when the answer is shared, or none came. */
  readonly release?: () => void;
}

/** A new answer. */
export interface NewAnswer extends Shareable {
  /** What it is about. */
  readonly subject: string;
  readonly time: RequestTime;
  readonly isRevocable: boolean;
  /** Whether there was a positive answer, here or in the shared cache. */
  readonly hadPositive: boolean;
}

/** Shares answers with the other processes of a fleet, and invalidates theirs. */
export class SharedTier {
  /** Equal to that of an answer, if no message was missed since. Not a number: messages are being missed. */
  epoch = Number.NaN;
  #epochs = 0;
  /** The epoch in which the row that invalidates everything was read. */
  #allReadIn = Number.NaN;
  readonly #store: GuardedSharedCache;
  readonly #options: SharedTierOptions;
  /** How long a positive answer about a code can be served, in milliseconds. */
  readonly #life: number;
  /** Of one call to the shared cache, in milliseconds. */
  readonly #deadline: number;
  /** The orders of the tombstones that are to be sent, by subject. */
  readonly #waiting = new Map<string, number>();
  readonly #stored = new LRUCache<string, number>({ max: MAX_STORED });
  #isRetrying = false;
  #seal: Seal | undefined;
  #subscription: Promise<() => Promise<void>> | undefined;
  #isClosed = false;

  constructor(shared: SharedCache, options: SharedTierOptions) {
    this.#options = options;
    this.#life = maxLife(options.limits);
    // A lookup makes several such calls, and most of its time is for the service.
    this.#deadline = Math.min(MAX_CALL, options.timeout / 4);
    this.#store = new GuardedSharedCache(shared, this.#deadline);
  }

  /** Whether the shared cache is not asked at the moment. */
  get isResting(): boolean {
    return this.#isClosed || this.#store.isResting;
  }

  /**
   * Looks for an answer until there is one that can be served, or the caller is to ask the service. One
   * process asks at a time; the others wait for its answer.
   * @param adopt - called with each answer that is found. Caches it, and returns it if it can be served.
   * @param signal - ends the wait.
   */
  async find<A>(
    subject: string,
    adopt: (answer: SharedAnswer) => A | undefined,
    signal: AbortSignal,
  ): Promise<Found<A>> {
    const begun = performance.now();
    // The service gets at least half of the time.
    const longest = Math.min(LOCK_TTL, this.#options.timeout / 2);
    for (;;) {
      const found = await this.read(subject, adopt);
      if (found.reading === undefined || found.adopted !== undefined) return found;
      const release = await this.#store.lock(`${found.reading.seal.name(subject)}.lock`, LOCK_TTL);
      if (release === UNAVAILABLE) return found;
      if (release !== undefined) {
        // The process that had the lock can have shared its answer in between.
        return { ...(await this.read(subject, adopt)), release };
      }
      if (performance.now() - begun >= longest || signal.aborted) return found;
      await wait(POLL);
    }
  }

  /** Reads the row about a subject. @param adopt - as for {@link find}. */
  async read<A>(
    subject: string,
    adopt: (answer: SharedAnswer) => A | undefined,
  ): Promise<Found<A>> {
    const seal = await this.#currentSeal();
    const { epoch } = this;
    const isAllKnown =
      seal !== undefined && (this.#allReadIn === epoch || (await this.#readAll(seal)));
    const row = isAllKnown ? await this.#readRow(seal, subject) : undefined;
    if (seal === undefined || row === undefined) return { epoch, hadPositive: false };
    const { now, order, content } = row;
    const reading = { seal, now };
    const { orders } = this.#options;
    if (content === undefined || orders.isInvalid(ALL, order))
      return { epoch, reading, hadPositive: false };
    const { at, isTombstone = false, ...shareable } = content;
    const isNegative = shareable.value === null;
    const age = (now - at) / 1000;
    // A negative answer is read at any age, and a positive one not against a later negative one.
    const isUsable = isNegative || (age >= 0 && !orders.isInvalid(subject, order));
    const answer = { ...shareable, age: Math.max(age, 0), order, epoch };
    const adopted = isUsable ? adopt(answer) : undefined;
    return { epoch, reading, hadPositive: !isNegative || isTombstone, adopted };
  }

  /**
   * Shares an answer. A negative one invalidates the positive ones of all processes, if it is revocable, and is sent
   * later if it cannot be sent now.
   * @returns whether another process has shared a later answer.
   */
  async share(answer: NewAnswer, found: Found<unknown>): Promise<boolean> {
    const { subject, value, spelling, time, isRevocable, hadPositive } = answer;
    const { orders, limits } = this.#options;
    const { reading } = found;
    if (value !== null) {
      if (reading === undefined) return false;
      const life = isRevocable ? this.#life : limits.ttl;
      const content = { at: reading.now, spelling, unreadable: unreadableIn(value), value };
      return (await this.#write(reading.seal, subject, content, life, time.order)) === false;
    }
    const order = orders.ofNegative(time);
    // Where the shared cache could not be asked, a positive answer cannot be excluded.
    const isTombstone = isRevocable && (hadPositive || reading === undefined);
    if (reading === undefined) {
      if (isTombstone) this.#sendLater(subject, order);
      return false;
    }
    const content = { at: reading.now, spelling, isTombstone, value };
    const life = isTombstone ? this.#life : limits.invalidTtl;
    const [isWritten, isPublished] = await Promise.all([
      this.#write(reading.seal, subject, content, life, order),
      !isRevocable || this.#publish(reading.seal, subject, order),
    ]);
    if (isTombstone && isWritten !== UNAVAILABLE && isPublished)
      raise(this.#stored, subject, order);
    else if (isTombstone) this.#sendLater(subject, order);
    return isWritten === false;
  }

  /** Invalidates a subject, or {@link ALL}, in every process, also in one that starts later. Rejects as `KeyApi.invalidate` does. */
  async invalidate(subject: string): Promise<void> {
    const isReady = await this.#readAll(await this.#currentSeal());
    const order = this.#options.orders.now();
    this.#invalidate(subject, order);
    if (isReady && (await this.#send(subject, order))) return raise(this.#stored, subject, order);
    this.#sendLater(subject, order);
    throw new MarketgateError(
      'store_unavailable',
      'KeyApi.invalidate: the shared cache cannot be reached; the invalidation holds in this process, and is sent to the others later',
    );
  }

  close(): void {
    this.#isClosed = true;
    this.#subscription?.then((stop) => stop()).catch(() => {});
  }

  /** The seal of the current secret. `undefined`: it is not known in time, and this call does without the shared tier. */
  async #currentSeal(): Promise<Seal | undefined> {
    if (this.#isClosed) return undefined;
    const given = this.#options.secret();
    if (typeof given === 'string') this.#use(given);
    else {
      const known = given.then((current) => this.#use(current));
      // One that is known is used until the current one comes.
      await withTimeout(this.#seal ? 1 : this.#deadline, () => known).catch(() => {});
    }
    // It can have been closed meanwhile.
    if (this.#seal === undefined || this.#isClosed) return undefined;
    if (this.#subscription === undefined) await this.#subscribe();
    return this.#seal;
  }

  #use(secret: string): void {
    if (this.#seal?.secret === secret) return;
    this.#seal = new Seal(secret, this.#options.context);
    // What the others published under the new secret was not received.
    if (!Number.isNaN(this.epoch)) this.epoch = ++this.#epochs;
  }

  /** Subscribes, and waits for that a little, because what is cached before messages arrive must be asked again. */
  async #subscribe(): Promise<void> {
    const onMessage = (message: string): void => this.#onMessage(message);
    const onListening = (isListening: boolean): void => {
      if (isListening) this.#onListening();
      else this.epoch = Number.NaN;
    };
    // Once it is registered, because it can report at once that messages arrive.
    const subscription = Promise.resolve().then(() =>
      this.#store.subscribe(onMessage, onListening),
    );
    this.#subscription = subscription;
    await withTimeout(this.#deadline, () => subscription).catch(() => {});
    // The next lookup tries again.
    subscription.catch(() => {
      this.#subscription = undefined;
    });
  }

  #onListening(): void {
    this.epoch = ++this.#epochs;
    // What waits is sent now, and not when the shared cache has rested. That also reads the clock, which can be another
    // server's.
    this.#store.wake();
    for (const [subject, order] of this.#stored.entries()) raise(this.#waiting, subject, order);
    void this.#sendWaiting();
  }

  #publish(seal: Seal, subject: string, order: number): Promise<boolean> {
    return this.#store.publish(seal.tag + seal.seal(MESSAGE, JSON.stringify({ subject, order })));
  }

  #onMessage(text: string): void {
    const seal = this.#seal;
    if (seal === undefined || !text.startsWith(seal.tag)) return;
    const opened = seal.open(MESSAGE, text.slice(seal.tag.length));
    if (opened === undefined) {
      this.epoch = ++this.#epochs;
      return;
    }
    const { subject, order } = JSON.parse(opened) as { subject: string; order: number };
    this.#invalidate(subject, order);
  }

  /** Forgets the answers about a subject up to an order, unless that is known. */
  #invalidate(subject: string, upTo: number): void {
    const { orders, onInvalidated, onAllInvalidated } = this.#options;
    // It is, when the message is an echo.
    if (!orders.invalidate(subject, upTo)) return;
    const space = subject.indexOf(' ');
    if (subject === ALL) onAllInvalidated(upTo);
    else onInvalidated(subject.slice(0, space), subject.slice(space + 1), upTo);
  }

  /** Reads up to which order everything is invalid, and the clock, which orders need. @returns whether both are known. */
  async #readAll(seal: Seal | undefined): Promise<boolean> {
    const { epoch } = this;
    const row = seal && (await this.#readRow(seal, ALL));
    if (row === undefined) return false;
    if (row.content !== undefined) this.#invalidate(ALL, row.order);
    this.#allReadIn = epoch;
    return true;
  }

  /** A row and the time. Its content is absent where there is none, or it was not written by this fleet. */
  async #readRow(seal: Seal, subject: string) {
    const name = seal.name(subject);
    const sentAt = performance.now();
    const row = await this.#store.read(name);
    if (row === UNAVAILABLE) return undefined;
    const { value, order, now } = row;
    const { orders } = this.#options;
    orders.noteTime(now, sentAt);
    const text = value === undefined ? undefined : seal.open(`${name} ${order}`, value);
    if (text !== undefined) {
      orders.noteOrder(order);
      return { now, order, content: JSON.parse(text) as Content };
    }
    if (value !== undefined) {
      const expected = 'a value sealed by this fleet, of this version';
      reportDrift(this, { endpoint: 'shared cache', kind: 'dropped', path: 'value', expected });
      // Nobody could replace it by a lower order. Otherwise the next answer does.
      if (order > now) await this.#store.delete(name);
    }
    return { now, order, content: undefined };
  }

  async #write(
    seal: Seal,
    subject: string,
    content: Content,
    life: number,
    order: number,
  ): Promise<boolean | Unavailable> {
    let text: string;
    try {
      text = JSON.stringify(content);
    } catch {
      // An undocumented field is nested too deeply for JSON.
      return UNAVAILABLE;
    }
    if (text.length > MAX_LENGTH) return UNAVAILABLE;
    const name = seal.name(subject);
    const sealed = seal.seal(`${name} ${order}`, text);
    return this.#store.write(name, sealed, Math.max(1, Math.ceil(life)), order);
  }

  /** Stores and publishes a tombstone. @returns whether both are done. */
  async #send(subject: string, given: number): Promise<boolean> {
    const seal = this.#seal as Seal;
    const order = this.#options.orders.converted(given);
    const content = { at: order, isTombstone: true, value: null };
    const [isWritten, isPublished] = await Promise.all([
      this.#write(seal, subject, content, this.#life, order),
      this.#publish(seal, subject, order),
    ]);
    return isWritten !== UNAVAILABLE && isPublished;
  }

  #sendLater(subject: string, order: number): void {
    raise(this.#waiting, subject, order);
    if (this.#waiting.size > MAX_WAITING) {
      this.#waiting.clear();
      raise(this.#waiting, ALL, this.#options.orders.now());
    }
    this.#retry();
  }

  #retry(): void {
    if (this.#isClosed || this.#isRetrying) return;
    this.#isRetrying = true;
    schedule(RETRY, () => {
      this.#isRetrying = false;
      void this.#sendWaiting();
    });
  }

  async #sendWaiting(): Promise<void> {
    const isReady = async () => this.#readAll(await this.#currentSeal());
    let canSend = await isReady();
    for (const [subject, order] of [...this.#waiting]) {
      if (!canSend) break;
      if (await this.#send(subject, order)) {
        if (this.#waiting.get(subject) === order) this.#waiting.delete(subject);
        raise(this.#stored, subject, order);
        // A shared cache that stores nothing still publishes.
      } else canSend = await isReady();
    }
    if (this.#waiting.size > 0) this.#retry();
  }
}

/** Notes an order, unless a later one is noted. */
function raise(
  orders: Map<string, number> | LRUCache<string, number>,
  subject: string,
  order: number,
): void {
  orders.set(subject, Math.max(order, orders.get(subject) ?? order));
}
