import { LRUCache } from 'lru-cache';
import { type LookupMessage, lookupChannel } from '../diagnostics.js';
import { isMarketgateError, MarketgateError } from '../errors.js';
import { hasUnreadable } from '../model/fields.js';
import { InFlight } from './in-flight.js';
import type { CacheLimits } from './options.js';
import type { SharedAnswer } from './shared-row.js';
import type { SharedTier, Tombstone } from './shared-tier.js';

/** Background refreshes at once, in each cache: more would be a storm on a service that comes back. */
const MOST_REFRESHES = 16;
/** How often a question is asked again because its answer was withdrawn before it arrived. */
const MOST_ROUNDS = 3;

/** What a question came to. */
export interface Answer<T> {
  /** `null`: the service said no. */
  readonly value: T | null;
  /** When the service was asked, in milliseconds of a clock that never goes back. */
  readonly at: number;
}

/** An answer that is not *no*, as it is cached. */
export interface Positive<T> extends Answer<T> {
  readonly value: T;
  /** The spelling of the key that the service was asked with. */
  readonly variant: string;
  /** Its place in the order of the shared tier; minus infinity where that is not known. */
  readonly order: number;
  /** Messages were missed since, unless this is the cache's own epoch: then it must be asked. */
  epoch: number;
}

/** An answer of *no*: for one spelling of the key, because services may tell letter cases apart. */
interface Negative {
  readonly value: null;
  readonly at: number;
  readonly variant: string;
}

/** How the service is asked. */
export interface RequestOptions {
  /** Ends the request: its last caller has left, or the client was closed. */
  readonly signal: AbortSignal;
  /** Whether a negative answer would withdraw a positive one. */
  readonly isGrave: boolean;
  /** Milliseconds of the call's time that have elapsed. */
  readonly elapsed: number;
}

/** How one lookup wants its answer. */
export interface LookupOptions {
  /** Ends the caller's waiting. */
  signal?: AbortSignal | undefined;
  /** Ask the service, whatever is cached. */
  fresh?: boolean | undefined;
  /** Called when the answer came from another process. */
  onShared?: (() => void) | undefined;
}

/** What a {@link Cache} is made of. */
export interface CacheParts<T> {
  /** The kind of question, as in `marketgate:lookup`. */
  readonly what: LookupMessage['what'];
  readonly limits: CacheLimits;
  /** Milliseconds; never goes back. */
  readonly clock: () => number;
  /** Asks the service. */
  readonly request: (variant: string, options: RequestOptions) => Promise<T | null>;
  /** Makes an answer what all callers can share: frozen. May get what it has made before. */
  readonly freeze: (value: T, key: string) => T;
  /** Whether a value out of the shared tier can be served. */
  readonly isShape: (value: unknown) => boolean;
  readonly shared: SharedTier | undefined;
  /** Called with the key of a positive answer that came from another process. */
  readonly onShared?: (key: string) => void;
}

type Flight<T> = InFlight<Outcome<T>>;
type Source = LookupMessage['source'];

interface Outcome<T> {
  readonly answer: Answer<T>;
  readonly source: Source;
}

/**
 * A stale-while-revalidate cache of the service's answers to one kind of question, with an optional
 * tier that the processes of a fleet share. An answer goes through these ages:
 *
 * - until `ttl`: served;
 * - until `ttl + staleWhileRevalidate`: served, and refreshed in the background;
 * - after that: awaited. If the service cannot answer, the last positive answer is served until
 *   `staleIfError`.
 *
 * A negative answer is served until `invalidTtl`, from a space of its own, and withdraws a positive one
 * at once: a tombstone keeps whatever was asked for before it from coming back, for as long as
 * that could have been served. A failure is never cached.
 */
export class Cache<T extends object> {
  readonly #parts: CacheParts<T>;
  readonly #staleFor: number;
  readonly #positive: LRUCache<string, Positive<T>>;
  readonly #negative: LRUCache<string, Negative>;
  readonly #tombstones: LRUCache<string, { readonly tombstone: Tombstone; readonly until: number }>;
  readonly #inFlight = new Map<string, Flight<T>>();
  /** Every request under way, also those that nobody joins any more; by key. */
  readonly #requests = new Map<string, Set<Flight<T>>>();
  readonly #closing = new AbortController();
  #epoch = 0;
  /** Counts the questions of this process: their order. */
  #asked = 0;
  #refreshes = 0;

  constructor(parts: CacheParts<T>) {
    const { max, maxInvalid, staleIfError, staleWhileRevalidate } = parts.limits;
    this.#parts = parts;
    // Nothing is served that is older than it may be while the service cannot answer.
    this.#staleFor = Math.min(staleWhileRevalidate, staleIfError);
    this.#positive = new LRUCache({ max });
    this.#negative = new LRUCache({ max: maxInvalid });
    this.#tombstones = new LRUCache({ max });
  }

