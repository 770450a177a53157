import { checkSignal } from '../deadline.js';
import { failedFor, type LookupMessage, lookupChannel, warnOnce } from '../diagnostics.js';
import { isMarketgateError, MarketgateError } from '../errors.js';
import { failureOf } from '../http/failure.js';
import { lru } from '../lru.js';
import { type AppId, flag } from '../options.js';
import { InFlight } from './in-flight.js';
import type { CacheLimits } from './options.js';
import { ALL, type Row, type SharedTier } from './shared-tier.js';

/*
 * A lookup reads from top to bottom in `#find`: the own answer, the shared row, the service, keep, share.
 *
 * - **A refund.** The process that hears the no withdraws the code: it ends the code's lease in the shared cache, puts the no in
 *   place of the row, and publishes that. Whoever gets the message withdraws the code too: it removes its answer, and asks again
 *   where one arrives that was requested before. Whoever looks at the row first finds the no there.
 * - **An old yes cannot come back** while the shared cache answers, because an answer is stored only under the lease that was
 *   read before the service was asked. If that lease has ended, the lookup begins again, and finds the no. A process also
 *   remembers its own noes, and believes no row from before them, in case the no itself could not be stored.
 * - **A cut connection.** Messages were missed, so the row is asked before an answer is served that was learned on an earlier
 *   connection. If there is no row (the shared cache was emptied by a restart), the service is asked; if that cannot answer
 *   either, the old answer serves.
 * - **A shared cache that does not answer** is left alone for a second at a time. Meanwhile only the ages below count, as in a
 *   process without one.
 */

/** How many times a lookup asks when what it asks about is withdrawn each time before the answer arrives. */
const MAX_ROUNDS = 3;
/** Milliseconds after a refresh that has failed, until the next one. */
const PAUSE = 10_000;
/** Withdrawals by this process that are remembered. */
const MAX_WITHDRAWN = 10_000;

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
  /** Ends the request: its last caller has left. */
  readonly signal: AbortSignal;
  /** Who has caused it; absent for what the cache asks by itself. */
  readonly client: AppId;
  /** Whether a positive answer is cached here, which a negative one erases. */
  readonly hadPositive: boolean;
  /** Milliseconds of the call that have elapsed. */
  readonly elapsed: number;
}

export interface CacheParts<T> {
  /** The kind of answer, as in `marketgate:lookup`. */
  readonly what: LookupMessage['what'];
  readonly limits: CacheLimits;
  /** Milliseconds, for durations. */
  readonly clock: () => number;
  /** Asks the service. */
  readonly request: (spelling: string, options: RequestOptions) => Promise<T | null>;
  /** Why a request for this client would be refused, where that is known: such a refusal costs no lookup. */
  readonly refusal: (client: AppId) => MarketgateError | undefined;
  /** Makes of an answer what callers share. */
  readonly freeze: (value: T) => T;
  readonly shared: SharedTier | undefined;
}

/** An answer, and when it was requested by the cache's clock. `null`: a negative one. */
export interface Answer<T> {
  readonly value: T | null;
  readonly at: number;
}

/** A positive answer that is cached here. */
interface Entry<T> extends Answer<T> {
  readonly value: T;
  /** What was requested. The refresh requests that too, whatever the spelling of the call that causes it. */
  readonly spelling: string;
  /** The id of its row in the shared cache. */
  readonly id: string;
  /** The connection on which it was last known to be valid. */
  connection: number;
  /** When its last refresh has failed. */
  failedAt?: number;
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
 * A positive answer is about its key in any letter case. A negative one is about one spelling of it, because a service can
 * distinguish letter cases; it is served until `invalidTtl`, from a space of its own, and erases the positive one. A failure is
 * never cached.
 */
export class Cache<T extends object> {
  readonly #staleFor: number;
  /** How long an answer can be of use, from its request. */
  readonly #life: number;
  readonly #positive;
  readonly #negative;
  /** When this process last heard a no about a key, or the app invalidated it: older rows are not believed. */
  readonly #withdrawnAt = lru<string, number>(MAX_WITHDRAWN);
  #allWithdrawnAt = Number.NEGATIVE_INFINITY;
  /** What is in flight, by key, the newest last. */
  readonly #lookups = new Map<string, readonly Lookup<T>[]>();

