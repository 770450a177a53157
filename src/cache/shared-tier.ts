import { randomBytes } from 'node:crypto';
import { later, within } from '../deadline.js';
import type { DriftReports } from '../diagnostics.js';
import { MarketgateError } from '../errors.js';
import { GuardedStore, LONGEST, UNAVAILABLE } from './guarded-store.js';
import type { CacheLimits } from './options.js';
import { Seal } from './seal.js';
import type { SharedCache } from './shared-cache.js';
import { readRow, type SharedAnswer, writeRow, writeTombstone } from './shared-row.js';

/** How long one process may ask for all of them, in milliseconds. One that dies delays no longer. */
const LOCK_LIFE = 2000;
/** How long to wait before looking again whether the other process has its answer, in milliseconds. */
const LOOK_AGAIN = 25;
/** Invalidations that are remembered while they cannot be sent; more, and everything is invalid. */
const MOST_UNSENT = 1000;
/** Invalidations that are sent again after messages were missed: the shared cache may have lost them. */
const MOST_RECENT = 1000;
/** The first and the longest wait before an unsent invalidation is tried again, in milliseconds. */
const FIRST_RETRY = 1000;
const LONGEST_RETRY = 30_000;
/** Secrets under which invalidations are sent: some processes may still use an earlier one. */
const MOST_SEALS = 3;
const GENERATION = 'generation';
const INVALIDATION = 'invalidation';

/** What the shared tier says to a lookup. */
export interface Found {
  /** What is there; `undefined`: nothing, or nothing that can be believed. */
  readonly answer: SharedAnswer | undefined;
  /** The order of an answer that is asked for now; `undefined`: the shared tier cannot be asked. */
  readonly order: number | undefined;
  /** To be called when the service has answered and the answer is shared. */
  readonly release: () => void;
}

/**
 * What is left where a positive answer was withdrawn, by a negative answer or by an invalidation: nothing
 * that was asked for before it is served again.
 */
export interface Tombstone {
  /** Answers up to this order are withdrawn; infinite until the shared tier knows of it. */
  order: number;
}

/** An invalidation for the other processes. */
interface Invalidation {
  readonly subject: string;
  readonly tombstone: Tombstone;
  /** Its order, once one is known: trying again must not withdraw what was asked for meanwhile. */
  order: number | undefined;
  /** The negative answer that it comes from, while it can be served. */
  readonly negative: { readonly variant: string; readonly at: number } | undefined;
}

/** What the tier needs of the cache, and calls on it. */
export interface SharedTierOptions {
  readonly limits: CacheLimits;
  /** Never goes back; ages are measured by it. */
  readonly clock: () => number;
  /** Epoch milliseconds. */
  readonly wallClock: () => number;
  /** Milliseconds that a call may take in all. */
  readonly timeout: number;
  readonly drift: DriftReports;
  readonly secret: () => string | Promise<string>;
  /** The address of the service and the account. */
  readonly context: string;
  /** Another process has invalidated a key. `isStored`: the shared tier itself knows of it. */
  readonly onInvalidated: (
    kind: string,
    key: string,
    tombstone: Tombstone,
    isStored: boolean,
  ) => void;
  /**
   * Another process has invalidated everything that was asked for until then, in milliseconds of
   * {@link clock}.
   */
  readonly onAllInvalidated: (until: number) => void;
  /** Messages were missed. */
  readonly onMissed: () => void;
}

const nothing = (): void => {};

/**
 * The answers that the processes of a fleet share, the lock that lets one of them ask for all, and
 * the messages by which they invalidate each other's answers. Never in the way: what cannot be had from
 * here in time is asked of the service.
 *
 * Answers have an order, by the moment at which the service was asked, counted by the shared cache's
 * own clock; clocks of processes are never compared. A row is replaced only by one of a later order.
 * What invalidates everything is a new generation, which is part of all names: earlier rows are not
 * found any more.
 */
export class SharedTier {
  readonly #store: GuardedStore;
  readonly #id = randomBytes(12).toString('base64url');
  readonly #options: SharedTierOptions;
  /** How long a positive answer, and so a tombstone, lives. */
  readonly #life: number;
  /** Longest wait for the process that asks for all, in milliseconds. */
  readonly #patience: number;
  /** The seal of the present secret first, then those of the secrets before it. */
  #seals: readonly Seal[] = [];
  /** The present generation; `undefined`: to be read first. */
  #generation: string | undefined;
  #lastGeneration = '';
  readonly #unsent = new Map<string, Invalidation>();
  /** The latest ones that were sent, the oldest first. */
  readonly #recent = new Map<string, Invalidation & { readonly until: number }>();
  /** A generation that the shared cache does not know yet. */
  #unsentGeneration: string | undefined;
  #retry: (() => void) | undefined;
  #wait = FIRST_RETRY;
  #isSending = false;
  #isClosed = false;

