import { wait, withTimeout } from '../deadline.js';
import { reportDrift } from '../diagnostics.js';
import { MarketgateError } from '../errors.js';
import { unreadableIn } from '../model/fields.js';
import { type CacheLimits, maxLife } from './options.js';
import type { Orders, RequestTime } from './orders.js';
import { Seal } from './seal.js';
import {
  GuardedSharedCache,
  type SharedCache,
  type SharedRow,
  UNAVAILABLE,
} from './shared-cache.js';
import { Unsent } from './unsent.js';

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
 * **Message.** A subject and an order, or "all" and an order: whoever receives it forgets what it has up to there, and
 * remembers the order. So an older positive answer cannot return: not from a request that is still in flight, and not
 * from a row that could not be replaced. Every negative answer about a code is published, because the row with a positive
 * one can have been evicted. Items, lists and accounts open no door: they have no tombstones and no messages.
 *
 * **Epoch.** A connection that was lost and is back, a message that does not open, and a new secret begin a new epoch. What was cached
 * before is still there, but the shared cache is asked before it is served; if it has no row, the service is asked; if
 * that does not answer either, the cached answer serves until `staleIfError`. While no connection is there, there is no
 * epoch: every lookup asks the shared cache.
 *
 * **Unsent.** What could not be stored or published waits in a bounded queue (unsent.ts) and is sent by a timer, and at
 * once when the connection is back. If the queue overflows, everything is invalidated instead. Then, too, tombstones that
 * were stored are sent again, because a failover can have lost them.
 *
 * **Everything** is invalidated by one row with an order, which each process reads once in an epoch, and one message.
 *
 * | fault | what answers it |
 * |---|---|
 * | the shared cache is gone, frozen or lies | short deadlines, and a rest after some failures (shared-cache.ts); the unsent queue |
 * | it is full or read-only | the message, and the orders that were heard; the unsent queue |
 * | it restarts empty, or evicts a row | the epoch; messages and the orders that were heard |
 * | another server takes over, with an older row or an earlier clock | orders that were heard; tombstones are sent again; an order is never below one that was seen |
 * | a connection is lost; a process is killed while others wait for its answer | the epoch; the lock expires |
 */

/** The limit of one call to a shared cache, in milliseconds. */
const MAX_CALL = 100;
/** How long the lock of a lookup lasts, in milliseconds: a process that dies delays the others by this at most. */
const LOCK_TTL = 2000;
/** How long to wait before looking again for the answer of another process, in milliseconds. */
const POLL = 25;
/** The longest answer that is shared, in characters: a catalogue of megabytes is cheaper to request. */
const MAX_LENGTH = 512 * 1024;
/** The subject of the row that invalidates everything. */
const ALL = 'all';
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
  /** Another process has invalidated the answers about a key up to an order. */
  onInvalidated(kind: string, key: string, upTo: number): void;
  /** Another process has invalidated all answers up to an order. */
  onAllInvalidated(upTo: number): void;
}

/** An answer that another process has shared. */
export interface SharedAnswer {
  /** `null`: a negative answer. */
  readonly value: unknown;
  /** The spelling that was requested; `undefined`: the answer was invalidated. */
  readonly spelling: string | undefined;
  /** Milliseconds since the request, by the shared cache's clock. */
  readonly age: number;
  /** The fields of the value that could not be read. */
  readonly unreadable: readonly string[] | undefined;
  /** The epoch in which it was read. */
  readonly epoch: number;
  readonly order: number;
}

/** What the shared tier has about a subject. Absent, if it cannot be asked. */
export interface Found<A = never> {
  readonly adopted?: A | undefined;
  /** The time by the shared cache's clock, in microseconds. */
  readonly now: number;
  /** The epoch in which it was read: messages that are missed from then on can be about what is requested next. */
  readonly epoch: number;
  /** Whether the row is a positive answer or a tombstone of one. */
  readonly hadPositive: boolean;
  readonly seal: Seal;
  /** Releases the lock, if there is one. To be called when the answer is shared, or none came. */
  readonly release?: () => void;
}

/** What an answer is about. */
interface Subject {
  readonly subject: string;
  /** The spelling that was requested; `undefined`: the answer cannot be served by other processes. */
  readonly spelling: string | undefined;
  readonly time: RequestTime;
  readonly isRevocable: boolean;
}

