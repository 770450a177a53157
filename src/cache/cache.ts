import { LRUCache } from 'lru-cache';
import { checkSignal, type Ending, wait } from '../deadline.js';
import { type LookupMessage, lookupChannel } from '../diagnostics.js';
import { isMarketgateError, MarketgateError } from '../errors.js';
import { isOwnLack } from '../http/failure.js';
import { deepFreeze, noteUnreadable, unreadableIn } from '../model/fields.js';
import { flagOption } from '../options.js';
import { InFlight } from './in-flight.js';
import type { CacheLimits } from './options.js';
import { ALL, type Orders } from './orders.js';
import type { Content, Found, SharedTier } from './shared-tier.js';

/** How many times a lookup asks when each answer is invalidated before it arrives. */
const MAX_ROUNDS = 3;
/** How long to wait before looking again for the answer of another process, in milliseconds. */
const POLL = 25;

/** A cached answer of the service. */
export interface Answer<T> {
  /** `null`: a negative answer. */
  readonly value: T | null;
  /** When it was requested, by the cache's clock. */
  readonly at: number;
}

/** A positive answer. It is cached for a key in any letter case. */
export interface Positive<T> extends Answer<T> {
  readonly value: T;
  /** Its place in the order of requests. */
  readonly order: number;
  /** The shared tier's epoch in which it was last known to be valid. In a later one, the shared tier is asked first. */
  epoch: number;
}

/** A negative answer. It is about one spelling of the key, because a service can distinguish letter cases. */
interface Negative extends Answer<never> {
  readonly value: null;
  readonly order: number;
  readonly spelling: string;
}

/** Options of one call. */
export interface CallOptions {
  /** Ends this call when aborted; it rejects with the signal's reason. Calls that share the request go on. */
  signal?: AbortSignal | undefined;
  /** Asks the service even if the answer is cached, and caches the new answer. Default false. */
  fresh?: boolean | undefined;
  /** Called when the answer comes from a cache, own or shared, or from another call's request that this one joins. */
  onCached?: (() => void) | undefined;
}

/** Options of one request to the service. */
export interface RequestOptions {
  /** Ends the request: its last caller has left, or the client was closed. */
  readonly signal: Ending;
  /** Whether a positive answer is known, which a negative one would invalidate. */
  readonly hadPositive: boolean;
  /** Milliseconds of the call that have elapsed. */
  readonly elapsed: number;
}

/** A lookup that has begun and has no answer yet; callers join it. */
class Lookup<T> extends InFlight<Answer<T>> {
  readonly begunAt = performance.now();
  /** Where it is looking, and so where its answer or failure comes from. */
  source: LookupMessage['source'] = 'service';
  /** The place of its request to the service, in the order of requests. */
  order = Number.POSITIVE_INFINITY;
  /** Releases its lock in the shared tier. */
  release?: () => void;
}

interface CacheParts<T> {
  /** The kind of answer, as in `marketgate:lookup`. */
  readonly what: LookupMessage['what'];
  readonly limits: CacheLimits;
  /** Milliseconds, for durations. */
  readonly clock: () => number;
  readonly request: (spelling: string, options: RequestOptions) => Promise<T | null>;
  readonly orders: Orders;
  readonly sharedTier: SharedTier | undefined;
}

/**
 * A stale-while-revalidate cache of the service's answers of one kind, with an optional shared tier. A
 * positive answer goes through these ages:
 *
 * - until `ttl`: served;
 * - until `ttl + staleWhileRevalidate`: stale; served, and refreshed in the background;
 * - after that: not served. Callers wait for a new answer. If the service cannot answer, they get the last
 *   positive answer until `staleIfError`.
 *
 * A negative answer is served until `invalidTtl`. It has a separate cache, and invalidates at once the positive
 * answers that were requested before it, also those that arrive later. A failure is never cached.
 */
export class Cache<T extends object> {
  readonly #staleFor: number;
  readonly #positive: LRUCache<string, Positive<T>>;
  readonly #negative: LRUCache<string, Negative>;
  /** The newest lookup of each spelling. */
  readonly #lookups = new Map<string, Lookup<T>>();

