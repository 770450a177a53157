import { randomBytes } from 'node:crypto';
import { wait } from '../deadline.js';
import { reportDrift } from '../diagnostics.js';
import { MarketgateError } from '../errors.js';
import { PACKAGE_VERSION } from '../http/transport.js';
import { Generations } from './generations.js';
import type { Invalidation, Message } from './invalidations.js';
import { type CacheLimits, maxLife } from './options.js';
import { Outbox } from './outbox.js';
import { Seal, Seals } from './seal.js';
import {
  GuardedSharedCache,
  isPositive,
  type LocalState,
  Orders,
  type Row,
  readRow,
  type SharedAnswer,
  type SharedCache,
  type SharedRow,
  textOf,
  UNAVAILABLE,
} from './shared-cache.js';

/** The limit of one call to a shared cache that has no limit of its own, in milliseconds. */
const MAX_CALL = 100;
/** How long the lock of a lookup lasts, in milliseconds: a process that dies delays the others by this at most. */
const LOCK_TTL = 2000;
/** How long to wait before looking again for the answer of another process, in milliseconds. */
const POLL = 25;
/** How long the row is kept that shows whether the shared cache can be written, in milliseconds. */
const TEST_TTL = 1000;
const INVALIDATION = 'invalidation';

/** Options and callbacks of a shared tier. */
export interface SharedTierOptions {
  readonly limits: CacheLimits;
  /** Never goes back. */
  readonly clock: () => number;
  /** Epoch milliseconds. */
  readonly wallClock: () => number;
  /** Milliseconds that a call can take in all. */
  readonly timeout: number;
  readonly secret: () => string | Promise<string>;
  /** The address of the service and the account. */
  readonly context: string;
  /**
   * Another process has invalidated the answers about a key up to an order. `until` is the time of that by
   * {@link clock}; it counts where orders cannot be compared. Returns what this process had of it.
   */
  onInvalidated(kind: string, key: string, upTo: number, until: number): LocalState | undefined;
  /** Another process has invalidated all answers up to an order, and all requested until a time of {@link clock}. */
  onAllInvalidated(upTo: number, until: number): void;
  /** Messages were missed. */
  onMissed(): void;
}

/** What the shared tier has about a subject. */
export interface SharedResult {
  /** `undefined`: there is none, or none that can be trusted. */
  readonly answer: SharedAnswer | undefined;
  /** Whether it has a positive answer, also one that cannot be trusted. */
  readonly hasPositive: boolean;
  /** The order of an answer that is requested now; `undefined`: the shared tier cannot be asked. */
  readonly order: number | undefined;
  /** Releases the lock, if there is one. To be called when the answer is shared, or none came. */
  readonly release: () => void;
}

const CANNOT_ASK: SharedResult = {
  answer: undefined,
  hasPositive: false,
  order: undefined,
  release: () => {},
};

/**
 * The answers that the processes of a fleet share, the lock that lets one of them ask for all, and the
 * messages by which they invalidate each other's answers. Where it fails or takes too long, the service is
 * asked.
 *
 * An answer's order is the time of its request by the shared cache's own clock. A row is replaced only by one
 * of a later order.
 *
 * A `spelling` of a code is what a caller asks for; its `key` is that in lower case, and its `subject` the key with
 * the kind of answer, as in "purchase x". A row's `name` is the HMAC of its generation and subject.
 */
export class SharedTier {
  readonly #store: GuardedSharedCache;
  readonly #id = randomBytes(12).toString('base64url');
  readonly #options: SharedTierOptions;
  /** How long a positive answer is kept, in milliseconds. */
  readonly #life: number;
  readonly #seals: Seals;
  /** Whether answers can be cached without a subscription, because no secret was known yet. */
  #hasCached = false;
  readonly #orders = new Orders();
  readonly #generations: Generations;
  readonly #outbox: Outbox;
  #isClosed = false;

  constructor(shared: SharedCache, options: SharedTierOptions) {
    const { limits, clock, wallClock } = options;
    // A lookup makes several such calls, and most of its time is for the service.
    const longest = options.timeout / 4;
    const limit = Math.min(MAX_CALL, longest);
    this.#options = options;
    this.#life = Math.max(1, maxLife(limits));
    const store = new GuardedSharedCache(shared, wallClock, limit, longest);
    this.#store = store;
    const seals = new Seals(options.secret, options.context, limit, () => {
      if (this.#isClosed) return;
      if (this.#hasCached) void this.#subscribe();
      // What was sealed with the earlier secret did not reach the processes that know only this one.
      if (seals.all.length > 1) this.#outbox.scheduleResend();
    });
    this.#seals = seals;
    const orders = this.#orders;
    const publish = (seal: Seal, message: Message) => this.#publish(seal, message);
    const generations = new Generations({
      ...{ store, seals, orders, publish },
      // Rounded up, because a request can have begun within the same millisecond.
      onAllInvalidated: (upTo, age) => options.onAllInvalidated(upTo, Math.ceil(clock() - age)),
      onUncertain: () => options.onMissed(),
      onResend: () => this.#outbox.resendAll(),
      onUnsent: () => this.#outbox.scheduleRetry(),
    });
    this.#generations = generations;
    this.#outbox = new Outbox({
      ...{ store, seals, orders, publish, generations, clock },
      life: this.#life,
      maxUnsent: limits.max + limits.maxInvalid,
      currentSeal: () => this.#currentSeal(),
      onMissedRow: (subject, { order, age }) => this.#forget(subject, order, clock() - age),
      open: (...row) => this.#open(...row),
    });
  }

