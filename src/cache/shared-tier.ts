import { randomBytes } from 'node:crypto';
import { schedule, wait } from '../deadline.js';
import { reportDrift } from '../diagnostics.js';
import { MarketgateError } from '../errors.js';
import { PACKAGE_VERSION } from '../http/transport.js';
import { Generations } from './generations.js';
import { type Invalidation, InvalidationMap, type Message, Tombstones } from './invalidations.js';
import { maxLife, type SharedTierOptions } from './options.js';
import { Seal, Seals } from './seal.js';
import {
  GuardedSharedCache,
  isPositive,
  Orders,
  type Row,
  readRow,
  type SharedAnswer,
  type SharedCache,
  type SharedRow,
  textOf,
  UNAVAILABLE,
} from './shared-cache.js';

/** The longest that one call to the shared cache can take, in milliseconds. */
const MAX_DEADLINE = 100;
/** How long the lock of a lookup lasts, in milliseconds: a process that dies delays the others by this at most. */
const LOCK_TTL = 2000;
/** How long to wait before looking again for the answer of another process, in milliseconds. */
const POLL = 25;
/** The first and the longest wait before an unsent invalidation is tried again, in milliseconds. */
const FIRST_RETRY_DELAY = 1000;
const MAX_RETRY_DELAY = 5000;
/** Unsent invalidations that are sent at the same time. */
const BATCH = 32;
const INVALIDATION = 'invalidation';

/** What the shared tier has about a subject. */
export interface SharedResult {
  /** `undefined`: there is none, or none that can be trusted. */
  readonly answer: SharedAnswer | undefined;
  /** The order of an answer that is requested now; `undefined`: the shared tier cannot be asked. */
  readonly order: number | undefined;
  /** Releases the lock, if there is one. To be called when the answer is shared, or none came. */
  readonly release: () => void;
}

const NOT_FOUND: SharedResult = { answer: undefined, order: undefined, release: () => {} };

/**
 * The answers that the processes of a fleet share, the lock that lets one of them ask for all, and the
 * messages by which they invalidate each other's answers. Where it fails or takes too long, the service is
 * asked.
 *
 * An answer's order is the time of its request by the shared cache's own clock. A row is replaced only by one
 * of a later order.
 */
export class SharedTier {
  /** Of one call to the shared cache, in milliseconds. */
  readonly #deadline: number;
  readonly #store: GuardedSharedCache;
  readonly #id = randomBytes(12).toString('base64url');
  readonly #options: SharedTierOptions;
  /** How long a positive answer, and so a tombstone, is kept, in milliseconds. */
  readonly #life: number;
  readonly #seals: Seals;
  /** Whether answers can be cached without a subscription, because no secret was known yet. */
  #hasCached = false;
  readonly #orders = new Orders();
  readonly #generations: Generations;
  /** The most essential invalidations that can wait to be sent. With more, everything is invalidated. */
  readonly #maxUnsent: number;
  readonly #unsent: InvalidationMap<Invalidation>;
  readonly #tombstones: Tombstones;
  #cancelRetry: (() => void) | undefined;
  #retryDelay = FIRST_RETRY_DELAY;
  #isSending = false;
  /** Messages were missed, and the other processes are not asked yet to send theirs again. */
  #hasMissed = false;
  #isClosed = false;