  constructor(private readonly parts: CacheParts<T>) {
    const { max, maxInvalid, staleIfError, staleWhileRevalidate } = parts.limits;
    // `staleIfError` limits how long a stale answer is served at all.
    this.#staleFor = Math.min(staleWhileRevalidate, staleIfError);
    this.#positive = new LRUCache({ max });
    this.#negative = new LRUCache({ max: maxInvalid });
    parts.orders.onInvalidated((subject, upTo) => this.#forget(subject, upTo));
  }

  /** What invalidations call a key. */
  subject(key: string): string {
    return `${this.parts.what} ${key.toLowerCase()}`;
  }

  /**
   * A cached answer that can be served at once; `undefined`: a lookup is needed. Starts a refresh where one
   * is due. Awaits, copies and hashes nothing, because nearly every call ends here.
   */
  peek(spelling: string): Answer<T> | undefined {
    const { limits } = this.parts;
    const key = spelling.toLowerCase();
    const positive = this.#positive.get(key);
    if (positive === undefined) {
      const negative = this.#negative.get(key);
      if (negative?.spelling !== spelling || this.#ageOf(negative) >= limits.invalidTtl) return;
      return this.served(negative);
    }
    const age = this.#ageOf(positive);
    if (this.#mustAsk(positive) || age >= limits.ttl + this.#staleFor) return undefined;
    if (age >= limits.ttl && !this.#joinable(spelling)) {
      this.#start(spelling, false)
        .join()
        .catch(() => {});
    }
    return this.served(positive);
  }

  /** A positive answer that is younger than `ttl`. */
  withinTtl(key: string): Positive<T> | undefined {
    const positive = this.#positive.get(key);
    if (positive === undefined || this.#mustAsk(positive)) return undefined;
    return this.#ageOf(positive) < this.parts.limits.ttl ? positive : undefined;
  }

  /** Whether an answer about a key was requested after this order. */
  isAskedSince(key: string, order: number): boolean {
    const positive = this.#positive.peek(key);
    return (positive && positive.order > order) || this.#isInvalid(key, order);
  }

  /** Reports that a cached answer is served. @param isFailed whether the service was asked, and could not answer. */
  served<A extends Answer<T>>(answer: A, isFailed = false): A {
    if (lookupChannel.hasSubscribers) {
      const isStale = answer.value !== null && this.#ageOf(answer) >= this.parts.limits.ttl;
      this.#report(isFailed ? 'stale-if-error' : isStale ? 'stale' : 'cache', answer);
    }
    return answer;
  }

  async get(spelling: string, options: CallOptions): Promise<T | null> {
    const { signal, onCached } = options;
    const fresh = flagOption('KeyApi', 'fresh', options.fresh);
    if (signal !== undefined) checkSignal(signal);
    const cached = fresh ? undefined : this.peek(spelling);
    if (cached !== undefined) {
      onCached?.();
      return cached.value;
    }
    // A caller that passes `fresh` must not get an answer that was requested earlier.
    const joined = fresh ? undefined : this.#joinable(spelling);
    if (joined !== undefined) onCached?.();
    const lookup = joined ?? this.#start(spelling, fresh);
    try {
      const { value } = await lookup.join(signal);
      if (!joined && lookup.source !== 'service') onCached?.();
      return value;
    } catch (error) {
      const stale = this.staleIfError(spelling.toLowerCase(), error, options);
      if (stale === undefined) throw error;
      if (!joined) onCached?.();
      return this.served(stale, true).value;
    }
  }

  /** The last positive answer until `staleIfError`, if this error of a call says that the service could not answer. */
  staleIfError(key: string, error: unknown, options: CallOptions): Positive<T> | undefined {
    if (options.fresh || options.signal?.aborted) return undefined;
    if (!isMarketgateError(error) || error.status < 500) return undefined;
    // A refusal in other words is an answer about this key, and what this process lacks a visitor can have caused.
    if (error.code === 'service_refused' || isOwnLack(error)) return undefined;
    const positive = this.#positive.peek(key);
    const { staleIfError } = this.parts.limits;
    return positive && this.#ageOf(positive) < staleIfError ? positive : undefined;
  }

  /** Forgets the answers about a subject, except a positive one that was requested after this order. */
  #forget(subject: string, upTo: number): void {
    const prefix = this.subject('');
    if (subject !== ALL && !subject.startsWith(prefix)) return;
    const keys = subject === ALL ? [...this.#positive.keys()] : [subject.slice(prefix.length)];
    for (const key of keys) {
      const positive = this.#positive.peek(key);
      if (positive && positive.order <= upTo) this.#positive.delete(key);
      this.#negative.delete(key);
    }
    if (subject === ALL) this.#negative.clear();
  }

  /** Whether messages were missed since the answer was known to be valid, and the shared tier can be asked about it. */
  #mustAsk({ epoch }: Positive<T>): boolean {
    const { sharedTier } = this.parts;
    return sharedTier !== undefined && epoch !== sharedTier.epoch && !sharedTier.isResting;
  }

  #isInvalid(key: string, order: number): boolean {
    return this.parts.orders.isInvalid(this.subject(key), order);
  }

  /** The newest lookup of this spelling, unless it was aborted or its answer will not be served. */
  #joinable(spelling: string): Lookup<T> | undefined {
    const lookup = this.#lookups.get(spelling);
    if (lookup === undefined || lookup.ending.aborted) return undefined;
    return this.#isInvalid(spelling, lookup.order) ? undefined : lookup;
  }

  #start(spelling: string, isFresh: boolean): Lookup<T> {
    const lookup: Lookup<T> = new Lookup(
      () => this.#answer(spelling, isFresh, lookup),
      () => {
        if (this.#lookups.get(spelling) === lookup) this.#lookups.delete(spelling);
      },
    );
    this.#lookups.set(spelling, lookup);
    return lookup;
  }

  /** Asks the shared tier, and then the service, until there is an answer that was not invalidated before it arrived. */
  async #answer(spelling: string, isFresh: boolean, lookup: Lookup<T>): Promise<Answer<T>> {
    // Once the service was asked, in any round, the guess limit counts the lookup.
    if (this.parts.sharedTier) lookup.source = 'shared';
    try {
      for (let round = 0; round < MAX_ROUNDS; round++) {
        const { found, known } = await this.#find(spelling, isFresh, lookup);
        const answer = known ?? (await this.#request(spelling, lookup, found));
        if (answer === undefined) continue;
        this.#report(lookup.source, answer);
        return answer;
      }
      throw new MarketgateError(
        'service_unavailable',
        'KeyApi: each answer was invalidated before it arrived; try again',
      );
    } catch (error) {
      this.#report(lookup.source, undefined, error);
      throw error;
    } finally {
      lookup.release?.();
    }
  }

  /** Looks for an answer until there is one, or the service is to be asked: by one process, while the others wait here. */
  async #find(spelling: string, isFresh: boolean, lookup: Lookup<T>) {
    const { sharedTier, limits } = this.parts;
    for (;;) {
      const shared = await this.#read(spelling);
      if (isFresh) return { found: shared.found, known: undefined };
      if (sharedTier === undefined || shared.found === undefined) break;
      if (shared.known || lookup.release) return shared;
      const lock = await sharedTier.lock(this.subject(spelling));
      const isTimeLeft = performance.now() - lookup.begunAt < sharedTier.longestWait;
      // The process that had the lock can have shared its answer in between, so the row is read again.
      if (lock) lookup.release = lock;
      else if (lock === false && isTimeLeft && !lookup.ending.aborted) await wait(POLL);
      else return shared;
    }
    // The shared cache cannot be asked. Not a stale answer, because this lookup can be its refresh.
    const own = this.#positive.peek(spelling.toLowerCase());
    const known = own && this.#ageOf(own) < limits.ttl ? own : undefined;
    if (known) lookup.source = 'cache';
    return { found: undefined, known };
  }