  constructor(shared: SharedCache, options: SharedTierOptions) {
    const { limits, timeout } = options;
    this.#store = new GuardedStore(shared, options.wallClock);
    this.#options = options;
    const { ttl, staleWhileRevalidate, staleIfError } = limits;
    this.#life = Math.max(1, ttl + Math.min(staleWhileRevalidate, staleIfError), staleIfError);
    this.#patience = Math.min(LOCK_LIFE, timeout / 2);
  }

  /**
   * Looks for an answer, until there is one that can be served or the caller may ask the service. One
   * process asks at a time; the others wait for its answer.
   */
  async find(
    subject: string,
    isServable: (answer: SharedAnswer) => boolean,
    isLooking: () => boolean,
  ): Promise<Found> {
    const begun = performance.now();
    for (;;) {
      const found = await this.read(subject);
      const { answer, order } = found;
      if (order === undefined || (answer !== undefined && isServable(answer))) return found;
      const seal = this.#seals[0] as Seal;
      const unlock = await this.#store.lock(`${this.#nameOf(seal, subject)}.lock`, LOCK_LIFE);
      if (unlock === undefined && performance.now() - begun < this.#patience && isLooking()) {
        await soon();
        continue;
      }
      if (typeof unlock !== 'function') return found;
      const release = (): void => void unlock().catch(nothing);
      // Whoever held the lock a moment ago may have answered between our look and our lock.
      const late = await this.read(subject);
      if (late.answer !== undefined && isServable(late.answer)) {
        release();
        return late;
      }
      return { ...(late.order === undefined ? found : late), release };
    }
  }