  constructor(private readonly parts: CacheParts<T>) {
    const { what, shared, limits } = parts;
    const { max, maxInvalid, ttl, staleIfError, staleWhileRevalidate } = limits;
    // `staleIfError` limits how long a stale answer is served at all.
    this.#staleFor = Math.min(staleWhileRevalidate, staleIfError);
    this.#life = Math.max(ttl + this.#staleFor, staleIfError);
    this.#positive = lru<string, Entry<T>>(max);
    this.#negative = lru<string, Answer<T> & { readonly spelling: string }>(maxInvalid);
    shared?.onWithdrawn((subject) => {
      if (subject === ALL) this.invalidateAll();
      else if (subject.startsWith(`${what} `)) this.#withdraw(subject.slice(what.length + 1));
    });
  }

  /**
   * The cached answer or a new one.
   * @param options - of the call. The signal and the client are read only for a lookup, because a guard works them out.
   * @param mayBeStale - whether an answer past its `ttl` will do. @param elapsed - milliseconds of the call.
   */
  get(
    spelling: string,
    options: VisitorCallOptions = {},
    mayBeStale = true,
    elapsed = 0,
  ): Answer<T> | Promise<Answer<T>> {
    const isFresh = flag('KeyApi', 'fresh', options.fresh);
    const key = spelling.toLowerCase();
    const cached = isFresh ? undefined : this.#current(spelling, key, mayBeStale);
    if (cached === undefined)
      return this.#wait(spelling, key, options, isFresh, mayBeStale, elapsed);
    if (this.isStale(cached)) this.#refresh(cached, key);
    this.report(this.isStale(cached) ? 'stale' : 'cache', cached);
    return cached;
  }

  /** Waits for a lookup: a new one, or one in flight. */
  async #wait(
    spelling: string,
    key: string,
    options: VisitorCallOptions,
    isFresh: boolean,
    mayBeStale: boolean,
    elapsed: number,
  ): Promise<Answer<T>> {
    let signal: AbortSignal | undefined;
    for (;;) {
      // A caller that passes `fresh` must not get an answer that was requested earlier.
      const joined = isFresh ? undefined : this.#joinable(key, spelling);
      let error: unknown = joined ? undefined : this.#refusal(options.client);
      if (error === undefined) {
        try {
          signal ??= options.signal;
          if (signal !== undefined) checkSignal(signal);
          const lookup = joined ?? this.#begin(spelling, key, options.client, isFresh, elapsed);
          return await lookup.inFlight.join(signal);
        } catch (thrown) {
          error = thrown;
        }
      }
      // Of the client that began the lookup. Others are not refused for it.
      if (joined && isMarketgateError(error) && error.code === 'too_many_attempts') continue;
      const isUseful = mayBeStale && !isFresh && !signal?.aborted;
      const stale = isUseful ? this.staleIfError(key, error) : undefined;
      if (stale === undefined) throw error;
      this.report('stale-if-error', stale);
      return stale;
    }
  }

  /** The cached answer, if that is younger than `ttl` and need not be asked about. */
  fresh(spelling: string): Answer<T> | undefined {
    return this.#current(spelling, spelling.toLowerCase(), false);
  }

  /** Whether an answer is a positive one past its `ttl`. */
  isStale(answer: Answer<T>): answer is Entry<T> {
    return answer.value !== null && this.#ageOf(answer) >= this.parts.limits.ttl;
  }

  /** When a key's positive answer was requested, or the key was last withdrawn by this process, whichever is later. */
  knownSince(key: string): number {
    return Math.max(
      this.#positive.get(key)?.at ?? Number.NEGATIVE_INFINITY,
      this.#withdrawnSince(key),
    );
  }

  /** Withdraws a spelling's key for the app. Rows from before that are not believed. */
  invalidate(spelling: string): void {
    const key = spelling.toLowerCase();
    this.#withdraw(key);
    this.#withdrawnAt.set(key, this.parts.clock());
  }

