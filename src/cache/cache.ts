import { LRUCache } from 'lru-cache';
import { checkSignal } from '../deadline.js';
import { type LookupMessage, lookupChannel } from '../diagnostics.js';
import { isMarketgateError, MarketgateError } from '../errors.js';
import { hasUnreadable } from '../model/fields.js';
import type { Answer, Negative, Positive } from './answer.js';
import { type CallOptions, Lookup, type RequestOptions } from './in-flight.js';
import type { CacheLimits } from './options.js';
import { isPositive, type LocalState, type SharedAnswer } from './shared-cache.js';
import type { SharedResult, SharedTier } from './shared-tier.js';

/** Concurrent background refreshes of one cache. More would flood a service that comes back. */
const MAX_REFRESHES = 16;
/** How many times a lookup asks when each answer is invalidated before it arrives. */
const MAX_ROUNDS = 3;

export interface CacheParts<T> {
  /** The kind of answer, as in `marketgate:lookup`. */
  readonly what: LookupMessage['what'];
  readonly limits: CacheLimits;
  /** Never goes back. */
  readonly clock: () => number;
  readonly request: (spelling: string, options: RequestOptions) => Promise<T | null>;
  /** Whether an error is a negative answer. Callers get the error, and it invalidates a positive answer. */
  readonly isNegative?: (error: unknown) => boolean;
  /** Freezes an answer, so that all callers can share it. */
  readonly freeze: (value: T) => T;
  /** Whether a value from the shared tier has the documented shape. */
  readonly isShape: (value: unknown) => boolean;
  /** Whether another cache has a positive answer about a key. */
  readonly isListed?: (key: string) => boolean | undefined;
  readonly sharedTier: SharedTier | undefined;
  /** Called with the key of a positive answer that came from another process. */
  readonly onAdopted?: (key: string) => void;
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
 * A negative answer is served until `invalidTtl`. It has a separate cache, and invalidates the positive
 * answer at once, and each in-flight request that began before it. A failure is never cached.
 */
export class Cache<T extends object> {
  readonly #parts: CacheParts<T>;
  readonly #staleFor: number;
  readonly #positive: LRUCache<string, Positive<T>>;
  readonly #negative: LRUCache<string, Negative>;
  /** The in-flight lookups, by key. A key can have several, because callers that pass `fresh` do not join. */
  readonly #lookups = new Map<string, Set<Lookup<Answer<T>>>>();
  #epoch = 0;
  /** Numbers the requests of this process. */
  #requests = 0;
  #refreshes = 0;

  constructor(parts: CacheParts<T>) {
    const { max, maxInvalid, staleIfError, staleWhileRevalidate } = parts.limits;
    this.#parts = parts;
    // `staleIfError` limits how long a stale answer is served at all.
    this.#staleFor = Math.min(staleWhileRevalidate, staleIfError);
    this.#positive = new LRUCache({ max });
    this.#negative = new LRUCache({ max: maxInvalid });
  }

  /**
   * A cached answer that can be served at once; `undefined`: a lookup is needed. Starts a refresh where one
   * is due. Awaits, copies and hashes nothing, because nearly every call ends here.
   */
  peek(spelling: string): Answer<T> | undefined {
    // While messages are missed, a cached answer can be invalid: the lookup asks the shared tier first.
    const mustCompare = this.#parts.sharedTier?.mustCompare;
    const found = mustCompare ? undefined : this.#servable(spelling.toLowerCase(), spelling);
    return found && lookupChannel.hasSubscribers ? this.served(found) : found;
  }