  /**
   * What can be served at once; `undefined`: the service must be asked. Starts a refresh where one is
   * due. Nothing is awaited, copied or hashed here: nearly every request ends here.
   */
  peek(key: string, variant = key): Answer<T> | undefined {
    const found = this.#look(key, variant);
    return found && lookupChannel.hasSubscribers ? this.served(found) : found;
  }

  #look(key: string, variant: string): Answer<T> | undefined {
    const positive = this.#positive.get(key);
    if (positive !== undefined) {
      const { limits, clock } = this.#parts;
      const age = clock() - positive.at;
      if (positive.epoch !== this.#epoch || age >= limits.ttl + this.#staleFor) return undefined;
      if (age >= limits.ttl) this.#refresh(key, variant);
      return positive;
    }
    const negative = this.#negative.get(key);
    if (negative === undefined || negative.variant !== variant) return undefined;
    const age = this.#parts.clock() - negative.at;
    return age < this.#parts.limits.invalidTtl ? negative : undefined;
  }

  /** A positive answer that is younger than `ttl`; starts no refresh. */
  fresh(key: string): Positive<T> | undefined {
    const positive = this.#positive.get(key);
    return positive?.epoch === this.#epoch && this.#ageOf(positive) < this.#parts.limits.ttl
      ? positive
      : undefined;
  }

  /** The last positive answer, served or not. */
  last(key: string): Positive<T> | undefined {
    return this.#positive.peek(key);
  }