  /** Reads what the shared tier has, and caches it. `known`: an answer for which the service need not be asked. */
  async #read(spelling: string) {
    const found = await this.parts.sharedTier?.read(this.subject(spelling));
    return { found, known: found && this.#adopt(spelling, found) };
  }

  /** Asks the service. `undefined`: its answer was invalidated before it arrived. */
  async #request(
    spelling: string,
    lookup: Lookup<T>,
    found: Found | undefined,
  ): Promise<Answer<T> | undefined> {
    const { what, request, orders, clock, sharedTier } = this.parts;
    lookup.ending.throwIfAborted();
    const key = spelling.toLowerCase();
    const hadPositive = this.#positive.has(key) || found?.hadPositive === true;
    const asked = orders.next();
    const at = clock();
    const epoch = sharedTier?.epoch ?? Number.NaN;
    const elapsed = performance.now() - lookup.begunAt;
    lookup.source = 'service';
    lookup.order = asked;
    const value = await request(spelling, { signal: lookup.ending, hadPositive, elapsed });
    // A negative one counts wherever it can have been requested later.
    const order = value === null ? asked + (found?.lag ?? 0) : asked;
    const later = this.#positive.peek(key);
    if (later !== undefined && later.order > order) {
      return this.#mustAsk(later) ? undefined : later;
    }
    if (value !== null && this.#isInvalid(key, order)) return undefined;
    const answer =
      value === null
        ? this.#keepNegative(key, { value, at, order, spelling })
        : this.#keepPositive(key, { value: deepFreeze(value), at, order, epoch });
    if (sharedTier === undefined) return answer;
    const isTombstone = value === null && hadPositive;
    const unreadable = value === null ? undefined : unreadableIn(value);
    const content = { value, spelling, isTombstone, unreadable };
    // Nothing else opens a door.
    if (what === 'purchase') return this.#share(sharedTier, answer, content, epoch, found);
    if (found) await sharedTier.shareByTtl(this.subject(key), order, content, found);
    return answer;
  }

  /** Shares an answer about a code. @returns what is served. `undefined`: it was invalidated meanwhile. */
  async #share(
    sharedTier: SharedTier,
    answer: Positive<T> | Negative,
    content: Content,
    epoch: number,
    found: Found | undefined,
  ): Promise<Answer<T> | undefined> {
    const { value, order } = answer;
    const { spelling } = content;
    const key = spelling.toLowerCase();
    const isLate = await sharedTier.share(this.subject(key), order, content, found);
    // Messages since the request was sent were missed.
    const hasMissed = !sharedTier.isResting && sharedTier.epoch !== epoch;
    if (isLate || hasMissed) {
      const { known } = await this.#read(spelling);
      if (value === null) return known ?? answer;
      // A later answer hides whether it was invalidated before that, which the missed messages would tell.
      if (hasMissed && this.#positive.peek(key) !== answer) return undefined;
    }
    return value !== null && this.#isInvalid(key, order) ? undefined : answer;
  }

  /** Caches what the shared tier has found. @returns it, if the service need not be asked. */
  #adopt(spelling: string, { answer, epoch }: Found): Answer<T> | undefined {
    if (answer === undefined) return undefined;
    const { clock, limits } = this.parts;
    const { value, unreadable, order, age } = answer;
    const key = spelling.toLowerCase();
    const at = clock() - age;
    const known = this.#positive.peek(key);
    if (value === null) {
      if (known && known.order > order) return undefined;
      const negative = this.#keepNegative(key, { value, at, order, spelling });
      if (answer.spelling === spelling && age < limits.invalidTtl) return negative;
      this.#negative.delete(key);
      return undefined;
    }
    const isKnown = known !== undefined && known.order >= order;
    if (!isKnown) noteUnreadable(value, unreadable);
    const positive = isKnown ? known : { value: deepFreeze(value as T), at, order, epoch };
    positive.epoch = epoch;
    this.#keepPositive(key, positive);
    return this.#ageOf(positive) < limits.ttl ? positive : undefined;
  }

  #keepPositive(key: string, positive: Positive<T>): Positive<T> {
    this.#negative.delete(key);
    this.#positive.set(key, positive);
    return positive;
  }

  #keepNegative(key: string, negative: Negative): Negative {
    this.parts.orders.invalidate(this.subject(key), negative.order);
    this.#negative.set(key, negative);
    return negative;
  }

  #ageOf({ at }: Answer<T>): number {
    return this.parts.clock() - at;
  }

  #report(source: LookupMessage['source'], answer?: Answer<T>, error?: unknown): void {
    if (!lookupChannel.hasSubscribers) return;
    const outcome = answer ? (answer.value === null ? 'negative' : 'positive') : 'failed';
    const code = isMarketgateError(error) && { code: error.code };
    const { what } = this.parts;
    lookupChannel.publish({ what, source, outcome, ...code } satisfies LookupMessage);
  }
}