  /** Whether cached answers must be compared with the shared tier first, because messages are being missed. */
  get mustCompare(): boolean {
    return !this.#isClosed && this.#seals.newest !== undefined && this.#store.mustCompare;
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
  ): Promise<SharedResult & { readonly adopted?: A }> {
    const begun = performance.now();
    // The service gets at least half of the time.
    const longest = this.#options.timeout / 2;
    const isTimeForService = (): boolean => performance.now() - begun >= longest;
    /** The longest wait for the process that holds the lock. */
    const maxWait = Math.min(LOCK_TTL, longest);
    for (;;) {
      const found = await this.read(subject);
      const adopted = found.answer && adopt(found.answer);
      if (adopted !== undefined) return { ...found, adopted };
      if (found.order === undefined || isTimeForService()) return found;
      const name = this.#generations.nameOf(this.#seals.newest as Seal, subject);
      // Everything was invalidated meanwhile.
      if (name === undefined) return found;
      const release = await this.#store.lock(`${name}.lock`, LOCK_TTL);
      if (release === undefined && performance.now() - begun < maxWait && isWanted()) {
        // With jitter, so that the processes do not all look at once.
        await wait(POLL * (0.5 + Math.random()));
        continue;
      }
      if (typeof release !== 'function') return found;
      if (isTimeForService()) return { ...found, release };
      // The process that held the lock can have shared its answer between our read and our lock.
      const again = await this.read(subject);
      const adoptedAgain = again.answer && adopt(again.answer);
      if (adoptedAgain !== undefined) {
        release();
        return { ...again, adopted: adoptedAgain };
      }
      return { ...(again.order === undefined ? found : again), release };
    }
  }

