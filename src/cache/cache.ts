import type { LRUCache } from 'lru-cache';
import { checkSignal, wait } from '../deadline.js';
import { type LookupMessage, lookupChannel } from '../diagnostics.js';
import { isMarketgateError, MarketgateError } from '../errors.js';
import { isOwnLack } from '../http/failure.js';
import { latest } from '../latest.js';
import { type AppId, flag } from '../options.js';
import { InFlight } from './in-flight.js';
import type { CacheLimits } from './options.js';
import { ALL, type Orders } from './orders.js';
import type { Content, Found, SharedTier } from './shared-tier.js';

/** How many times a lookup asks when each answer is invalidated before it arrives. */
const MAX_ROUNDS = 3;
/** How long to wait before looking again for the answer of another process, in milliseconds. */
const POLL = 25;
/** Milliseconds after a failed request that nobody was counted for, until the next one. */
const PAUSE = 10_000;

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
  /** What was asked for. Its refresh asks for that too, whatever the spelling of the call that causes it. */
  readonly spelling: string;
  /** When its last refresh has failed, by the cache's clock. */
  failedAt?: number;
  /** The shared tier's epoch in which it was last known to be valid. In a later one, the shared tier is asked first. */
  validIn: number;
}

/** A negative answer. It is about one spelling of the key, because a service can distinguish letter cases. */
interface Negative extends Answer<never> {
  readonly value: null;
  readonly order: number;
  readonly spelling: string;
}

/** Options of one call. */
export interface CallOptions {
  /**
   * Ends this call when aborted; it rejects with the signal's reason. Calls that share the request go on. A cached answer
   * is served all the same.
   */
  signal?: AbortSignal | undefined;
  /** Asks the service even if the answer is cached, and caches the new answer. Default false. */
  fresh?: boolean | undefined;
}

/** Options of a call that a visitor can cause. */
export interface VisitorCallOptions extends CallOptions {
  /**
   * Who is counted by the option `guessLimit`, if the service is asked and its answer is no: an address, or the id of a
   * user. An IPv6 address counts with its whole /56. Default: nobody.
   */
  client?: AppId;
}

/** Options of one request to the service. */
export interface RequestOptions {
  /** Ends the request: its last caller has left, or the client was closed. */
  readonly signal: AbortSignal;
  /** Whether a positive answer is known, which a negative one would invalidate. */
  readonly hadPositive: boolean;
  /** Milliseconds of the call that have elapsed. */
  readonly elapsed: number;
  /** Whether a caller has passed `fresh`. */
  readonly isFresh: boolean;
  /** Whether it renews an answer that is served meanwhile. */
  readonly isRefresh: boolean;
  /** Who has caused it. */
  readonly client: AppId;
  /** Must be called right before each request to the service. */
  readonly onSend: () => void;
}

/** Why a lookup begins. */
type Cause = Pick<RequestOptions, 'isFresh' | 'isRefresh' | 'client'>;

/** A lookup that has begun and has no answer yet; callers join it. */
class Lookup<T> extends InFlight<Answer<T>> {
  readonly begunAt = performance.now();
  /** Whether the service was asked. */
  isAsked = false;
  /** Where it is looking, and so where its answer or failure comes from. */
  source: LookupMessage['source'] = 'service';
  /** The place of its request to the service, in the order of requests. */
  order = Number.POSITIVE_INFINITY;
  /** Releases its lock in the shared tier. */
  release?: () => void;

  /** @param key - the spelling in lower case. @param subject - what invalidations call it. */
  constructor(
    readonly spelling: string,
    readonly key: string,
    readonly subject: string,
    readonly cause: Cause,
    ...inFlight: ConstructorParameters<typeof InFlight<Answer<T>>>
  ) {
    super(...inFlight);
  }
}