  /** The same for all keys. */
  invalidateAll(): void {
    for (const key of this.#lookups.keys()) this.#withdraw(key);
    this.#positive.clear();
    this.#negative.clear();
    this.#allWithdrawnAt = this.parts.clock();
  }

  /** The name of a spelling's key in the shared cache. */
  subjectOf(spelling: string): string {
    return `${this.parts.what} ${spelling.toLowerCase()}`;
  }

  /** Reports an answer that was found elsewhere. */
  served(source: LookupMessage['source'], value: T | null): T | null {
    this.report(source, { value, at: 0 });
    return value;
  }

  /** Reports on `marketgate:lookup`. @param error in place of the answer. */
  report(source: LookupMessage['source'], answer: Answer<T> | undefined, error?: unknown): void {
    if (!lookupChannel.hasSubscribers) return;
    const outcome = answer ? (answer.value === null ? 'negative' : 'positive') : 'failed';
    const failed = outcome === 'failed' && failedFor(error);
    const { what } = this.parts;
    lookupChannel.publish({ what, source, outcome, ...failed } satisfies LookupMessage);
  }

  /** A cached answer that can be served at once. Awaits, copies and hashes nothing, because nearly every call ends here. */
  #current(spelling: string, key: string, mayBeStale: boolean): Answer<T> | undefined {
    const { limits, shared } = this.parts;
    const entry = this.#positive.get(key);
    if (entry === undefined) return this.#no(spelling, key);
    if (shared && !shared.isUpToDate(entry.connection) && !shared.isResting) return undefined;
    return this.#ageOf(entry) < limits.ttl + (mayBeStale ? this.#staleFor : 0) ? entry : undefined;
  }

