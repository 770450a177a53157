import { setMaxListeners } from 'node:events';
import { LRUCache } from 'lru-cache';
import { type LookupMessage, lookupChannel } from '../../diagnostics/lookup.js';
import { isMarketgateError } from '../../errors/marketgate-error.js';
import { abortable } from './abortable.js';
import type { Ask, FleetSpace, LookupOptions, Settle, StartHow, Trace } from './ask.js';
import type { CacheLimits } from './cache-options.js';
import { type Answered, Flights, type Yes } from './flights.js';
import { Lookups } from './lookups.js';

/** Background refreshes at once, in each cache: more would be a storm on a service that comes back. */
const MOST_REFRESHES = 16;

/**
 * The service's answers to one kind of question. An answer goes through these ages:
 *
 * - until `ttl`: served;
 * - until `ttl + staleWhileRevalidate`: served, and refreshed behind;
 * - after that: awaited. If the service cannot answer, the last yes is served until `staleIfError`.
 *
 * A no is served until `invalidTtl`, from a space of its own, and erases a yes at once. A failure is
 * never kept.
 */
export class AnswerCache<T extends object> {
  readonly #lookups: Lookups;
  readonly #settings: CacheLimits;
  readonly #clock: () => number;
  readonly #ask: Ask<T>;
  readonly #settle: Settle<T>;
  readonly #fleet: FleetSpace<T> | undefined;
  readonly #staleFor: number;
  readonly #yes: LRUCache<string, Yes<T>>;
  readonly #no: LRUCache<string, number>;
  readonly #flights = new Flights<T>();
  readonly #closing = new AbortController();
  #refreshes = 0;