export interface CacheParts<T> {
  /** The kind of answer, as in `marketgate:lookup`. */
  readonly what: LookupMessage['what'];
  readonly limits: CacheLimits;
  /** Milliseconds, for durations. */
  readonly clock: () => number;
  readonly request: (spelling: string, options: RequestOptions) => Promise<T | null>;
  /** Makes of an answer what callers share. */
  readonly freeze: (value: T) => T;
  /** Throws where a request would not be sent, so that such a refusal costs no lookup. */
  readonly check: () => void;
  /** The same for a client that may not ask. */
  readonly checkClient?: (client: AppId) => void;
  /** Whether nobody is counted for a request. Then one that has failed is not made again at once. */
  readonly isUncounted?: boolean;
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
  /** The last request that has failed, if nobody was counted for it. */
  #failure: { readonly error: unknown; readonly at: number } | undefined;

  constructor(private readonly parts: CacheParts<T>) {
    const { max, maxInvalid, staleIfError, staleWhileRevalidate } = parts.limits;
    // `staleIfError` limits how long a stale answer is served at all.
    this.#staleFor = Math.min(staleWhileRevalidate, staleIfError);
    this.#positive = latest(max);
    this.#negative = latest(maxInvalid);
    parts.orders.onInvalidated((subject, upTo) => this.#forget(subject, upTo));
  }

  /** What invalidations call a key: in lower case, whatever its spelling. */
  subject(spelling: string): string {
    return `${this.parts.what} ${spelling.toLowerCase()}`;
  }

  /**
   * A cached answer that can be served at once; `undefined`: a lookup is needed. Starts a refresh where one
   * is due. Awaits, copies and hashes nothing, because nearly every call ends here.
   * @param options of the call; read only if there is a refresh.
   */
  current(
    spelling: string,
    options: VisitorCallOptions = {},
    key = spelling.toLowerCase(),
  ): Answer<T> | undefined {
    const { limits } = this.parts;
    const positive = this.#positive.get(key);
    if (positive === undefined) return this.#currentNegative(spelling, key);
    const age = this.#ageOf(positive);
    if (this.#mustAsk(positive) || age >= limits.ttl + this.#staleFor) return undefined;
    if (age >= limits.ttl) this.#refresh(positive, options);
    return positive;
  }

  /** A positive answer that is younger than `ttl`. */
  withinTtl(key: string): Positive<T> | undefined {
    const positive = this.#positive.get(key);
    return positive && !this.#isStale(positive) && !this.#mustAsk(positive) ? positive : undefined;
  }

  #currentNegative(spelling: string, key: string): Negative | undefined {
    const negative = this.#negative.get(key);
    if (negative?.spelling !== spelling) return undefined;
    return this.#ageOf(negative) < this.parts.limits.invalidTtl ? negative : undefined;
  }

  /** The same as `withinTtl`, asked for where it is not cached; `undefined`: there is none to be had. */
  async upToDate(key: string, signal: AbortSignal): Promise<Positive<T> | undefined> {
    const known = this.withinTtl(key);
    if (known !== undefined || this.#currentNegative(key, key)) return known;
    try {
      const lookup = this.#joinable(key) ?? this.#start(key, key, this.#causeOf(false, {}));
      const answer = await lookup.join(signal);
      return answer.value === null ? undefined : (answer as Positive<T>);
    } catch {
      return undefined;
    }
  }

  /** Renews an answer: once for all spellings, and not soon after that has failed. */
  #refresh(positive: Positive<T>, { client }: VisitorCallOptions): void {
    const { spelling, failedAt } = positive;
    if (failedAt !== undefined && this.parts.clock() - failedAt < PAUSE) return;
    if (this.#joinable(spelling) !== undefined) return;
    const cause = { isFresh: false, isRefresh: true, client };
    const lookup = this.#start(spelling, spelling.toLowerCase(), cause);
    lookup.join().catch(() => {
      positive.failedAt = this.parts.clock();
    });
  }

  /** Whether an answer about a key was requested after this order. */
  isAskedSince(key: string, order: number): boolean {
    const positive = this.#positive.peek(key);
    const isInvalid = this.parts.orders.isInvalid(this.subject(key), order);
    return (positive && positive.order > order) || isInvalid;
  }

  /** Reports that a cached answer is served. @param isFailed whether the service was asked, and could not answer. */
  served<A extends Answer<T>>(answer: A, isFailed = false): A {
    if (lookupChannel.hasSubscribers) {
      const isStale = answer.value !== null && this.#isStale(answer);
      this.#report(isFailed ? 'stale-if-error' : isStale ? 'stale' : 'cache', answer);
    }
    return answer;
  }

  /** @param options read no sooner than they are needed: a guard makes the signal and the client only for a lookup. */
  async get(spelling: string, options: VisitorCallOptions): Promise<T | null> {
    const isFresh = flag('KeyApi', 'fresh', options.fresh);
    const key = spelling.toLowerCase();
    const cached = isFresh ? undefined : this.current(spelling, options, key);
    if (cached !== undefined) return this.served(cached).value;
    let signal: AbortSignal | undefined;
    for (;;) {
      // A caller that passes `fresh` must not get an answer that was requested earlier.
      const joined = isFresh ? undefined : this.#joinable(spelling);
      try {
        const { cause } = joined ?? { cause: this.#causeOf(isFresh, options) };
        signal ??= options.signal;
        if (signal !== undefined) checkSignal(signal);
        return (await (joined ?? this.#start(spelling, key, cause)).join(signal)).value;
      } catch (error) {
        // Of the client that began the lookup. Others are not refused for it.
        if (joined && isMarketgateError(error) && error.code === 'too_many_attempts') continue;
        const stale = isFresh ? undefined : this.staleIfError(key, error, signal);
        if (stale === undefined) throw error;
        return this.served(stale, true).value;
      }
    }
  }

  /** The last positive answer until `staleIfError`, if this error of a call says that the service could not answer. */
  staleIfError(key: string, error: unknown, signal?: AbortSignal): Positive<T> | undefined {
    if (signal?.aborted || !isMarketgateError(error) || error.status < 500) return undefined;
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
    if (subject !== ALL) return;
    this.#negative.clear();
    this.#failure = undefined;
  }

  /** Whether messages can have been missed since the answer was known to be valid, or are for certain. */
  #mustAsk(positive: Positive<T>): boolean {
    const { sharedTier } = this.parts;
    if (!sharedTier?.hasMissedSince(positive.validIn)) return false;
    return !sharedTier.isResting || this.#isOutdated(positive);
  }

  /** Whether a connection was lost since then, and came back. */
  #isOutdated({ validIn }: Positive<T>): boolean {
    const { sharedTier } = this.parts;
    return sharedTier !== undefined && validIn !== sharedTier.epoch;
  }

  /** The newest lookup of this spelling, unless it was aborted or its answer will not be served. */
  #joinable(spelling: string): Lookup<T> | undefined {
    const lookup = this.#lookups.get(spelling);
    if (lookup === undefined || lookup.signal.aborted) return undefined;
    return this.parts.orders.isInvalid(lookup.subject, lookup.order) ? undefined : lookup;
  }

  /** Why a lookup begins. Throws where it is known already that it would not ask the service. */
  #causeOf(isFresh: boolean, options: VisitorCallOptions): Cause {
    const { check, checkClient, clock, sharedTier } = this.parts;
    const failure = this.#failure;
    if (failure && !isFresh && clock() - failure.at < PAUSE) throw failure.error;
    // The shared cache can have the answer.
    const isAlone = sharedTier === undefined || sharedTier.isResting;
    if (isAlone) check();
    // Read once, and not where the service is asked nothing: a guard works it out.
    const { client } = options;
    if (isAlone) checkClient?.(client);
    return { isFresh, isRefresh: false, client };
  }

  #start(spelling: string, key: string, cause: Cause): Lookup<T> {
    const onEnd = (): void => {
      if (this.#lookups.get(spelling) === lookup) this.#lookups.delete(spelling);
    };
    const answer = () => this.#answer(lookup);
    const subject = this.subject(key);
    const lookup: Lookup<T> = new Lookup(spelling, key, subject, cause, answer, onEnd);
    this.#lookups.set(spelling, lookup);
    return lookup;
  }

  /** The answer of a lookup. It asks again while an answer is invalidated before it arrives. */
  async #answer(lookup: Lookup<T>): Promise<Answer<T>> {
    const { subject, key } = lookup;
    const { isFresh } = lookup.cause;
    const { sharedTier } = this.parts;
    if (sharedTier) lookup.source = 'shared';
    try {
      for (let round = 0; round < MAX_ROUNDS; ) {
        // What the other processes have. If it cannot be read, what this one has got meanwhile.
        const found = await sharedTier?.read(subject);
        const own = found ? undefined : this.#positive.get(key);
        const current = own && !this.#isStale(own) && !this.#isOutdated(own) ? own : undefined;
        const known = found ? this.#adopt(lookup, found) : current;
        if (known && !isFresh) {
          if (!found) lookup.source = 'cache';
          return this.#report(lookup.source, known);
        }
        // One process asks, and the others wait for what it shares.
        if (found && !isFresh && (await this.#hasToLookAgain(lookup))) continue;
        round++;
        const answer = await this.#request(lookup, found);
        if (answer === undefined) continue;
        this.#failure = undefined;
        return this.#report(lookup.source, answer);
      }
      throw new MarketgateError(
        'service_unavailable',
        'KeyApi: each answer was invalidated before it arrived; try again',
      );
    } catch (error) {
      this.#report(lookup.source, undefined, error);
      const hasFailed = lookup.isAsked && !lookup.signal.aborted && !isOwnLack(error);
      if (hasFailed && this.parts.isUncounted) this.#failure = { error, at: this.parts.clock() };
      throw error;
    } finally {
      lookup.release?.();
    }
  }

  /** Takes the lock of a lookup, or waits a moment while another process has it. */
  async #hasToLookAgain(lookup: Lookup<T>): Promise<boolean> {
    const { sharedTier } = this.parts;
    if (sharedTier === undefined || lookup.release) return false;
    const lock = await sharedTier.lock(lookup.subject);
    const isTimeLeft = performance.now() - lookup.begunAt < sharedTier.longestWait;
    // The process that had the lock can have shared its answer in between.
    if (lock) lookup.release = lock;
    else if (lock === false && isTimeLeft && !lookup.signal.aborted) await wait(POLL);
    else return false;
    return true;
  }

  /** Asks the service, keeps its answer and shares it. `undefined`: it was invalidated before it arrived. */
  async #request(lookup: Lookup<T>, found: Found | undefined): Promise<Answer<T> | undefined> {
    const { what, request, orders, clock, sharedTier } = this.parts;
    const { spelling, key, subject } = lookup;
    const hadPositive = this.#positive.has(key) || found?.hadPositive === true;
    const asked = orders.next();
    let sent = asked;
    const at = clock();
    const epoch = sharedTier?.epoch ?? 0;
    const elapsed = performance.now() - lookup.begunAt;
    lookup.source = 'service';
    lookup.order = asked;
    const onSend = (): void => {
      lookup.isAsked = true;
      sent = orders.next();
    };
    const options = { signal: lookup.signal, hadPositive, elapsed, onSend, ...lookup.cause };
    const value = await request(spelling, options);
    // In doubt the negative answer is the later one. So it is ordered by the last of several attempts, and by the latest
    // time that the shared cache's clock can have had then.
    const order = value === null ? sent + (found?.lag ?? 0) : asked;
    // Another lookup has asked later, and its answer counts, unless a message that invalidates it can have been missed.
    const later = this.#positive.peek(key);
    if (later !== undefined && later.order > order) {
      return this.#mustAsk(later) ? undefined : later;
    }
    const isInvalid = orders.isInvalid(subject, order);
    let answer: Positive<T> | Negative;
    if (value === null) {
      const negative = { value, at, order, spelling };
      // Whoever has asked gets it, and whoever comes next asks again.
      if (isInvalid) return negative;
      answer = this.#keepNegative(lookup, negative);
    } else {
      if (isInvalid) return undefined;
      const frozen = this.parts.freeze(value);
      answer = this.#keepPositive(lookup, { value: frozen, at, order, spelling, validIn: epoch });
    }
    if (sharedTier === undefined) return answer;
    const isTombstone = value === null && hadPositive;
    const content = { value, spelling, isTombstone };
    // Nothing else opens a door.
    if (what === 'purchase') return this.#share(lookup, sharedTier, answer, content, epoch, found);
    if (found) await sharedTier.shareByTtl(subject, order, content, found);
    return answer;
  }