  /** Looks once. */
  async read(subject: string): Promise<Found> {
    const none: Found = { answer: undefined, order: undefined, release: nothing };
    const opened = this.#open();
    // Waited for only when there is something to wait for: this is on the way of every shared hit.
    const seal = opened instanceof Seal ? opened : await opened;
    if (seal === undefined) return none;
    if (this.#generation === undefined || !this.#store.canSubscribe) {
      if (!(await this.#readGeneration(seal))) return none;
    }
    const name = this.#nameOf(seal, subject);
    const row = await this.#store.read(name);
    if (row === UNAVAILABLE) return none;
    const order = Math.max(row.now, row.order + 1);
    const sealed = row.value;
    // What could not be withdrawn there yet is not believed.
    if (sealed === undefined || this.#unsent.has(subject)) return { ...none, order };
    const text = seal.open(`${name} ${row.order}`, sealed);
    const answer = text === undefined ? undefined : readRow(text, row, this.#options.wallClock());
    if (answer === undefined) this.reportUnreadable();
    return { answer, order, release: nothing };
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
   * @param at - when the service was asked, by this process's clock.
   * @returns `lost`: another process has a later answer, or has withdrawn this one.
   */
  async share(
    subject: string,
    value: unknown,
    { variant, at, order }: { variant: string; at: number; order: number },
  ): Promise<'kept' | 'lost' | 'unavailable'> {
    const seal = await this.#open();
    if (seal === undefined || this.#generation === undefined) return 'unavailable';
    const age = this.#options.clock() - at;
    const left = this.#life - age;
    const rest = { variant, at: this.#options.wallClock() - age, life: this.#life };
    const text = writeRow(value, rest);
    if (text === undefined || left <= 0) return 'unavailable';
    const name = this.#nameOf(seal, subject);
    const sealed = seal.seal(`${name} ${order}`, text);
    const kept = await this.#store.write(name, sealed, Math.ceil(left), order);
    return kept === UNAVAILABLE ? 'unavailable' : kept ? 'kept' : 'lost';
  }

  /**
   * Withdraws what is there of a subject, in every process, for a negative answer.
   * @returns whether the shared tier knows; if not, it is tried again until it does.
   */
  withdraw(
    subject: string,
    tombstone: Tombstone,
    { order, variant, at }: { variant: string; at: number; order: number | undefined },
  ): Promise<boolean> {
    return this.#send({ subject, tombstone, order, negative: { variant, at } });
  }

  /**
   * Withdraws what is there of a subject, in every process.
   * @throws MarketgateError `store_unavailable` when the shared tier cannot be told; it is told later.
   */
  async invalidate(subject: string, tombstone: Tombstone): Promise<void> {
    const sent = await this.#send({ subject, tombstone, order: undefined, negative: undefined });
    if (!sent) throw notSent();
  }

  /**
   * Withdraws everything that was asked for until now, in every process, also in one that starts later.
   * @throws MarketgateError `store_unavailable` when the shared tier cannot be told; it is told later.
   */
  async invalidateAll(): Promise<void> {
    this.#newGeneration();
    if (!(await this.#sendGeneration())) {
      this.#sendLater();
      throw notSent();
    }
  }

  close(): void {
    this.#isClosed = true;
    this.#retry?.();
    this.#store.close();
  }

  /**
   * The seal of the present secret, once this process hears what the others invalidate. `undefined` when
   * the secret cannot be had at once: then this call does without the shared tier.
   */
  #open(): Seal | Promise<Seal | undefined> {
    if (this.#isClosed) return Promise.resolve(undefined);
    const secret = this.#options.secret();
    const [seal] = this.#seals;
    // The way of nearly every call: nothing to wait for.
    if (seal?.secret === secret && this.#store.isSubscribed) return seal;
    return this.#prepare(secret);
  }

  async #prepare(given: string | Promise<string>): Promise<Seal | undefined> {
    const secret = await within(LONGEST, () => given).catch(() => undefined);
    if (secret === undefined) return undefined;
    if (this.#seals[0]?.secret !== secret) {
      const known = this.#seals.filter((seal) => seal.secret !== secret);
      const seal = new Seal(secret, this.#options.context);
      this.#seals = [seal, ...known].slice(0, MOST_SEALS);
      this.#generation = this.#unsentGeneration;
    }
    await this.#store.subscribe((message) => this.#hear(message));
    return this.#seals[0];
  }

  #nameOf(seal: Seal, subject: string): string {
    return seal.name(`${this.#generation} ${subject}`);
  }

  #newGeneration(): void {
    this.#generation = randomBytes(12).toString('base64url');
    this.#lastGeneration = this.#generation;
    this.#unsentGeneration = this.#generation;
    // Nothing of the generation before is found any more, withdrawn or not.
    for (const { tombstone } of this.#unsent.values()) tombstone.order = 0;
    this.#unsent.clear();
    this.#recent.clear();
  }

  async #readGeneration(seal: Seal): Promise<boolean> {
    if (this.#unsentGeneration !== undefined) return this.#sendGeneration();
    const name = seal.name(GENERATION);
    const row = await this.#store.read(name);
    if (row === UNAVAILABLE) return false;
    if (row.value === undefined && this.#lastGeneration !== '') {
      // Lost by the shared cache, with a restart or a failover: it is told again.
      this.#unsentGeneration = this.#lastGeneration;
      this.#generation = this.#lastGeneration;
      return this.#sendGeneration();
    }
    const generation = row.value === undefined ? '' : seal.open(`${name} ${row.order}`, row.value);
    if (generation === undefined) return false;
    if (generation !== this.#lastGeneration) {
      // The message was missed. How long ago it was, the shared cache's own clock tells.
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
    for (const seal of this.#seals) {
      const name = seal.name(GENERATION);
      const row = await this.#store.read(name);
      if (row === UNAVAILABLE) return false;
      const order = Math.max(row.now, row.order + 1);
      const sealed = seal.seal(`${name} ${order}`, generation);
      const isStored = UNAVAILABLE !== (await this.#store.write(name, sealed, this.#life, order));
      const published = await this.#publish(seal, { generation, isStored });
      isSent &&= isStored && published;
    }
    if (isSent && this.#unsentGeneration === generation) this.#unsentGeneration = undefined;
    return isSent;
  }

  async #send(invalidation: Invalidation): Promise<boolean> {
    const { subject } = invalidation;
    // Until it is known there, nothing that is there is believed.
    this.#unsent.set(subject, invalidation);
    if (this.#unsent.size > MOST_UNSENT) {
      this.#newGeneration();
      this.#sendLater();
      return false;
    }
    const isSent = await this.#trySend(invalidation);
    if (!isSent) this.#sendLater();
    return isSent;
  }

  async #trySend(invalidation: Invalidation): Promise<boolean> {
    const { subject, tombstone, negative } = invalidation;
    if ((await this.#open()) === undefined) return false;
    let isSent = true;
    for (const seal of this.#seals) {
      if (this.#generation === undefined && !(await this.#readGeneration(seal))) return false;
      const name = this.#nameOf(seal, subject);
      if (invalidation.order === undefined) {
        const row = await this.#store.read(name);
        if (row === UNAVAILABLE) return false;
        invalidation.order = Math.max(row.now, row.order + 1);
      }
      const { order } = invalidation;
      const age = negative && this.#options.clock() - negative.at;
      const text = writeTombstone({
        no: negative !== undefined,
        variant: negative?.variant,
        age,
        at: this.#options.wallClock() - (age ?? 0),
        life: this.#life,
      });
      const sealed = seal.seal(`${name} ${order}`, text);
      const written = await this.#store.write(name, sealed, this.#life, order);
      const isStored = written !== UNAVAILABLE;
      const published = await this.#publish(seal, { subject, order, isStored });
      isSent &&= isStored && published;
    }
    if (isSent) {
      tombstone.order = invalidation.order ?? 0;
      if (this.#unsent.get(subject) === invalidation) this.#unsent.delete(subject);
      this.#remember(invalidation);
    }
    return isSent;
  }

  #remember(invalidation: Invalidation): void {
    const { subject } = invalidation;
    const until = this.#options.clock() + this.#life;
    this.#recent.delete(subject);
    this.#recent.set(subject, { ...invalidation, negative: undefined, until });
    const [oldest = subject] = this.#recent.keys();
    if (this.#recent.size > MOST_RECENT) this.#recent.delete(oldest);
  }

  /** A server that restarted empty, or a replica that was behind, may not know of them any more. */
  #sendAgain(): void {
    const now = this.#options.clock();
    for (const [subject, invalidation] of this.#recent) {
      if (invalidation.until > now && !this.#unsent.has(subject)) {
        this.#unsent.set(subject, invalidation);
      }
    }
    this.#recent.clear();
  }

  /** Tries again what could not be sent, and later once more. */
  #sendLater(): void {
    if (this.#isClosed || this.#retry !== undefined) return;
    this.#retry = later(this.#wait, () => {
      this.#retry = undefined;
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

  #publish(seal: Seal, message: Message): Promise<boolean> {
    const text = JSON.stringify({ ...message, from: this.#id });
    return this.#store.publish(seal.seal(INVALIDATION, text));
  }

  #hear(message: string | undefined): void {
    if (message === undefined) {
      // Messages were missed, of this generation or of a new one; and what is unsent can be sent now.
      this.#generation = this.#unsentGeneration;
      this.#options.onMissed();
      this.#sendAgain();
      void this.#sendUnsent();
      return;
    }
    if (this.#take(message)) return;
    // Sealed with another secret: perhaps the api_key was rotated, and nothing was asked since.
    const known = this.#seals[0];
    Promise.resolve(this.#open()).then((seal) => {
      if (seal !== undefined && seal !== known) this.#take(message);
    }, nothing);
  }

  /** Whether the message could be read. */
  #take(message: string): boolean {
    for (const seal of this.#seals) {
      const text = seal.open(INVALIDATION, message);
      if (text === undefined) continue;
      const { from, generation, subject, order, isStored } = JSON.parse(text) as Message;
      if (from === this.#id) return true;
      if (generation !== undefined) {
        if (isStored !== true) this.#lastGeneration = generation;
        // Which of two new generations has won is only known by looking.
        if (this.#unsentGeneration === undefined) {
          this.#generation = isStored === true ? undefined : generation;
        }
        this.#options.onAllInvalidated(this.#options.clock());
      } else if (typeof subject === 'string' && typeof order === 'number') {
        const space = subject.indexOf(' ');
        const [kind, key] = [subject.slice(0, space), subject.slice(space + 1)];
        this.#options.onInvalidated(kind, key, { order }, isStored === true);
      }
      return true;
    }
    return false;
  }
}

interface Message {
  /** The process that sent it: what it says is known there. */
  readonly from?: string;
  /** Everything was invalidated: the new generation. */
  readonly generation?: string;
  readonly subject?: string;
  readonly order?: number;
  readonly isStored?: boolean;
}

const notSent = (): MarketgateError =>
  new MarketgateError(
    'store_unavailable',
    'KeyApi.invalidate: the shared cache cannot be told; this process has forgotten it, and goes on telling the others',
  );

/** With jitter, so that the processes do not all look at once. */
const soon = (): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, LOOK_AGAIN * (0.5 + Math.random())));