  /**
   * Reads the answer about a subject, if it is not invalid, and the order of one that is requested now.
   * @param isTested - whether the shared cache is known to take writes: where it refuses them, invalidations from before
   * this process listened can be missing.
   */
  async read(
    subject: string,
    isTested = this.#store.isComplete && !this.#store.isMissingMessages,
  ): Promise<SharedResult> {
    const seal = await this.#currentSeal();
    if (seal === undefined || !(await this.#generations.ensureKnown())) return CANNOT_ASK;
    const generation = this.#generations.numberOf(seal);
    const name = this.#generations.nameOf(seal, subject);
    if (name === undefined) return CANNOT_ASK;
    const unsent = this.#outbox.unsentAbout(subject);
    const row = await this.#store.read(name);
    if (row === UNAVAILABLE) return CANNOT_ASK;
    const order = this.#orders.next(row);
    // Its order was not known yet. What is requested from now on is later.
    if (unsent) unsent.order ??= order - 1;
    const found: SharedResult = { ...CANNOT_ASK, order };
    // Everything was invalidated while the row was read.
    if (row.value === undefined || generation !== this.#generations.numberOf(seal)) return found;
    const answer = this.#open(seal, name, row);
    if (answer === undefined) this.reportUnreadableRow();
    else this.#orders.saw(answer.order);
    if (answer === undefined || !isPositive(answer)) return { ...found, answer };
    const untrusted: SharedResult = { ...found, hasPositive: true };
    // The shared cache has not got the invalidation yet, or has lost it.
    if (this.#isInvalid(subject, answer.order)) {
      if (unsent) this.#outbox.makeEssential(unsent);
      return untrusted;
    }
    if (isTested) return { ...untrusted, answer };
    // An invalidation can have been published before this process listened, and not be stored yet.
    const test = this.#store.write(seal.name(`test ${this.#id}`), '', TEST_TTL, order);
    await Promise.all([test, this.#publish(seal, { isNewcomer: true })]);
    if (!this.#store.isComplete) return untrusted;
    this.#generations.forget();
    return this.read(subject, true);
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
    const isEarlier = order <= (this.#generations.numberOf(seal) as number);
    if (isEarlier || this.#generations.isInvalid(order)) return 'lost';
    const age = this.#options.clock() - requestedAt;
    const ttl = this.#life - age;
    const valueText = textOf(value);
    if (valueText === undefined || ttl <= 0) return 'not shared';
    const row: Row = { spelling, version: PACKAGE_VERSION, life: this.#life };
    // The value is text already.
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
    await this.#outbox.send({ ...negative, order: order && order + 1 });
  }

  /** Invalidates a subject in every process. Rejects as `KeyApi.invalidate` does. */
  async invalidate(subject: string): Promise<void> {
    const at = this.#options.clock();
    const invalidation = { subject, order: undefined, at, isEssential: true };
    if (!(await this.#outbox.send(invalidation))) throw notSent();
  }

  /** Invalidates everything requested until now, in every process, also in one that starts later. */
  async invalidateAll(): Promise<void> {
    if (!(await this.#outbox.sendAllInvalid())) throw notSent();
  }

  /** Reports a row that was written by another version of the package, or not by this fleet. */
  reportUnreadableRow(): void {
    const expected = 'a value sealed by this fleet, of this version';
    const message = { endpoint: 'shared cache', kind: 'dropped', path: 'value', expected } as const;
    reportDrift(this, message, this.#options.wallClock);
  }

  close(): void {
    this.#isClosed = true;
    this.#outbox.close();
    this.#store.close();
  }

  /** Whether the answers up to an order are invalid, as far as this process knows. */
  #isInvalid(subject: string, order: number): boolean {
    return this.#generations.isInvalid(order) || order < this.#outbox.invalidUpTo(subject);
  }

  /**
   * The seal of the current secret, after an attempt to subscribe. `undefined`: no secret is known in time,
   * and this call does without the shared tier.
   */
  #currentSeal(): Seal | Promise<Seal | undefined> {
    if (this.#isClosed) return Promise.resolve(undefined);
    const seal = this.#seals.current();
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
    const onDeaf = () => this.#outbox.scheduleRetry();
    return this.#store.subscribe((message) => this.#onMessage(message), onDeaf, this.#hasCached);
  }

  /** The answer in a row; `undefined`: it was not written by this version of the package and this fleet. */
  #open(seal: Seal, name: string, row: SharedRow): SharedAnswer | undefined {
    const text = row.value === undefined ? undefined : seal.open(`${name} ${row.order}`, row.value);
    return text === undefined ? undefined : readRow(text, row);
  }

  /** Forgets the answers of this process up to an order. Returns what it had. */
  #forget(subject: string, upTo: number, until: number): LocalState | undefined {
    const [kind = '', ...key] = subject.split(' ');
    return this.#options.onInvalidated(kind, key.join(' '), upTo, until);
  }

  #publish(seal: Seal, message: Message): Promise<boolean> {
    const text = JSON.stringify({ ...message, from: this.#id });
    return this.#store.publish(seal.seal(INVALIDATION, text));
  }

  /** @param message - `undefined`: messages were missed, perhaps of a new generation. */
  #onMessage(message: string | undefined): void {
    if (message === undefined) {
      this.#generations.forget();
      this.#options.onMissed();
      this.#outbox.onMissed();
      return;
    }
    if (this.#receive(message)) return;
    // Sealed with another secret. The api_key can have been rotated since this process used it last.
    const known = this.#seals.newest;
    const receiveAgain = () => known !== this.#seals.newest && this.#receive(message);
    this.#seals.refresh().then(receiveAgain, () => {});
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
        this.#outbox.scheduleResend();
      } else if (message.isNewcomer) {
        this.#outbox.onNewcomer();
      } else if (allUpTo !== undefined) {
        this.#generations.receive(seal, message);
      } else if (subject !== undefined && order !== undefined) {
        this.#orders.saw(order);
        // Sent again, or so late that all answers before it have expired.
        const { tombstones } = this.#outbox;
        if (order <= tombstones.orderOf(subject) || age >= this.#life) return true;
        const at = this.#options.clock() - age;
        const had = this.#forget(subject, order, at);
        const isEssential = message.isEssential === true || had === 'positive';
        const invalidation = { subject, order, at, isEssential };
        // Its sender does not know the current secret yet.
        const isEarlier = seal !== this.#seals.newest;
        if (!isStored && isEssential && !isEarlier) this.#outbox.takeOver({ ...invalidation });
        // Where the shared cache has stored it, a tombstone is needed only for what this process had.
        if (had || isEarlier || !isStored) {
          // Its sender can drop it, so this process sends it again in its place.
          const isOwn = isEssential && message.isEssential !== true;
          tombstones.keep({ ...invalidation, isOwn });
        }
        const isPassedOn = isEarlier && !this.#outbox.unsentAbout(subject);
        if (isPassedOn) void this.#outbox.send({ ...invalidation, receivedUnder: seal });
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