  /** Shares an answer about a code. @returns what is served. `undefined`: it was invalidated meanwhile. */
  async #share(
    lookup: Lookup<T>,
    sharedTier: SharedTier,
    answer: Positive<T> | Negative,
    content: Content,
    epoch: number,
    found: Found | undefined,
  ): Promise<Answer<T> | undefined> {
    const { key, subject } = lookup;
    const { value, order } = answer;
    const isLate = await sharedTier.share(subject, order, content, found);
    // Messages since the request was sent can have been missed. While the shared cache rests, to read it again would only
    // ask the app for its api_key once more.
    const hasMissed = !sharedTier.isResting && sharedTier.hasMissedSince(epoch);
    if (isLate || hasMissed) {
      const now = await sharedTier.read(subject);
      const known = now && this.#adopt(lookup, now);
      if (value === null) return known ?? answer;
      // A later answer is cached by now. Only the missed messages would tell whether this one was invalidated in between.
      if (hasMissed && this.#positive.peek(key) !== answer) return undefined;
    }
    return value !== null && this.parts.orders.isInvalid(subject, order) ? undefined : answer;
  }

  /** Caches what the shared tier has, unless a later answer is cached. @returns it, if the service need not be asked. */
  #adopt(lookup: Lookup<T>, { answer, epoch }: Found): Answer<T> | undefined {
    if (answer === undefined) return undefined;
    const { clock } = this.parts;
    const { spelling, key } = lookup;
    const { value, order, age } = answer;
    const at = clock() - age;
    const known = this.#positive.peek(key);
    const isLater = known !== undefined && known.order >= order;
    if (value === null) {
      if (isLater) return undefined;
      this.#keepNegative(lookup, { value, at, order, spelling: answer.spelling });
      return this.#currentNegative(spelling, key);
    }
    const asked = answer.spelling;
    const positive = isLater
      ? known
      : { value: this.parts.freeze(value as T), at, order, spelling: asked, validIn: epoch };
    positive.validIn = epoch;
    this.#keepPositive(lookup, positive);
    return this.#isStale(positive) ? undefined : positive;
  }

  #keepPositive({ key }: Lookup<T>, positive: Positive<T>): Positive<T> {
    this.#negative.delete(key);
    this.#positive.set(key, positive);
    return positive;
  }

  #keepNegative({ key, subject }: Lookup<T>, negative: Negative): Negative {
    this.parts.orders.invalidate(subject, negative.order);
    this.#negative.set(key, negative);
    return negative;
  }

  /** Whether a positive answer is past its `ttl`. */
  #isStale(positive: Answer<T>): boolean {
    return this.#ageOf(positive) >= this.parts.limits.ttl;
  }

  #ageOf({ at }: Answer<T>): number {
    return this.parts.clock() - at;
  }

  #report<A extends Answer<T> | undefined>(
    source: LookupMessage['source'],
    answer: A,
    error?: unknown,
  ): A {
    if (!lookupChannel.hasSubscribers) return answer;
    const outcome = answer ? (answer.value === null ? 'negative' : 'positive') : 'failed';
    const code = isMarketgateError(error) && { code: error.code };
    const { what } = this.parts;
    lookupChannel.publish({ what, source, outcome, ...code } satisfies LookupMessage);
    return answer;
  }
}