  /** A negative answer about this spelling that can be served. */
  #no(spelling: string, key: string): Answer<T> | undefined {
    const no = this.#negative.get(key);
    if (no?.spelling !== spelling) return undefined;
    return this.#ageOf(no) < this.parts.limits.invalidTtl ? no : undefined;
  }

  /** Renews an answer: once for all spellings, and not soon after that has failed. Nobody is counted for it. */
  #refresh(entry: Entry<T>, key: string): void {
    const { clock } = this.parts;
    const { spelling, failedAt } = entry;
    if (failedAt !== undefined && clock() - failedAt < PAUSE) return;
    if (this.#joinable(key, spelling) !== undefined) return;
    const lookup = this.#begin(spelling, key);
    lookup.inFlight.join().catch((error: unknown) => {
      entry.failedAt = clock();
      if (!isMarketgateError(error)) warnOnce('MARKETGATE_REFRESH_FAILED');
      else if (error.status >= 500 && error.code !== 'service_unavailable') {
        warnOnce('MARKETGATE_REFRESH_FAILED', `: ${error.message}`);
      }
    });
  }

  /** The last positive answer until `staleIfError`, if this error of a call says that the service could not answer. */
  staleIfError(key: string, error: unknown): Entry<T> | undefined {
    if (!isMarketgateError(error) || error.status < 500) return undefined;
    // A refusal in other words is an answer about this key, and what this process lacks a visitor can have caused.
    if (error.code === 'service_refused' || failureOf(error)?.kind === 'own') return undefined;
    const entry = this.#positive.get(key);
    return entry && this.#ageOf(entry) < this.parts.limits.staleIfError ? entry : undefined;
  }

  /** The newest lookup of this spelling whose answer counts. */
  #joinable(key: string, spelling: string): Lookup<T> | undefined {
    return this.#lookups
      .get(key)
      ?.findLast(
        (each) => each.spelling === spelling && !each.isWithdrawn && !each.inFlight.isAborted,
      );
  }

  /** Why a lookup would not reach the service, unless the shared cache can have the answer. */
  #refusal(client: AppId): MarketgateError | undefined {
    const { shared, refusal } = this.parts;
    if (shared !== undefined && !shared.isResting) return undefined;
    const error = refusal(client);
    if (error !== undefined) this.report('service', undefined, error);
    return error;
  }

  #begin(spelling: string, key: string, client?: AppId, isFresh = false, elapsed = 0): Lookup<T> {
    const inFlight: InFlight<Answer<T>> = new InFlight(
      () => this.#find(lookup),
      (failure) => {
        const others = this.#lookups.get(key)?.filter((each) => each !== lookup) ?? [];
        if (others.length > 0) this.#lookups.set(key, others);
        else this.#lookups.delete(key);
        if (failure !== undefined) this.report('service', undefined, failure.error);
      },
    );
    const begunAt = performance.now() - elapsed;
    const lookup = { spelling, key, client, isFresh, begunAt, isWithdrawn: false, inFlight };
    this.#lookups.set(key, [...(this.#lookups.get(key) ?? []), lookup]);
    return lookup;
  }

  /** Finds an answer, and begins again while what it asks about is withdrawn before the answer arrives. */
  async #find(lookup: Lookup<T>): Promise<Answer<T>> {
    const { spelling, key, isFresh } = lookup;
    const { shared } = this.parts;
    for (let round = 0; round < MAX_ROUNDS; round++) {
      lookup.isWithdrawn = false;
      const row = await shared?.read(this.subjectOf(key));
      if (lookup.isWithdrawn) continue;

      // Where the shared cache cannot be read, what is cached here counts. Where it can be, and has nothing, that does not.
      const isKnown = row === undefined || this.#adopt(key, row);
      const known = isFresh || !isKnown ? undefined : this.#young(spelling, key);
      if (known !== undefined) {
        this.report(row ? 'shared' : 'cache', known);
        return known;
      }
      // Nobody is counted for what the lookup asks again by itself.
      const answer = await this.#ask(lookup, row, round === 0 ? lookup.client : undefined);
      if (answer !== undefined) return answer;
    }
    throw new MarketgateError(
      'service_unavailable',
      'KeyApi: each answer was withdrawn before it arrived; try again',
    );
  }

  /** Asks the service, keeps its answer, and shares it. `undefined`: what was asked about was withdrawn meanwhile. */
  async #ask(
    lookup: Lookup<T>,
    row: Row | undefined,
    client: AppId,
  ): Promise<Answer<T> | undefined> {
    const { limits, clock, shared, request, freeze } = this.parts;
    const { spelling, key } = lookup;
    const connection = shared?.connection ?? 0;
    const at = clock();
    const value = await request(spelling, {
      signal: lookup.inFlight.signal,
      client,
      hadPositive: this.#positive.get(key) !== undefined,
      elapsed: performance.now() - lookup.begunAt,
    });
    if (value === null) {
      // Another negative answer that has arrived meanwhile withdraws the key, and says the same.
      if (lookup.isWithdrawn && !this.#negative.has(key)) return undefined;
      const no = { value, at: clock(), spelling };
      if (!lookup.isWithdrawn) {
        this.#withdraw(key);
        this.#withdrawnAt.set(key, no.at);
        this.#negative.set(key, no);
        await shared?.withdraw(this.subjectOf(key), { value, spelling }, limits.invalidTtl);
      }
      this.report('service', no);
      return no;
    }
    if (lookup.isWithdrawn) return undefined;
    const content = { value, spelling };
    const id = row ? await shared?.write(row.lease, content, clock() - at, this.#life) : '';
    if (id === undefined || lookup.isWithdrawn) return undefined;
    const entry = { value: freeze(value), at, spelling, id, connection };
    this.report('service', entry);
    return this.#keep(key, entry);
  }

  /** A known answer that needs no request. */
  #young(spelling: string, key: string): Answer<T> | undefined {
    const entry = this.#positive.get(key);
    if (entry === undefined) return this.#no(spelling, key);
    return this.#ageOf(entry) < this.parts.limits.ttl ? entry : undefined;
  }

  /**
   * Takes over what is later of a row and what is cached here.
   * @returns false where the row says nothing.
   */
  #adopt(key: string, { content, id, age, connection }: Row): boolean {
    if (content === undefined) return false;
    const { value, spelling } = content;
    const at = this.parts.clock() - age;
    const own = this.#positive.get(key);
    // A withdrawal since then would have replaced the row.
    if (own && (own.id === id || own.at > at)) own.connection = connection;
    else if (at <= this.#withdrawnSince(key)) return false;
    else if (value === null) {
      this.#positive.delete(key);
      this.#negative.set(key, { value, at, spelling });
    } else this.#keep(key, { value: this.parts.freeze(value as T), at, spelling, id, connection });
    return true;
  }

  /** Caches a positive answer, unless a later one is there. */
  #keep(key: string, entry: Entry<T>): Entry<T> {
    const other = this.#positive.get(key);
    if (other !== undefined && other.at > entry.at) return other;
    this.#negative.delete(key);
    this.#positive.set(key, entry);
    return entry;
  }

  /** Removes what is cached about a key; what is in flight asks again. */
  #withdraw(key: string): void {
    this.#positive.delete(key);
    this.#negative.delete(key);
    for (const lookup of this.#lookups.get(key) ?? []) lookup.isWithdrawn = true;
  }

  #withdrawnSince(key: string): number {
    return Math.max(this.#withdrawnAt.get(key) ?? Number.NEGATIVE_INFINITY, this.#allWithdrawnAt);
  }

  #ageOf({ at }: Answer<T>): number {
    return this.parts.clock() - at;
  }
}

/** A lookup in flight. */
interface Lookup<T> {
  readonly spelling: string;
  readonly key: string;
  readonly client: AppId;
  readonly isFresh: boolean;
  /** When its call began, by `performance.now`. */
  readonly begunAt: number;
  readonly inFlight: InFlight<Answer<T>>;
  /** Whether its key was withdrawn since it has asked. */
  isWithdrawn: boolean;
}