  /** When the answer that is cached, served or not, was asked for. */
  lastAsked(key: string): number | undefined {
    return (this.#positive.peek(key) ?? this.#negative.peek(key))?.at;
  }

  /** Reports that a cached answer was served. */
  served(answer: Answer<T>): Answer<T> {
    const isStale = answer.value !== null && this.#ageOf(answer) >= this.#parts.limits.ttl;
    this.#report(isStale ? 'stale' : 'cache', answer);
    return answer;
  }

  /** Reports that an old positive answer was served, for want of a new one. */
  servedStale(answer: Answer<T>): void {
    this.#report('last-resort', answer);
  }

  /** The answer, from here or from the service. */
  async get(key: string, options: LookupOptions, variant = key): Promise<T | null> {
    const { signal, fresh = false } = options;
    signal?.throwIfAborted();
    const cached = fresh ? undefined : this.peek(key, variant);
    if (cached !== undefined) return cached.value;
    // A caller that passes `fresh` must not get what was asked for before; all others join it.
    const joined = fresh ? undefined : this.#joinable(key, variant);
    try {
      const { answer, source } = await (joined ?? this.#start(key, variant, fresh)).join(signal);
      if (source === 'shared') options.onShared?.();
      return answer.value;
    } catch (error) {
      const stale = fresh || signal?.aborted ? undefined : this.staleIfError(key, error);
      if (stale === undefined) throw error;
      this.servedStale(stale);
      return stale.value;
    }
  }

  /** The last positive answer, if this error says that the service could not answer, and it is young enough. */
  staleIfError(key: string, error: unknown): Positive<T> | undefined {
    if (!isMarketgateError(error) || error.status < 500) return undefined;
    const positive = this.#positive.peek(key);
    return positive !== undefined && this.#ageOf(positive) < this.#parts.limits.staleIfError
      ? positive
      : undefined;
  }

  /** Forgets one key in every process. Rejects with `store_unavailable` when the others cannot be told. */
  async invalidate(key: string): Promise<void> {
    const tombstone = this.#withdraw(key);
    await this.#parts.shared?.invalidate(this.#subject(key), tombstone);
  }

  /** Forgets one key in this process. */
  forget(key: string): void {
    this.#forget(key);
  }

  /** Another process has withdrawn a key. */
  invalidated(key: string, tombstone: Tombstone, isStored: boolean): void {
    const positive = this.#positive.peek(key);
    const isKnown = positive !== undefined || this.#requests.has(key);
    // What is asked for is later than the message, and so is an answer of a later order.
    if (positive !== undefined && positive.order > tombstone.order) return;
    this.#forget(key);
    // Where the shared tier itself knows, only what is here or on its way could come back.
    if (isKnown || !isStored) this.#bury(key, tombstone);
  }

  /** Forgets everything that was asked for until then, also what is on its way. */
  clear(until = Number.POSITIVE_INFINITY): void {
    for (const [key, { at }] of this.#positive.entries()) {
      if (at <= until) this.#positive.delete(key);
    }
    this.#negative.clear();
    for (const key of this.#requests.keys()) this.#outdate(key);
  }

  /** Messages were missed: what is here may be served only while the service cannot answer. */
  missed(): void {
    this.#epoch++;
    this.#negative.clear();
    for (const key of this.#requests.keys()) this.#outdate(key);
  }

  /** Ends all requests, and starts no more. */
  close(): void {
    this.#refreshes = Number.POSITIVE_INFINITY;
    const closed = new MarketgateError('service_unavailable', 'KeyApi: this client was closed');
    this.#closing.abort(closed);
    for (const flights of [...this.#requests.values()]) {
      for (const flight of [...flights]) flight.abort(closed);
    }
  }

  #joinable(key: string, variant: string): Flight<T> | undefined {
    const flight = this.#inFlight.get(flightKey(key, variant));
    return flight?.isAborted || flight?.isOutdated ? undefined : flight;
  }

  #start(key: string, variant: string, isFresh: boolean): Flight<T> {
    const flight: Flight<T> = new InFlight((signal, self) =>
      // In a turn of its own, so that the request can be found by its flight.
      Promise.resolve().then(() => this.#answer(key, variant, isFresh, signal, self)),
    );
    const name = flightKey(key, variant);
    this.#inFlight.set(name, flight);
    const flights = this.#requests.get(key) ?? new Set();
    this.#requests.set(key, flights.add(flight));
    void flight.ended.then(() => {
      if (this.#inFlight.get(name) === flight) this.#inFlight.delete(name);
      flights.delete(flight);
      if (flights.size === 0 && this.#requests.get(key) === flights) this.#requests.delete(key);
    });
    return flight;
  }

  /** Asks until there is an answer that was not withdrawn while it was on its way. */
  async #answer(
    key: string,
    variant: string,
    isFresh: boolean,
    signal: AbortSignal,
    flight: Flight<T>,
  ): Promise<Outcome<T>> {
    const trace: { source: Source } = { source: this.#parts.shared ? 'shared' : 'service' };
    try {
      for (let round = 1; ; round++) {
        flight.isOutdated = false;
        flight.asked = Number.POSITIVE_INFINITY;
        // Perhaps a later question was answered first.
        const later = round > 1 ? this.peek(key, variant) : undefined;
        if (later !== undefined) return { answer: later, source: 'service' };
        const answer = this.#parts.shared
          ? await this.#askFleet(key, variant, isFresh, signal, flight, trace, this.#parts.shared)
          : await this.#askService(key, variant, signal, flight, trace, 0, undefined);
        if (answer !== undefined) {
          this.#report(trace.source, answer);
          return { answer, source: trace.source };
        }
        // Withdrawn again and again: nobody can say whether it is valid.
        if (round === MOST_ROUNDS) {
          throw new MarketgateError(
            'service_unavailable',
            'KeyApi: each answer was invalidated before it arrived',
          );
        }
      }
    } catch (error) {
      this.#reportFailure(trace.source, error);
      throw error;
    }
  }

  async #askFleet(
    key: string,
    variant: string,
    isFresh: boolean,
    signal: AbortSignal,
    flight: Flight<T>,
    trace: { source: Source },
    shared: SharedTier,
  ): Promise<Answer<T> | undefined> {
    const begun = performance.now();
    const subject = this.#subject(key);
    let adopted: Answer<T> | undefined;
    const isServable = (found: SharedAnswer): boolean => {
      adopted = this.#adopt(key, variant, found);
      return adopted !== undefined;
    };
    const { order, release } = isFresh
      ? await shared.read(subject)
      : await shared.find(subject, isServable, () => !signal.aborted);
    if (adopted !== undefined) {
      trace.source = 'shared';
      return flight.isOutdated ? undefined : adopted;
    }
    try {
      signal.throwIfAborted();
      const elapsed = performance.now() - begun;
      return await this.#askService(key, variant, signal, flight, trace, elapsed, order);
    } finally {
      release();
    }
  }

  /** `undefined`: the answer was withdrawn while it was on its way. */
  async #askService(
    key: string,
    variant: string,
    signal: AbortSignal,
    flight: Flight<T>,
    trace: { source: Source },
    elapsed: number,
    order: number | undefined,
  ): Promise<Answer<T> | undefined> {
    trace.source = 'service';
    const { request, clock, freeze, shared } = this.#parts;
    const at = clock();
    flight.asked = ++this.#asked;
    const known = this.#positive.peek(key);
    // The spelling that the service knows: its no to another one says nothing about the purchase.
    const asked = known?.variant ?? variant;
    const isGrave = known !== undefined;
    const value = await request(asked, { signal, isGrave, elapsed });
    if (flight.isOutdated) return undefined;
    if (value === null) {
      const tombstone = this.#withdraw(key, flight.asked);
      this.#negative.set(key, { value: null, at, variant: asked });
      await shared?.withdraw(this.#subject(key), tombstone, { variant: asked, at, order });
      return { value, at };
    }
    const positive: Positive<T> = {
      value: freeze(value, key),
      at,
      variant: asked,
      order: order ?? Number.NEGATIVE_INFINITY,
      epoch: this.#epoch,
    };
    this.#outdate(key, flight.asked);
    this.#negative.delete(key);
    this.#tombstones.delete(key);
    this.#positive.set(key, positive);
    if (shared === undefined || order === undefined || hasUnreadable(positive.value))
      return positive;
    const kept = await shared.share(this.#subject(key), value, { variant: asked, at, order });
    if (kept === 'lost' && this.#positive.peek(key) === positive) this.#positive.delete(key);
    return kept === 'lost' ? undefined : positive;
  }

  /** Takes over what another process was answered; `undefined`: it cannot be served. */
  #adopt(key: string, variant: string, found: SharedAnswer): Answer<T> | undefined {
    const { clock, limits, freeze, isShape, shared, onShared } = this.#parts;
    const own = this.#positive.peek(key);
    const at = clock() - found.age;
    if (found.value === null || found.value === undefined) {
      // What is here was asked for later, and the row will be replaced by it.
      if (own !== undefined && own.order > found.order) return undefined;
      // What is on its way is compared when it is shared.
      this.#positive.delete(key);
      this.#negative.delete(key);
      if (found.value === undefined || found.variant !== variant) return undefined;
      if (found.age >= limits.invalidTtl) return undefined;
      const negative: Negative = { value: null, at, variant };
      this.#negative.set(key, negative);
      return negative;
    }
    if (this.#isBuried(key, found.order)) return undefined;
    if (!isShape(found.value)) {
      shared?.reportUnreadable();
      return undefined;
    }
    const isFresh = found.age < limits.ttl;
    // The younger one serves while the service cannot answer.
    if (own === undefined || own.at < at || (isFresh && own.epoch !== this.#epoch)) {
      const positive: Positive<T> = {
        value: freeze(found.value as T, key),
        at,
        variant: found.variant,
        order: found.order,
        epoch: isFresh ? this.#epoch : (own?.epoch ?? this.#epoch - 1),
      };
      this.#negative.delete(key);
      this.#positive.set(key, positive);
    }
    if (!isFresh) return undefined;
    onShared?.(key);
    return this.#positive.peek(key);
  }

  /** Withdraws what is here, and all that is on its way. */
  #withdraw(key: string, before?: number): Tombstone {
    const tombstone: Tombstone = { order: Number.POSITIVE_INFINITY };
    const isKnown = this.#positive.peek(key) !== undefined || this.#requests.has(key);
    this.#forget(key, before);
    if (this.#parts.shared !== undefined && isKnown) this.#bury(key, tombstone);
    return tombstone;
  }

  #forget(key: string, before?: number): void {
    this.#positive.delete(key);
    this.#negative.delete(key);
    this.#outdate(key, before);
  }

  #bury(key: string, tombstone: Tombstone): void {
    const { ttl, staleIfError } = this.#parts.limits;
    const until = this.#parts.clock() + Math.max(ttl + this.#staleFor, staleIfError);
    this.#tombstones.set(key, { tombstone, until });
  }

  /** Whether an answer of this order was withdrawn. */
  #isBuried(key: string, order: number): boolean {
    const buried = this.#tombstones.peek(key);
    if (buried === undefined) return false;
    return order <= buried.tombstone.order && this.#parts.clock() < buried.until;
  }

  /** Makes the answers that are on their way, and were asked for earlier, unfit to be cached or served. */
  #outdate(key: string, before = Number.POSITIVE_INFINITY): void {
    for (const flight of this.#requests.get(key) ?? []) {
      if (flight.asked < before) flight.isOutdated = true;
    }
  }

  #subject(key: string): string {
    return `${this.#parts.what} ${key}`;
  }

  #ageOf({ at }: Answer<T>): number {
    return this.#parts.clock() - at;
  }

  #refresh(key: string, variant: string): void {
    if (this.#refreshes >= MOST_REFRESHES || this.#joinable(key, variant)) return;
    this.#refreshes++;
    const done = (): void => {
      this.#refreshes--;
    };
    this.#start(key, variant, false).join(this.#closing.signal).then(done, done);
  }

  #report(source: Source, { value }: Answer<T>): void {
    if (!lookupChannel.hasSubscribers) return;
    const outcome = value === null ? 'no' : 'yes';
    const message: LookupMessage = { what: this.#parts.what, source, outcome };
    lookupChannel.publish(message);
  }

  #reportFailure(source: Source, error: unknown): void {
    if (!lookupChannel.hasSubscribers) return;
    const code = isMarketgateError(error) ? { code: error.code } : {};
    const message: LookupMessage = { what: this.#parts.what, source, outcome: 'failed', ...code };
    lookupChannel.publish(message);
  }
}

/** Callers that ask about one spelling of a key join one request. */
const flightKey = (key: string, variant: string): string =>
  key === variant ? key : `${key}\n${variant}`;