  /** A positive answer that is younger than `ttl`. */
  withinTtl(key: string): Positive<T> | undefined {
    const positive = this.#parts.sharedTier?.mustCompare ? undefined : this.#positive.get(key);
    if (positive?.epoch !== this.#epoch) return undefined;
    return this.#ageOf(positive) < this.#parts.limits.ttl ? positive : undefined;
  }

  /** The last positive answer, however old. */
  last(key: string): Positive<T> | undefined {
    return this.#positive.peek(key);
  }

  /** When the cached answer, however old, was requested. */
  lastRequestedAt(key: string): number | undefined {
    return (this.#positive.peek(key) ?? this.#negative.peek(key))?.at;
  }

  /** Whether any process has got a negative answer about a key, or has invalidated it, since this order. */
  async isInvalidatedSince(key: string, order: number): Promise<boolean | undefined> {
    return this.#parts.sharedTier?.isInvalidatedSince(this.#subject(key), order) ?? false;
  }

  /**
   * Reports that a cached answer was served.
   * @param isFailed whether the service was asked first, and could not answer.
   */
  served<A extends Answer<T>>(answer: A, { onCached }: CallOptions = {}, isFailed = false): A {
    const isStale = answer.value !== null && this.#ageOf(answer) >= this.#parts.limits.ttl;
    const source = isFailed ? 'stale-if-error' : isStale ? 'stale' : 'cache';
    this.#report({ source, outcome: outcomeOf(answer) });
    onCached?.();
    return answer;
  }

  async get(spelling: string, options: CallOptions): Promise<T | null> {
    const { signal, fresh = false } = options;
    if (signal !== undefined) checkSignal(signal);
    const key = spelling.toLowerCase();
    const cached = fresh ? undefined : this.peek(spelling);
    if (cached !== undefined) {
      options.onCached?.();
      return cached.value;
    }
    // A caller that passes `fresh` must not get an answer that was requested earlier.
    const joined = fresh ? undefined : this.#joinable(key, spelling);
    const lookup = joined ?? this.#start(key, spelling, fresh);
    try {
      const { value } = await lookup.join(signal);
      if (lookup.source !== 'service') options.onCached?.();
      return value;
    } catch (error) {
      const stale = this.staleIfError(key, error, options);
      if (stale === undefined) throw error;
      return this.served(stale, options, true).value;
    }
  }

  /** The last positive answer until `staleIfError`, if this error of a call says that the service could not answer. */
  staleIfError(
    key: string,
    error: unknown,
    { fresh, signal }: CallOptions,
  ): Positive<T> | undefined {
    if (fresh || signal?.aborted) return undefined;
    if (!isMarketgateError(error) || error.status < 500) return undefined;
    const positive = this.#positive.peek(key);
    const { staleIfError } = this.#parts.limits;
    return positive && this.#ageOf(positive) < staleIfError ? positive : undefined;
  }

  /** Invalidates a key, in any spelling, in every process. Rejects with `store_unavailable` when that cannot be sent. */
  async invalidate(spelling: string): Promise<void> {
    const key = spelling.toLowerCase();
    this.#forget(key);
    await this.#parts.sharedTier?.invalidate(this.#subject(key));
  }

  /** Another process has invalidated the answers up to an order of the shared tier, requested until a time. */
  onInvalidated(key: string, upTo: number, until: number): LocalState | undefined {
    const positive = this.#positive.peek(key);
    const had = positive ? 'positive' : this.#lookups.has(key) ? 'in flight' : undefined;
    // A later answer stays. Where there is none, in-flight lookups ask again: their order is not known here.
    if (!this.#isLater(positive, upTo, until)) this.#forget(key);
    return had;
  }

  /** Forgets all answers up to an order, and those requested until a time, also of in-flight lookups. */
  clear(upTo = Number.POSITIVE_INFINITY, until = Number.POSITIVE_INFINITY): void {
    for (const [key, { order, at }] of this.#positive.entries()) {
      if (order <= upTo || at <= until) this.#positive.delete(key);
    }
    this.#forgetNegatives();
  }

  /** Messages were missed: what is cached is served only while the service cannot answer. */
  onMissed(): void {
    this.#epoch++;
    this.#forgetNegatives();
  }

  /** Ends all lookups, and starts no more refreshes. */
  close(): void {
    this.#refreshes = Number.POSITIVE_INFINITY;
    const closed = new MarketgateError('service_unavailable', 'KeyApi: this client was closed');
    for (const lookups of [...this.#lookups.values()]) {
      for (const lookup of [...lookups]) lookup.signal.abort(closed);
    }
  }

  #servable(key: string, spelling: string): Answer<T> | undefined {
    const { limits } = this.#parts;
    const positive = this.#positive.get(key);
    if (positive !== undefined) {
      const age = this.#ageOf(positive);
      if (positive.epoch !== this.#epoch || age >= limits.ttl + this.#staleFor) return undefined;
      if (age >= limits.ttl) this.#refresh(key, spelling);
      return positive;
    }
    const negative = this.#negative.get(key);
    if (negative === undefined || negative.spelling !== spelling) return undefined;
    return this.#ageOf(negative) < limits.invalidTtl ? negative : undefined;
  }

  /** The newest lookup of this spelling that can be joined. */
  #joinable(key: string, spelling: string): Lookup<Answer<T>> | undefined {
    let newest: Lookup<Answer<T>> | undefined;
    for (const lookup of this.#lookups.get(key) ?? []) {
      if (lookup.spelling === spelling) newest = lookup;
    }
    const { signal, isOutdated, isSuperseded } = newest ?? {};
    return signal?.aborted || isOutdated || isSuperseded ? undefined : newest;
  }

  #start(key: string, spelling: string, isFresh: boolean): Lookup<Answer<T>> {
    const lookups = this.#lookups.get(key) ?? new Set();
    const onEnd = (): void => {
      lookups.delete(lookup);
      if (lookups.size === 0) this.#lookups.delete(key);
    };
    const lookup = new Lookup<Answer<T>>(key, spelling, isFresh, this.#answer, onEnd);
    this.#lookups.set(key, lookups.add(lookup));
    return lookup;
  }

  /** Asks until there is an answer that was not invalidated before it arrived. */
  readonly #answer = async (lookup: Lookup<Answer<T>>): Promise<Answer<T>> => {
    const { sharedTier } = this.#parts;
    if (sharedTier) lookup.source = 'shared';
    try {
      for (let round = 1; round <= MAX_ROUNDS; round++) {
        lookup.isOutdated = false;
        lookup.isSuperseded = false;
        lookup.requestNumber = Number.POSITIVE_INFINITY;
        // A later request can have been answered by now. A fresh lookup cannot take it: where clocks give the order, it
        // can be from before the call.
        const later = round > 1 && !lookup.isFresh ? this.peek(lookup.spelling) : undefined;
        if (later !== undefined) {
          // A request was sent for this lookup, so its answer does not count as cached: the guess limit counts it.
          lookup.source = 'service';
          return later;
        }
        const answer = sharedTier
          ? await this.#askSharedTier(lookup, sharedTier)
          : await this.#askService(lookup);
        if (answer !== undefined) {
          this.#report({ source: lookup.source, outcome: outcomeOf(answer) });
          return answer;
        }
      }
      throw new MarketgateError(
        'service_unavailable',
        'KeyApi: each answer was invalidated before it arrived; try again',
      );
    } catch (error) {
      this.#report({ source: lookup.source, outcome: 'failed' }, error);
      throw error;
    }
  };

  /** Asks the shared tier, and where that has no answer, the service. `undefined`: invalidated meanwhile. */
  async #askSharedTier(
    lookup: Lookup<Answer<T>>,
    sharedTier: SharedTier,
  ): Promise<Answer<T> | undefined> {
    const subject = this.#subject(lookup.key);
    const adopt = (found: SharedAnswer) => this.#adopt(lookup, found);
    // A fresh lookup needs only the order of the answer that it will request, and what was invalidated.
    const found: SharedResult & { readonly adopted?: Answer<T> } = lookup.isFresh
      ? await sharedTier.read(subject)
      : await sharedTier.find(subject, adopt, () => !lookup.signal.aborted);
    const { answer, order, release } = found;
    // Cached first: a negative answer then invalidates it, and needs a recent check of the api_key.
    if (lookup.isFresh && answer) adopt(answer);
    if (found.adopted !== undefined) {
      lookup.source = 'shared';
      return found.adopted;
    }
    // The shared tier cannot be asked, so an answer that `peek` withheld is served. Not a stale one, because this
    // lookup can be its refresh.
    const own =
      order === undefined && !lookup.isFresh
        ? this.#servable(lookup.key, lookup.spelling)
        : undefined;
    if (own && (own.value === null || this.#ageOf(own) < this.#parts.limits.ttl)) {
      lookup.source = 'cache';
      return own;
    }
    try {
      if (lookup.signal.aborted) throw lookup.signal.reason;
      return await this.#askService(lookup, found);
    } finally {
      release();
    }
  }

  /** `undefined`: the answer was invalidated before it arrived. */
  async #askService(
    lookup: Lookup<Answer<T>>,
    found?: SharedResult,
  ): Promise<Answer<T> | undefined> {
    const { request, clock, freeze, isListed, sharedTier } = this.#parts;
    const { key } = lookup;
    const order = found?.order;
    lookup.source = 'service';
    const at = clock();
    lookup.requestNumber = ++this.#requests;
    const known = this.#positive.peek(key);
    // The spelling with the positive answer: a negative answer to another says nothing about the purchase.
    const spelling = known?.spelling ?? lookup.spelling;
    let refusal: unknown;
    const elapsed = performance.now() - lookup.begun;
    const how = { signal: lookup.signal, hadPositive: known !== undefined, elapsed };
    const value = await request(spelling, how).catch((error: unknown) => {
      if (!this.#parts.isNegative?.(error)) throw error;
      refusal = error;
      return null;
    });
    if (lookup.isOutdated) return undefined;
    if (value === null) {
      const cached = this.#positive.peek(key);
      // A later positive answer has arrived, here or from another process.
      const isEarlier = order !== undefined && this.#isLater(cached, order, at);
      if (lookup.isSuperseded || isEarlier) return undefined;
      const isEssential =
        known !== undefined ||
        cached !== undefined ||
        found?.hasPositive === true ||
        isListed?.(key) === true;
      this.#forget(key, lookup.requestNumber);
      const isError = refusal !== undefined;
      if (!isError) this.#negative.set(key, { value, at, spelling });
      const negative = { subject: this.#subject(key), order, at, isEssential };
      await sharedTier?.shareNegative({ ...negative, spelling: isError ? undefined : spelling });
      if (isError) throw refusal;
      return { value, at };
    }
    const positive: Positive<T> = {
      value: freeze(value),
      at,
      spelling,
      order: order ?? Number.NEGATIVE_INFINITY,
      epoch: this.#epoch,
      orderEpoch: this.#epoch,
    };
    // A later positive answer has arrived.
    if (lookup.isSuperseded) return this.withinTtl(key) ?? positive;
    for (const other of this.#lookups.get(key) ?? []) {
      if (other.requestNumber < lookup.requestNumber) other.isSuperseded = true;
    }
    this.#negative.delete(key);
    this.#positive.set(key, positive);
    if (!sharedTier || order === undefined) return positive;
    // JSON would lose which fields could not be read.
    const outcome = hasUnreadable(positive.value)
      ? 'not shared'
      : await sharedTier.share(this.#subject(key), value, { spelling, at, order });
    if (outcome !== 'shared') {
      // Another process can have a later answer.
      const { answer, order: now } = await sharedTier.read(this.#subject(key));
      if (answer) this.#adopt(lookup, answer);
      const isNegative = answer && !isPositive(answer) && answer.order > order;
      // A later one that cannot be read any more counts as negative.
      if (isNegative || (outcome === 'lost' && now === undefined)) {
        if (this.#positive.peek(key) === positive) this.#positive.delete(key);
        return undefined;
      }
    }
    if (lookup.isOutdated) return undefined;
    // A fresh lookup cannot be given what was read: where clocks give the order, it can be from before the call.
    return (!lookup.isFresh && this.withinTtl(key)) || positive;
  }

  /** Caches the answer of another process. `undefined`: it cannot be served. */
  #adopt({ key, spelling }: Lookup<Answer<T>>, found: SharedAnswer): Answer<T> | undefined {
    const { clock, limits, freeze, isShape, sharedTier, onAdopted } = this.#parts;
    const cached = this.#positive.peek(key);
    // The cached answer comes back: our clock knows its age better than the row, when the shared cache's clock was set back.
    const isSame = cached?.order === found.order && cached.orderEpoch === this.#epoch;
    const age = isSame ? Math.max(this.#ageOf(cached), found.age) : found.age;
    const at = clock() - age;
    if (!isPositive(found)) {
      // The cached answer was requested later, and will replace the row.
      if (this.#isLater(cached, found.order, at)) return undefined;
      // In-flight lookups go on: their orders are compared when they share their answers.
      this.#positive.delete(key);
      this.#negative.delete(key);
      if (found.value === undefined || found.spelling !== spelling) return undefined;
      if (found.age >= limits.invalidTtl) return undefined;
      const negative: Negative = { value: null, at, spelling };
      this.#negative.set(key, negative);
      return negative;
    }
    if (!found.isOwnVersion && !isShape(found.value)) {
      sharedTier?.reportUnreadableRow();
      return undefined;
    }
    const isWithinTtl = age < limits.ttl;
    const isEarlier = cached?.orderEpoch === this.#epoch && cached.order > found.order;
    const isYounger = !cached || cached.at < at;
    // The younger one is kept for an outage, also when it is stale.
    if (!isEarlier && (isYounger || (isWithinTtl && cached.epoch !== this.#epoch))) {
      this.#negative.delete(key);
      this.#positive.set(key, {
        value: freeze(found.value as T),
        at,
        spelling: found.spelling,
        order: found.order,
        // A stale answer takes the epoch of the one that it replaces. Without one it gets an earlier epoch, so that
        // only `staleIfError` serves it.
        epoch: isWithinTtl ? this.#epoch : (cached?.epoch ?? this.#epoch - 1),
        orderEpoch: this.#epoch,
      });
    }
    if (!isWithinTtl) return undefined;
    onAdopted?.(key);
    return this.#positive.peek(key);
  }

  /**
   * Whether an answer was requested after an invalidation. After missed messages, the order alone does not
   * say so: the shared cache can be one with another clock.
   */
  #isLater(positive: Positive<T> | undefined, order: number, at: number): boolean {
    if (positive === undefined || positive.order <= order) return false;
    return positive.orderEpoch === this.#epoch || positive.at > at;
  }

  /** Forgets a key, and outdates its in-flight lookups with a request before number `before`. */
  #forget(key: string, before?: number): void {
    this.#positive.delete(key);
    this.#negative.delete(key);
    this.#outdate(key, before);
  }

  /**
   * Keeps answers to the requests before number `before`, by default to all, from being cached or served. A
   * lookup that has sent none yet goes on.
   */
  #outdate(key: string, before = Number.POSITIVE_INFINITY): void {
    for (const lookup of this.#lookups.get(key) ?? []) {
      if (lookup.requestNumber < before) lookup.isOutdated = true;
    }
  }

  /** Forgets all negative answers, and outdates all in-flight lookups. */
  #forgetNegatives(): void {
    this.#negative.clear();
    for (const key of this.#lookups.keys()) this.#outdate(key);
  }

  #refresh(key: string, spelling: string): void {
    if (this.#refreshes >= MAX_REFRESHES || this.#joinable(key, spelling)) return;
    this.#refreshes++;
    const end = () => void this.#refreshes--;
    this.#start(key, spelling, false).join().then(end, end);
  }

  #subject(key: string): string {
    return `${this.#parts.what} ${key}`;
  }

  #ageOf({ at }: Answer<T>): number {
    return this.#parts.clock() - at;
  }

  #report(served: Pick<LookupMessage, 'source' | 'outcome'>, error?: unknown): void {
    if (!lookupChannel.hasSubscribers) return;
    const code = isMarketgateError(error) && { code: error.code };
    lookupChannel.publish({ what: this.#parts.what, ...served, ...code } satisfies LookupMessage);
  }
}

const outcomeOf = ({ value }: Answer<unknown>): 'positive' | 'negative' =>
  value === null ? 'negative' : 'positive';