/** What is sealed in a row. */
interface Row {
  /** The time before the request by the shared cache's clock, in microseconds. */
  readonly at: number;
  readonly spelling?: string | undefined;
  /** Absent in a negative one. */
  readonly value?: unknown;
  /** The fields of the value that could not be read. */
  readonly unreadable?: readonly string[] | undefined;
  readonly isTombstone?: boolean;
}

type Message = { readonly subject: string; readonly order: number } | { readonly all: number };

/** `lost`: another process has stored a later row. */
type Written = 'stored' | 'not stored' | 'lost';

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
  readonly #unsent: Unsent;
  #seal: Seal | undefined;
  #subscription: Promise<() => Promise<void>> | undefined;
  #isClosed = false;

  constructor(shared: SharedCache, options: SharedTierOptions) {
    this.#options = options;
    this.#life = maxLife(options.limits);
    // A lookup makes several such calls, and most of its time is for the service.
    this.#deadline = Math.min(MAX_CALL, options.timeout / 4);
    this.#store = new GuardedSharedCache(shared, this.#deadline);
    this.#unsent = new Unsent({
      prepare: () => this.#prepareToSend(),
      send: (subject, order) => this.#send(subject, order),
      sendAll: () => this.#sendAll(),
      onOverflow: () => this.#hearAll(this.#now()),
    });
  }

  /** Whether the shared cache is not asked at the moment. */
  get isResting(): boolean {
    return this.#isClosed || this.#store.isResting;
  }

  /**
   * Looks for an answer until there is one that can be served, or the caller is to ask the service. One
   * process asks at a time; the others wait for its answer.
   * @param adopt - called with each answer that is found. Caches it, and returns it if it can be served.
   * @param isWanted - whether the caller still waits.
   */
  async find<A>(
    subject: string,
    adopt: (answer: SharedAnswer) => A | undefined,
    isWanted: () => boolean,
  ): Promise<Found<A> | undefined> {
    const begun = performance.now();
    // The service gets at least half of the time.
    const longest = Math.min(LOCK_TTL, this.#options.timeout / 2);
    for (;;) {
      const found = await this.read(subject, adopt);
      if (found === undefined || found.adopted !== undefined) return found;
      const release = await this.#store.lock(`${found.seal.name(subject)}.lock`, LOCK_TTL);
      if (release === UNAVAILABLE) return found;
      if (release !== undefined) {
        // The process that had the lock can have shared its answer in between.
        const again = (await this.read(subject, adopt)) ?? found;
        return { ...again, release };
      }
      if (performance.now() - begun >= longest || !isWanted()) return found;
      // With jitter, so that the processes do not all look at once.
      await wait(POLL * (0.5 + Math.random()));
    }
  }

  /** Reads the row about a subject. `undefined`: the shared cache cannot be asked. */
  async read<A>(
    subject: string,
    adopt: (answer: SharedAnswer) => A | undefined = () => undefined,
  ): Promise<Found<A> | undefined> {
    const seal = await this.#currentSeal();
    if (seal === undefined) return undefined;
    const name = seal.name(subject);
    const { epoch } = this;
    const sentAt = performance.now();
    const isAllKnown = this.#allReadIn === epoch || this.#readAll(seal);
    const row = await this.#store.read(name);
    if (row === UNAVAILABLE || !(await isAllKnown)) return undefined;
    const { orders } = this.#options;
    orders.read(row.now, sentAt);
    const opened = this.#open(seal, name, row);
    if (row.value !== undefined && opened === undefined) {
      // Nobody can replace it by a lower order.
      await this.#store.delete(name);
      return { now: row.now, epoch, hadPositive: false, seal };
    }
    orders.saw(row.order);
    const found = { now: row.now, epoch, hadPositive: false, seal };
    const { order } = row;
    if (opened === undefined || order <= orders.allHeard) return found;
    const { value = null, at, spelling, unreadable, isTombstone = false } = opened;
    const hadPositive = value !== null || isTombstone;
    const age = (row.now - at) / 1000;
    // A negative answer is read at any age, and a positive one not against a later negative one.
    const isUsable = value === null || (age >= 0 && !orders.isOutdated(subject, order));
    const answer = { value, spelling, unreadable, age: Math.max(age, 0), order, epoch };
    return { ...found, hadPositive, adopted: isUsable ? adopt(answer) : undefined };
  }

  /** Shares a positive answer. @returns whether another process has shared a later one. */
  async share(given: Subject, value: object, { seal, now }: Found<unknown>): Promise<boolean> {
    const text = textOf(value);
    if (text === undefined) return false;
    const { subject, spelling, time, isRevocable } = given;
    const life = isRevocable ? this.#life : this.#options.limits.ttl;
    const row: Row = { at: now, spelling, unreadable: unreadableIn(value) };
    // The value is text already.
    const sealed = `${JSON.stringify(row).slice(0, -1)},"value":${text}}`;
    return (await this.#write(seal, subject, sealed, life, time.order)) === 'lost';
  }

  /**
   * Shares a negative answer. It invalidates the positive ones of all processes, if it is revocable. What cannot be
   * sent now is sent later.
   * @param found - `undefined`: the shared cache could not be asked, so a positive answer cannot be excluded.
   * @param hadPositive - whether there was a positive answer, here or in the shared cache.
   * @returns whether another process has shared a later answer.
   */
  async shareNegative(
    given: Subject,
    found: Found<unknown> | undefined,
    hadPositive: boolean,
  ): Promise<boolean> {
    const { subject, spelling, time, isRevocable } = given;
    const { orders, limits } = this.#options;
    const order = orders.ofNegative(time);
    const isTombstone = isRevocable && (hadPositive || found === undefined);
    if (found === undefined) {
      if (isTombstone) this.#unsent.add(subject, order);
      return false;
    }
    const row: Row = { at: found.now, spelling, isTombstone };
    const life = isTombstone ? this.#life : limits.invalidTtl;
    const [written, isPublished] = await Promise.all([
      this.#write(found.seal, subject, JSON.stringify(row), life, order),
      !isRevocable || this.#publish(found.seal, { subject, order }),
    ]);
    if (isTombstone) {
      if (written === 'not stored' || !isPublished) this.#unsent.add(subject, order);
      else this.#unsent.stored(subject, order);
    }
    return written === 'lost';
  }

  /** Invalidates a subject in every process. Rejects as `KeyApi.invalidate` does. */
  async invalidate(subject: string): Promise<void> {
    const { orders } = this.#options;
    const found = await this.read(subject);
    const order = orders.ofNegative(orders.begin(found !== undefined));
    if (found !== undefined && (await this.#send(subject, order))) {
      this.#unsent.stored(subject, order);
      return;
    }
    this.#unsent.add(subject, order);
    throw notSent();
  }

  /** Invalidates everything requested until now, in every process, also in one that starts later. */
  async invalidateAll(): Promise<void> {
    if (await this.#prepareToSend()) {
      // Once more, because the clock has been read.
      this.#hearAll(this.#now());
      if (await this.#sendAll()) return;
    }
    this.#unsent.addAll();
    throw notSent();
  }

  close(): void {
    this.#isClosed = true;
    this.#unsent.close();
    this.#subscription?.then((stop) => stop()).catch(() => {});
  }

  /** An order after everything that was requested until now. */
  #now(): number {
    const { orders } = this.#options;
    return orders.ofNegative(orders.begin());
  }

  #hearAll(order: number): void {
    if (this.#options.orders.hearAll(order)) this.#options.onAllInvalidated(order);
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
    // What the others published under the new secret was not received.
    if (this.#seal !== undefined && !Number.isNaN(this.epoch)) this.epoch = ++this.#epochs;
    this.#seal = new Seal(secret, this.#options.context);
  }

  /** Subscribes, and waits for that a little, because answers that are cached before messages arrive must be asked again. */
  async #subscribe(): Promise<void> {
    const listening = new Promise<void>((resolve) => {
      const onMessage = (message: string): void => this.#onMessage(message);
      const onListening = (isListening: boolean): void => {
        if (!isListening) this.epoch = Number.NaN;
        else {
          this.#onListening();
          resolve();
        }
      };
      // Once it is registered, because it can report at once that messages arrive.
      this.#subscription = Promise.resolve().then(() =>
        this.#store.subscribe(onMessage, onListening),
      );
      this.#subscription.catch(() => {
        // The next lookup tries again.
        this.#subscription = undefined;
        resolve();
      });
    });
    await withTimeout(this.#deadline, () => listening).catch(() => {});
  }

  #onListening(): void {
    this.epoch = ++this.#epochs;
    // What waits is sent now, and not when the shared cache has rested. That also reads the clock, which can be another
    // server's.
    this.#store.wake();
    this.#unsent.sendAgain();
  }

  #publish(seal: Seal, message: Message): Promise<boolean> {
    return this.#store.publish(seal.tag + seal.seal(MESSAGE, JSON.stringify(message)));
  }

  #onMessage(text: string): void {
    const seal = this.#seal;
    if (seal === undefined || !text.startsWith(seal.tag)) return;
    const opened = seal.open(MESSAGE, text.slice(seal.tag.length));
    if (opened === undefined) {
      this.epoch = ++this.#epochs;
      return;
    }
    const message = JSON.parse(opened) as Message;
    if ('all' in message) {
      this.#hearAll(message.all);
      return;
    }
    const { subject, order } = message;
    // Not when it is an echo.
    if (!this.#options.orders.hear(subject, order)) return;
    const [kind = '', ...key] = subject.split(' ');
    this.#options.onInvalidated(kind, key.join(' '), order);
  }

  /** Reads up to which order everything is invalid: once in an epoch. @returns whether it is known. */
  async #readAll(seal: Seal, isForced = false): Promise<boolean> {
    const { epoch } = this;
    if (this.#allReadIn === epoch && !isForced) return true;
    const name = seal.name(ALL);
    const sentAt = performance.now();
    const row = await this.#store.read(name);
    if (row === UNAVAILABLE) return false;
    const { orders } = this.#options;
    orders.read(row.now, sentAt);
    const known = orders.allHeard;
    if (this.#open(seal, name, row) !== undefined) this.#hearAll(row.order);
    // The shared cache has lost it.
    if (known > row.order) this.#unsent.addAll();
    this.#allReadIn = epoch;
    return true;
  }

  async #write(
    seal: Seal,
    subject: string,
    text: string,
    life: number,
    order: number,
  ): Promise<Written> {
    const name = seal.name(subject);
    const sealed = seal.seal(`${name} ${order}`, text);
    const isWritten = await this.#store.write(name, sealed, Math.max(1, Math.ceil(life)), order);
    if (isWritten === UNAVAILABLE) return 'not stored';
    return isWritten ? 'stored' : 'lost';
  }

  /** Stores and publishes that the answers about a subject are invalid. @returns whether both are done. */
  async #send(subject: string, given: number): Promise<boolean> {
    const seal = this.#seal as Seal;
    const order = this.#options.orders.converted(given);
    const row: Row = { at: order, isTombstone: true };
    const [written, isPublished] = await Promise.all([
      this.#write(seal, subject, JSON.stringify(row), this.#life, order),
      this.#publish(seal, { subject, order }),
    ]);
    return written !== 'not stored' && isPublished;
  }

  async #sendAll(): Promise<boolean> {
    const seal = this.#seal as Seal;
    const order = this.#options.orders.allHeard;
    const row: Row = { at: order, isTombstone: true };
    const [written, isPublished] = await Promise.all([
      this.#write(seal, ALL, JSON.stringify(row), this.#life, order),
      this.#publish(seal, { all: order }),
    ]);
    return written !== 'not stored' && isPublished;
  }

  /** Whether the shared cache can be asked. That also reads its clock, which orders need. */
  async #prepareToSend(): Promise<boolean> {
    const seal = await this.#currentSeal();
    return seal !== undefined && this.#readAll(seal, true);
  }

  /** The content of a row. `undefined`: there is none, or it was not written by this fleet. */
  #open(seal: Seal, name: string, { value, order }: SharedRow): Row | undefined {
    const text = value === undefined ? undefined : seal.open(`${name} ${order}`, value);
    if (text !== undefined) return JSON.parse(text) as Row;
    if (value !== undefined) {
      const expected = 'a value sealed by this fleet, of this version';
      reportDrift(this, { endpoint: 'shared cache', kind: 'dropped', path: 'value', expected });
    }
    return undefined;
  }
}

const notSent = (): MarketgateError =>
  new MarketgateError(
    'store_unavailable',
    'KeyApi.invalidate: the shared cache cannot be reached; the invalidation holds in this process, and is sent to the others later',
  );

/**
 * A value as JSON; `undefined`: too long, or an undocumented field is nested too deeply for JSON. Stops at the
 * element of a list that makes it too long.
 */
function textOf(value: object): string | undefined {
  const parts: string[] = [];
  let length = 0;
  try {
    for (const part of Array.isArray(value) ? value : [value]) {
      const text = JSON.stringify(part);
      length += text.length + 1;
      if (length > MAX_LENGTH) return undefined;
      parts.push(text);
    }
  } catch {
    return undefined;
  }
  return Array.isArray(value) ? `[${parts.join()}]` : parts[0];
}