  constructor(
    what: LookupMessage['what'],
    settings: CacheLimits,
    clock: () => number,
    ask: Ask<T>,
    settle: Settle<T>,
    fleet?: FleetSpace<T>,
  ) {
    this.#lookups = new Lookups(what);
    this.#settings = settings;
    this.#clock = clock;
    this.#ask = ask;
    this.#settle = settle;
    this.#fleet = fleet;
    // Nothing is served that is older than it may be while the service cannot answer.
    this.#staleFor = Math.min(settings.staleWhileRevalidate, settings.staleIfError);
    this.#yes = new LRUCache({ max: settings.max });
    this.#no = new LRUCache({ max: settings.maxInvalid });
    // As many as there are refreshes; Node would take more than ten for a leak.
    setMaxListeners(0, this.#closing.signal);
  }

  /**
   * What can be served at once, `undefined` when the service must be asked. Starts a refresh where
   * one is due. Nothing is awaited, copied or hashed here: this is the way of nearly every request.
   */
  peek(key: string): Answered<T> | undefined {
    const found = this.look(key);
    return found && lookupChannel.hasSubscribers ? this.served(found) : found;
  }

  /** {@link peek}, for who does not serve what is found: nobody is told. */
  look(key: string): Answered<T> | undefined {
    const yes = this.#yes.get(key);
    if (yes !== undefined) {
      const age = this.#clock() - yes.at;
      // Older than now by a clock that was set back: not to be trusted.
      if (age < 0) return undefined;
      if (age < this.#settings.ttl) return yes;
      if (age >= this.#settings.ttl + this.#staleFor) return undefined;
      this.#refresh(key);
      return yes;
    }
    const at = this.#no.get(key);
    if (at === undefined) return undefined;
    const age = this.#clock() - at;
    return age >= 0 && age < this.#settings.invalidTtl ? { value: null, at } : undefined;
  }

  /** A yes that is younger than `ttl`; starts no refresh. */
  lookFresh(key: string): Answered<T> | undefined {
    const yes = this.#yes.get(key);
    const age = yes === undefined ? -1 : this.#clock() - yes.at;
    return age >= 0 && age < this.#settings.ttl ? yes : undefined;
  }

  /** The last yes, served or not. */
  last(key: string): Yes<T> | undefined {
    return this.#yes.peek(key);
  }

  /** When the answer that is kept, served or not, was asked for. */
  lastAsked(key: string): number | undefined {
    return this.#yes.peek(key)?.at ?? this.#no.peek(key);
  }

  /** Tells who listens that an answer that is kept was served. */
  served(answered: Answered<T>): Answered<T> {
    const isStale = answered.value !== null && this.#clock() - answered.at >= this.#settings.ttl;
    return this.#lookups.report(isStale ? 'stale' : 'cache', answered);
  }

  /** The answer, from here or from the service. */
  async get(key: string, { signal, fresh = false, onShared }: LookupOptions): Promise<T | null> {
    signal?.throwIfAborted();
    const kept = fresh ? undefined : this.peek(key);
    if (kept !== undefined) return kept.value;
    // Who wants it fresh must not get what was asked before; who does not, shares what is under way.
    const asked =
      (fresh ? undefined : this.#flights.find(key)) ??
      this.#start(key, { isFresh: fresh, onShared });
    try {
      return (await abortable(asked, signal)).value;
    } catch (error) {
      const last = fresh || signal?.aborted ? undefined : this.lastResort(key, error);
      if (last === undefined) throw error;
      this.servedLast(last);
      return last.value;
    }
  }

  /** The last yes, when this error says that the service could not answer, and it is young enough. */
  lastResort(key: string, error: unknown): Yes<T> | undefined {
    if (!isMarketgateError(error) || error.status < 500) return undefined;
    const yes = this.#yes.peek(key);
    if (yes === undefined) return undefined;
    const age = this.#clock() - yes.at;
    return age >= 0 && age < this.#settings.staleIfError ? yes : undefined;
  }

  /** Tells who listens that an old yes was served, for want of an answer. */
  servedLast(yes: Answered<T>): void {
    this.#lookups.report('last-resort', yes);
  }

  /** Forgets one key, or all, also what is under way. */
  forget(key?: string): void {
    this.#flights.forget(key);
    if (key === undefined) {
      this.#yes.clear();
      this.#no.clear();
    } else {
      this.#yes.delete(key);
      this.#no.delete(key);
    }
  }

  /** Ends the refreshes that nobody waits for, and begins no more. */
  close(): void {
    this.#refreshes = Number.POSITIVE_INFINITY;
    this.#closing.abort();
  }

  #start(key: string, how: StartHow): Promise<Answered<T>> {
    const trace: Trace = { source: this.#fleet ? 'shared' : 'service' };
    const flight = this.#flights.start(
      key,
      () =>
        this.#fleet
          ? this.#askFleet(key, how, trace, this.#fleet)
          : this.#askService(key, how, trace, 0),
      (answered, isOutdated) => {
        if (trace.source === 'shared') how.onShared?.();
        return this.#keep(key, answered, isOutdated);
      },
    );
    if (!lookupChannel.hasSubscribers) return flight;
    return flight.then(
      (answered) => this.#lookups.report(trace.source, answered),
      (error: unknown) => {
        this.#lookups.failed(trace.source, error);
        throw error;
      },
    );
  }

  async #askService(
    key: string,
    { signal }: StartHow,
    trace: Trace,
    spent: number,
  ): Promise<Answered<T>> {
    trace.source = 'service';
    const at = this.#clock();
    const isGrave = this.#yes.peek(key) !== undefined;
    return { value: await this.#ask(key, { signal, isGrave, spent }), at };
  }

  #askFleet(key: string, how: StartHow, trace: Trace, fleet: FleetSpace<T>): Promise<Answered<T>> {
    if (how.isFresh) return this.#askPastFleet(key, how, trace, fleet);
    return fleet.answer(
      key,
      (spent) => this.#askService(key, how, trace, spent),
      (stale) => this.#keepStale(key, stale),
    );
  }

  async #askPastFleet(
    key: string,
    how: StartHow,
    trace: Trace,
    fleet: FleetSpace<T>,
  ): Promise<Answered<T>> {
    const answered = await this.#askService(key, how, trace, 0);
    // Others may hold a yes that this process does not know of.
    const told = answered.value === null ? fleet.erase(key, answered) : fleet.tell(key, answered);
    told.catch(() => {});
    return answered;
  }

  #keep(key: string, { value: given, at }: Answered<T>, isOutdated: boolean): Answered<T> {
    // Also what is not kept: callers at the same time share it.
    const value = given && this.#settle(given, key);
    if (isOutdated) return { value, at };
    if (value === null) {
      this.#no.set(key, at);
      if (this.#yes.delete(key)) this.#fleet?.erase(key, { value, at }).catch(() => {});
      return { value, at };
    }
    const yes: Yes<T> = { value, at };
    this.#no.delete(key);
    this.#yes.set(key, yes);
    return yes;
  }

  /** Another process's yes, for the case that the service cannot answer. */
  #keepStale(key: string, { value, at }: Answered<T>): void {
    const own = this.#yes.peek(key);
    if (value !== null && (own === undefined || own.at < at)) {
      this.#yes.set(key, { value: this.#settle(value, key), at });
    }
  }

  #refresh(key: string): void {
    if (this.#refreshes >= MOST_REFRESHES || this.#flights.find(key) !== undefined) return;
    this.#refreshes++;
    const done = (): void => {
      this.#refreshes--;
    };
    this.#start(key, { signal: this.#closing.signal }).then(done, done);
  }
}
