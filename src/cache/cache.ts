import { checkSignal } from '../deadline.js';
import { lookupChannel } from '../diagnostics.js';
import { isMarketgateError } from '../errors.js';
import { isOwnLack } from '../http/failure.js';
import { type AppId, flag } from '../options.js';
import { type Answer, Answers, type AnswersParts, type Kept } from './answers.js';
import { type Ask, type Cause, Lookup } from './lookup.js';
import { ALL } from './orders.js';

/** Milliseconds after a failed request that nobody was counted for, until the next one. */
const PAUSE = 10_000;

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

export interface CacheParts<T> extends AnswersParts<T> {
  readonly ask: Ask<T>;
  /** Throws where a request would not be sent, so that such a refusal costs no lookup. */
  readonly check: () => void;
  /** The same for a client that may not ask. */
  readonly checkClient?: (client: AppId) => void;
  /** Whether nobody is counted for a request. Then one that has failed is not made again at once. */
  readonly isUncounted?: boolean;
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
 * A negative answer is served until `invalidTtl`. A failure is never cached.
 */
export class Cache<T extends object> {
  readonly #staleFor: number;
  readonly #answers: Answers<T>;
  /** The newest lookup of each spelling. */
  readonly #lookups = new Map<string, Lookup<T>>();
  /** The last request that has failed, if nobody was counted for it. */
  #failure: { readonly error: unknown; readonly at: number } | undefined;

  constructor(private readonly parts: CacheParts<T>) {
    const { staleIfError, staleWhileRevalidate } = parts.limits;
    // `staleIfError` limits how long a stale answer is served at all.
    this.#staleFor = Math.min(staleWhileRevalidate, staleIfError);
    this.#answers = new Answers(parts);
    parts.orders.onInvalidated((subject) => {
      if (subject === ALL) this.#failure = undefined;
    });
  }

  /** What invalidations call a key, whatever its spelling. */
  subject(spelling: string): string {
    return this.#answers.subjectOf(spelling.toLowerCase());
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
    const { ttl } = this.parts.limits;
    const positive = this.#answers.positive(key);
    if (positive === undefined) return this.#answers.negative(spelling, key);
    const age = this.#answers.ageOf(positive);
    if (this.#answers.mustAsk(positive) || age >= ttl + this.#staleFor) return undefined;
    if (age >= ttl) this.#refresh(positive, options);
    return positive;
  }

  /** Whether a positive answer is past its `ttl`. */
  isStale(positive: Answer<T>): boolean {
    return this.#answers.isStale(positive);
  }

  /** The cached answer or a new one, without an error; `undefined`: there is none to be had, or it is negative. */
  async upToDate(key: string, signal: AbortSignal): Promise<Kept<T> | undefined> {
    if (this.#answers.negative(key, key)) return undefined;
    try {
      const lookup = this.#joinable(key) ?? this.#start(key, key, this.#causeOf(false, {}));
      const answer = await lookup.join(signal);
      return answer.value === null ? undefined : (answer as Kept<T>);
    } catch {
      return undefined;
    }
  }

  /** Renews an answer: once for all spellings, and not soon after that has failed. */
  #refresh(positive: Kept<T>, { client }: VisitorCallOptions): void {
    const { spelling, failedAt } = positive;
    if (failedAt !== undefined && this.parts.clock() - failedAt < PAUSE) return;
    if (this.#joinable(spelling) !== undefined) return;
    const cause = { isFresh: false, isRefresh: true, client };
    const lookup = this.#start(spelling, spelling.toLowerCase(), cause);
    lookup.join().catch(() => {
      positive.failedAt = this.parts.clock();
    });
  }

  /** Whether a key was asked about, or invalidated, after this order. */
  isAskedSince(key: string, order: number): boolean {
    return this.#answers.isAskedSince(key, order);
  }

  /** Reports that a cached answer is served. @param isFailed whether the service was asked, and could not answer. */
  served<A extends Answer<T>>(answer: A, isFailed = false): A {
    if (lookupChannel.hasSubscribers) {
      const isStale = answer.value !== null && this.isStale(answer);
      this.#answers.report(isFailed ? 'stale-if-error' : isStale ? 'stale' : 'cache', answer);
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
  staleIfError(key: string, error: unknown, signal?: AbortSignal): Kept<T> | undefined {
    if (signal?.aborted || !isMarketgateError(error) || error.status < 500) return undefined;
    // A refusal in other words is an answer about this key, and what this process lacks a visitor can have caused.
    if (error.code === 'service_refused' || isOwnLack(error)) return undefined;
    const positive = this.#answers.positive(key);
    const { staleIfError } = this.parts.limits;
    return positive && this.#answers.ageOf(positive) < staleIfError ? positive : undefined;
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
    const { ask } = this.parts;
    const onEnd = (error?: unknown): void => {
      if (this.#lookups.get(spelling) === lookup) this.#lookups.delete(spelling);
      this.#remember(lookup, error);
    };
    const lookup: Lookup<T> = new Lookup(this.#answers, ask, spelling, key, cause, onEnd);
    this.#lookups.set(spelling, lookup);
    return lookup;
  }

  /** Remembers whether a lookup that nobody was counted for has failed. */
  #remember(lookup: Lookup<T>, error: unknown): void {
    if (!this.parts.isUncounted || !lookup.isAsked) return;
    if (error === undefined) this.#failure = undefined;
    else if (!lookup.signal.aborted && !isOwnLack(error)) {
      this.#failure = { error, at: this.parts.clock() };
    }
  }
}