  constructor(shared: SharedCache, options: SharedTierOptions) {
    // A lookup makes several such calls, and most of its time is for the service.
    const longest = options.timeout / 4;
    this.#deadline = Math.min(MAX_DEADLINE, longest);
    this.#store = new GuardedSharedCache(shared, options.wallClock, this.#deadline, longest);
    this.#options = options;
    this.#seals = new Seals(options.secret, options.context, () => {
      if (this.#isClosed) return;
      if (this.#hasCached) void this.#subscribe();
      // What was sealed with the earlier secret did not reach the processes that know only this one.
      if (this.#seals.all.length > 1) this.#scheduleResend();
    });
    this.#life = Math.max(1, maxLife(options.limits));
    this.#maxUnsent = options.limits.max + options.limits.maxInvalid;
    this.#unsent = new InvalidationMap(Number.POSITIVE_INFINITY, this.#maxUnsent);
    this.#tombstones = new Tombstones(this.#maxUnsent, this.#life, options.clock);
    this.#generations = new Generations({
      store: this.#store,
      seals: this.#seals,
      orders: this.#orders,
      publish: (seal, message) => this.#publish(seal, message),
      // Rounded up, because a request can have begun within the same millisecond.
      onInvalidatedAgo: (upTo, ago) =>
        options.onAllInvalidated(upTo, Math.ceil(options.clock() - ago)),
      onUncertain: () => options.onMissed(),
      onResend: () => this.#resendAll(),
      onUnsent: () => this.#scheduleRetry(),
    });
  }

  /** Whether messages are being missed: cached answers must be compared with the shared tier first. */
  get isMissingMessages(): boolean {
    return !this.#isClosed && this.#seals.all.length > 0 && this.#store.isMissingMessages;
  }

  /**
   * Looks for an answer until there is one that can be served, or the caller is to ask the service. One
   * process asks at a time; the others wait for its answer.
   * @param tryServe - called with each answer that is found. Caches it, and returns whether it can be served.
   * @param isWanted - whether the caller still waits.
   */
  async find(
    subject: string,
    tryServe: (answer: SharedAnswer) => boolean,
    isWanted: () => boolean,
  ): Promise<SharedResult> {
    const begun = performance.now();
    // The service gets at least half of the time.
    const longest = this.#options.timeout / 2;
    const isLate = (): boolean => performance.now() - begun >= longest;
    /** The longest wait for the process that holds the lock. */
    const maxWait = Math.min(LOCK_TTL, longest);
    const trySharedAnswer = ({ answer }: SharedResult): boolean =>
      answer !== undefined && tryServe(answer);
    for (;;) {
      const found = await this.read(subject);
      if (found.order === undefined || trySharedAnswer(found) || isLate()) return found;
      const name = this.#generations.nameOf(this.#seals.all[0] as Seal, subject);
      // Everything was invalidated meanwhile.
      if (name === undefined) return found;
      const release = await this.#store.lock(`${name}.lock`, LOCK_TTL);
      if (release === undefined && performance.now() - begun < maxWait && isWanted()) {
        // With jitter, so that the processes do not all look at once.
        await wait(POLL * (0.5 + Math.random()));
        continue;
      }
      if (typeof release !== 'function') return found;
      if (isLate()) return { ...found, release };
      // The process that held the lock can have shared its answer between our read and our lock.
      const late = await this.read(subject);
      if (trySharedAnswer(late)) {
        release();
        return late;
      }
      return { ...(late.order === undefined ? found : late), release };
    }
  }

  /** Reads the answer about a subject, if it is not invalid, and the order of one that is requested now. */
  async read(subject: string): Promise<SharedResult> {
    const seal = await this.#currentSeal();
    if (seal === undefined || !(await this.#generations.ensureKnown())) return NOT_FOUND;
    const generation = this.#generations.numberOf(seal);
    const name = this.#generations.nameOf(seal, subject);
    if (name === undefined) return NOT_FOUND;
    const unsent = this.#unsent.get(subject);
    const row = await this.#store.read(name);
    if (row === UNAVAILABLE) return NOT_FOUND;
    const order = this.#orders.next(row);
    // Its order was not known yet. What is requested from now on is later.
    if (unsent) unsent.order ??= order - 1;
    const found: SharedResult = { ...NOT_FOUND, order };
    // Everything was invalidated while the row was read.
    if (row.value === undefined || generation !== this.#generations.numberOf(seal)) return found;
    const answer = this.#open(seal, name, row);
    if (answer === undefined) this.reportUnreadableRow();
    else this.#orders.saw(answer.order);
    // The shared cache has not got the invalidation yet, or has lost it.
    const isLost = answer && isPositive(answer) && this.#isInvalid(subject, answer.order);
    if (unsent && isLost) this.#unsent.makeEssential(unsent);
    return isLost ? found : { ...found, answer };
  }

  /**
   * Whether the answers up to an order are invalid, as far as any process knows. `undefined`: the shared cache
   * cannot be asked.
   */
  async isInvalidatedSince(subject: string, upTo: number): Promise<boolean | undefined> {
    if (this.#isInvalid(subject, upTo)) return true;
    const { answer, order } = await this.read(subject);
    if (order === undefined) return undefined;
    return answer !== undefined && !isPositive(answer) && answer.order >= upTo;
  }

  /**
   * @param at - when it was requested, by this process's clock.
   * @returns `lost`: another process has shared a later answer, or has invalidated this one.
   */
  async share(
    subject: string,
    value: unknown,
    { spelling, at: requestedAt, order }: { spelling: string; at: number; order: number },
  ): Promise<'shared' | 'lost' | 'not shared'> {
    const seal = await this.#currentSeal();
    const name = seal && this.#generations.nameOf(seal, subject);
    if (seal === undefined || name === undefined) return 'not shared';
    // The tombstones of an earlier generation are not found.
    const isEarlier = order <= Number(this.#generations.numberOf(seal));
    if (isEarlier || this.#generations.isInvalid(order)) return 'lost';
    const age = this.#options.clock() - requestedAt;
    const ttl = this.#life - age;
    const valueText = textOf(value);
    if (valueText === undefined || ttl <= 0) return 'not shared';
    const at = this.#options.wallClock() - age;
    const row: Row = { spelling, version: PACKAGE_VERSION, at, life: this.#life };
    const text = `${JSON.stringify(row).slice(0, -1)},"value":${valueText}}`;
    const sealed = seal.seal(`${name} ${order}`, text);
    const isWritten = await this.#store.write(name, sealed, Math.ceil(ttl), order);
    if (isWritten === UNAVAILABLE) return 'not shared';
    if (!isWritten) return 'lost';
    this.#orders.saw(order);
    return 'shared';
  }

  /**
   * A negative answer invalidates the positive ones of all processes. What cannot be sent now is sent later.
   * @param negative - its order is that of the request.
   */
  async shareNegative(negative: Invalidation): Promise<void> {
    const { order } = negative;
    await this.#send({ ...negative, order: order && order + 1 });
  }

  /** Invalidates a subject in every process. Rejects as `KeyApi.invalidate` does. */
  async invalidate(subject: string): Promise<void> {
    const at = this.#options.clock();
    if (!(await this.#send({ subject, order: undefined, at, isDroppable: false }))) throw notSent();
  }

  /** Invalidates everything requested until now, in every process, also in one that starts later. */
  async invalidateAll(): Promise<void> {
    this.#invalidateAll();
    if ((await this.#currentSeal()) !== undefined && (await this.#generations.ensureKnown()))
      return;
    this.#scheduleRetry();
    throw notSent();
  }

  /** Reports a row that was written by another version of the package, or not by this fleet. */
  reportUnreadableRow(): void {
    const expected = 'a value sealed by this fleet, of this version';
    const message = { endpoint: 'shared cache', kind: 'dropped', path: 'value', expected } as const;
    reportDrift(this, message, this.#options.wallClock);
  }

  close(): void {
    this.#isClosed = true;
    this.#cancelRetry?.();
    this.#store.close();
  }

  /** Whether the answers up to an order are invalid, as far as this process knows. */
  #isInvalid(subject: string, order: number): boolean {
    const unsent = this.#unsent.get(subject);
    if (unsent && order <= (unsent.order ?? Number.POSITIVE_INFINITY)) return true;
    return this.#generations.isInvalid(order) || order < this.#tombstones.orderOf(subject);
  }

  /**
   * The seal of the current secret, after an attempt to subscribe. `undefined`: no secret is known in time,
   * and this call does without the shared tier.
   */
  #currentSeal(): Seal | Promise<Seal | undefined> {
    if (this.#isClosed) return Promise.resolve(undefined);
    const seal = this.#seals.current(this.#deadline);
    // Without waiting, because nearly every call ends here.
    if (seal instanceof Seal && this.#store.isSubscribed) return seal;
    return this.#afterSubscribing(seal);
  }

  async #afterSubscribing(given: Seal | Promise<Seal | undefined>): Promise<Seal | undefined> {
    const seal = await given;
    if (seal === undefined) this.#hasCached = true;
    else await this.#subscribe();
    return seal;
  }

  #subscribe(): Promise<void> {
    // The timer finds out when the shared cache can be asked again, because no message says so.
    const onDeaf = () => this.#scheduleRetry();
    return this.#store.subscribe((message) => this.#onMessage(message), onDeaf, this.#hasCached);
  }

  /** Begins a new generation, as soon as the shared cache can be asked. */
  #invalidateAll(): void {
    this.#generations.invalidateAll();
    // No row of an earlier generation is found any more.
    this.#unsent.clear();
    this.#tombstones.clear();
  }

  /** Sends an invalidation, and tries again later where that fails. Returns whether it was sent. */
  async #send(invalidation: Invalidation): Promise<boolean> {
    const { essential } = this.#tombstones;
    invalidation.isDroppable &&= !essential.has(invalidation.subject);
    this.#queue(invalidation);
    // Essential tombstones that are queued again do not count.
    const isTooMany = this.#unsent.essential.size > this.#maxUnsent + essential.size;
    if (isTooMany) this.#invalidateAll();
    const isSent = !isTooMany && (await this.#trySend(invalidation));
    if (!isSent) this.#scheduleRetry();
    return isSent;
  }

  #queue(invalidation: Invalidation): void {
    if (this.#unsent.set(invalidation)) this.#generations.abandonRows();
  }

  async #trySend(invalidation: Invalidation): Promise<boolean> {
    const { subject, at, spelling } = invalidation;
    if ((await this.#currentSeal()) === undefined) return false;
    // Where a generation cannot be stored, the message is sent all the same.
    let isSent = await this.#generations.ensureKnown();
    for (const seal of this.#seals.all) {
      if (seal === invalidation.receivedUnder) break;
      const name = this.#generations.nameOf(seal, subject);
      if (invalidation.order === undefined) {
        const row = await this.#store.read(name ?? this.#generations.rowOf(seal));
        if (row === UNAVAILABLE) return false;
        const answer = name && this.#open(seal, name, row);
        if (answer && isPositive(answer)) this.#unsent.makeEssential(invalidation);
        invalidation.order = this.#orders.next(row) + 1;
      }
      const { order, isDroppable } = invalidation;
      this.#orders.saw(order);
      const age = this.#options.clock() - at;
      const row: Row = { spelling, age, at: this.#options.wallClock() - age, life: this.#life };
      const sealed = seal.seal(`${name} ${order}`, JSON.stringify(row));
      const isStored =
        name !== undefined &&
        UNAVAILABLE !== (await this.#store.write(name, sealed, this.#life, order));
      if (name !== undefined && !isStored) await this.#deletePositive(seal, name);
      const isPublished = await this.#publish(seal, { subject, order, age, isStored, isDroppable });
      isSent = isSent && isStored && isPublished;
    }
    if (!isSent) return false;
    const { order = 0, isDroppable } = invalidation;
    this.#tombstones.keep({ subject, order, at, isDroppable, isOwn: true });
    if (this.#unsent.get(subject) === invalidation) this.#unsent.delete(subject);
    return true;
  }

  /**
   * Deletes a row that could not be replaced, so that a process that starts later does not find it. A full
   * Redis refuses writes, and still deletes. The negative answer of another process stays.
   */
  async #deletePositive(seal: Seal, name: string): Promise<void> {
    const row = await this.#store.read(name);
    const answer = row === UNAVAILABLE ? undefined : this.#open(seal, name, row);
    if (answer === undefined || isPositive(answer)) await this.#store.delete(name);
  }

  /** The answer in a row; `undefined`: it was not written by this version of the package and this fleet. */
  #open(seal: Seal, name: string, row: SharedRow): SharedAnswer | undefined {
    const text = row.value === undefined ? undefined : seal.open(`${name} ${row.order}`, row.value);
    return text === undefined ? undefined : readRow(text, row, this.#options.wallClock());
  }

  #publish(seal: Seal, message: Message): Promise<boolean> {
    const text = JSON.stringify({ ...message, from: this.#id });
    return this.#store.publish(seal.seal(INVALIDATION, text));
  }

  #scheduleRetry(): void {
    if (this.#isClosed || this.#cancelRetry !== undefined) return;
    this.#cancelRetry = schedule(this.#retryDelay, () => {
      this.#cancelRetry = undefined;
      void this.#retryUnsent();
    });
    this.#retryDelay = Math.min(this.#retryDelay * 2, MAX_RETRY_DELAY);
  }

  async #retryUnsent(): Promise<void> {
    if (this.#isSending || this.#isClosed) return;
    this.#isSending = true;
    try {
      const seal = await this.#currentSeal();
      // Before the generation, which can be lost and refused: others send again all the same.
      if (seal && this.#hasMissed) {
        this.#hasMissed = false;
        this.#hasMissed = !(await this.#publish(seal, { hasMissed: true })) || this.#hasMissed;
      }
      let isSent = seal !== undefined && (await this.#generations.retry()) && !this.#hasMissed;
      const waiting = this.#unsent.all();
      while (isSent && waiting.length > 0) {
        const batch = waiting.splice(0, BATCH);
        // One server of a cluster can be down: what it lacks waits behind the rest.
        for (const each of batch) this.#unsent.moveBack(each);
        isSent = (await Promise.all(batch.map((each) => this.#trySend(each)))).includes(true);
      }
      const isDone = isSent && !this.#store.isDeaf;
      if (isDone) this.#retryDelay = FIRST_RETRY_DELAY;
      if (this.#hasMissed || this.#unsent.size > 0 || !isDone) this.#scheduleRetry();
    } finally {
      this.#isSending = false;
    }
  }

  #onMessage(message: string | undefined): void {
    if (message === undefined) this.#onMissed();
    if (message === undefined || this.#receive(message)) return;
    // Sealed with another secret. The api_key can have been rotated since this process used it last.
    const [known] = this.#seals.all;
    const receiveAgain = () => known !== this.#seals.all[0] && this.#receive(message);
    this.#seals.refresh().then(receiveAgain, () => {});
  }

  /** Messages were missed, perhaps of a new generation. The shared cache can be reached again. */
  #onMissed(): void {
    this.#generations.forget();
    this.#options.onMissed();
    this.#hasMissed = true;
    this.#resendAll();
  }

  /** A server that restarted empty, or a replica that was behind, has not got the latest invalidations. */
  #resendAll(): void {
    this.#queueSent();
    void this.#retryUnsent();
  }

  /** Once for all processes that have missed messages at the same time. */
  #scheduleResend(): void {
    this.#queueSent();
    if (this.#unsent.size > 0) this.#scheduleRetry();
  }

  #queueSent(): void {
    for (const each of this.#tombstones.sent()) {
      if (!this.#unsent.get(each.subject)) this.#queue(each);
    }
  }

  /** Handles a message of another process. Returns whether it could be opened. */
  #receive(sealed: string): boolean {
    for (const seal of this.#seals.all) {
      const text = seal.open(INVALIDATION, sealed);
      if (text === undefined) continue;
      const message = JSON.parse(text) as Message;
      const { from, allUpTo, subject, order, age = 0, isStored = false } = message;
      if (from === this.#id) return true;
      if (message.hasMissed) {
        this.#scheduleResend();
      } else if (allUpTo !== undefined) {
        this.#generations.receive(seal, message);
      } else if (subject !== undefined && order !== undefined) {
        this.#orders.saw(order);
        // Sent again, or so late that all answers before it have expired.
        if (order <= this.#tombstones.orderOf(subject) || age >= this.#life) return true;
        const [kind = '', ...key] = subject.split(' ');
        const at = this.#options.clock() - age;
        const had = this.#options.onInvalidated(kind, key.join(' '), order, at);
        const isDroppable = message.isDroppable === true && had !== 'positive';
        const invalidation = { subject, order, at, isDroppable };
        // Its sender does not know the current secret yet.
        const isEarlier = seal !== this.#seals.all[0];
        // Where the shared cache has stored it, a tombstone is needed only for what this process had.
        if (had || isEarlier || !isStored) {
          // Its sender can drop it, so this process sends it again in its place.
          const isOwn = message.isDroppable === true && !isDroppable;
          this.#tombstones.keep({ ...invalidation, isOwn });
        }
        const isPassedOn = isEarlier && !this.#unsent.get(subject);
        if (isPassedOn) void this.#send({ ...invalidation, receivedUnder: seal });
      }
      return true;
    }
    return false;
  }
}

/** The error of an invalidation that could not be sent. */
const notSent = (): MarketgateError =>
  new MarketgateError(
    'store_unavailable',
    'KeyApi.invalidate: the shared cache cannot be reached; the invalidation holds in this process, and is sent to the others later',
  );
