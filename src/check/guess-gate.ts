import type { Request } from 'express';
import { LRUCache } from 'lru-cache';
import type { CallOptions } from '../cache/cache.js';
import { InFlight } from '../cache/in-flight.js';
import { wait } from '../deadline.js';
import { MarketgateError } from '../errors.js';
import type { Purchase } from '../model/purchase.js';
import { shapedOption, wrongOption } from '../options.js';
import {
  CodeAttemptLog,
  clientKey,
  type GuessLimit,
  type GuessLimitOptions,
  GuessLimitSettings,
  MAX_WAIT,
  type Reservation,
} from '../stores/guess-limit.js';
import { guardedCalls } from '../stores/store-guard.js';

/** What `guessLimit` can be. */
export type GuessLimitOption = GuessLimitOptions | GuessLimit | false;

/** Validates a code. */
export type Validate = (options: CallOptions) => Promise<Purchase | null>;

type Refused = Extract<Reservation, { isAllowed: false }>;
type Allowed = Required<Exclude<Reservation, Refused>>;

/** An attempt that counts, unless it is released. */
interface HeldReservation extends Allowed {
  /** When it stops counting, by `performance.now`, which cannot be set back. */
  readonly until: number;
  /** Requests to the service: of this attempt, and of the abandoned ones that it was taken over from. */
  requests: number;
}

/** One client's attempt at one code. */
interface CodeAttempt {
  readonly client: string;
  readonly code: string;
  /** Counts the attempt, if the client has one left. */
  readonly reserve: () => Promise<HeldReservation | Refused>;
  readonly validate: Validate;
}

/** The longest `Retry-After`: a week. `String` writes very large numbers as `1e+21`, which the header forbids. */
const MAX_SECONDS = 604_800;
/** The most abandoned attempts that are remembered. */
const MAX_ABANDONED = 1000;
/** The most requests of one reservation. Without a limit, a client that never waits for its answers has no other. */
const MAX_REQUESTS = 4;

/** Milliseconds between two tries of an attempt that waits for attempts of other clients or processes. */
const POLL_INTERVAL = 100;

/** What one client has in progress. A waiting attempt is not active: waking one hands it the caller's place. */
interface ClientState {
  /** Attempts that hold a reservation or try to get one. */
  active: number;
  /** Attempts over the limit. Each is called to try again, or with a refusal that is also its own. */
  readonly waiting: ((refusal?: Refused) => void)[];
}

/**
 * The attempts at one KeyApi. Lets no client try more codes than its limit. An attempt is one client's validation
 * of one code. Only a negative answer counts, so an attempt is reserved before the request and released after any
 * other answer. Over the limit, an attempt waits while another one can still be released: a burst of customers behind
 * one address is not refused.
 */
class CodeAttempts {
  /** A client has one count over all guards of a KeyApi, wherever they were made. */
  readonly log = new CodeAttemptLog();
  /** By client and code: concurrent requests of one client with one code share one attempt. */
  readonly #inFlight = new Map<string, InFlight<Purchase | null>>();
  /** By client key. */
  readonly #clients = new Map<string, ClientState>();
  /**
   * By client and code: attempts of visitors who left before the answer. They stay counted, because a client
   * that disconnects each time would otherwise never reach the limit. The next attempt with the same code takes
   * over the reservation while it counts, so the first reloads are free.
   */
  readonly #abandoned = new LRUCache<string, HeldReservation>({ max: MAX_ABANDONED });

  /** @param signal ends this caller's wait. */
  run(attempt: CodeAttempt, signal?: AbortSignal): Promise<Purchase | null> {
    const key = keyOf(attempt);
    const current = this.#inFlight.get(key);
    if (current !== undefined && !current.signal.aborted) return current.join(signal);
    const inFlight: InFlight<Purchase | null> = new InFlight(
      () => this.#validate(attempt, inFlight.signal),
      () => {
        if (this.#inFlight.get(key) === inFlight) this.#inFlight.delete(key);
      },
    );
    this.#inFlight.set(key, inFlight);
    return inFlight.join(signal);
  }

  /** @param signal aborts when the last caller has left. */
  async #validate(attempt: CodeAttempt, signal: AbortSignal): Promise<Purchase | null> {
    const reserved = await this.#waitForReservation(attempt, signal);
    let isCounted = false;
    let isCached = false;
    try {
      if (signal.aborted) throw signal.reason;
      const onCached = (): void => {
        isCached = true;
      };
      reserved.requests++;
      const answer = await attempt.validate({ signal, onCached });
      // A cached answer was counted when it was requested.
      isCounted = answer === null && !isCached;
      return answer;
    } catch (error) {
      // The visitor has left. The next attempt with this code takes the reservation over.
      isCounted = signal.aborted && reserved.requests > 0;
      if (isCounted && reserved.requests < MAX_REQUESTS)
        this.#abandoned.set(keyOf(attempt), reserved);
      throw error;
    } finally {
      // Not awaited: the customer does not wait for the guess limit. If that fails, the attempt counts as a failed one.
      const end = isCounted ? reserved.settle() : reserved.release();
      void end.catch(() => {}).then(() => this.#leave(attempt.client, !isCounted));
    }
  }

  /**
   * Waits while the limit is reached and another attempt can be released. Attempts of the same client wake the waiting
   * ones when they end. If none is active here but others still count (other clients, other processes), this attempt
   * polls.
   */
  async #waitForReservation(attempt: CodeAttempt, signal: AbortSignal): Promise<HeldReservation> {
    const { client, reserve } = attempt;
    const key = keyOf(attempt);
    const abandoned = this.#abandoned.get(key);
    this.#abandoned.delete(key);
    const state = this.#clients.get(client) ?? { active: 0, waiting: [] };
    this.#clients.set(client, state);
    state.active++;
    if (abandoned !== undefined && performance.now() < abandoned.until) return abandoned;
    let waitingSince: number | undefined;
    let hasPolled = false;
    for (;;) {
      if (signal.aborted) {
        this.#leave(client, true);
        throw signal.reason;
      }
      const reservation = await reserve();
      if (reservation.isAllowed) {
        // Several attempts can have been released since the last poll.
        const others = hasPolled ? state.waiting.splice(0) : [];
        state.active += others.length;
        for (const wake of others) wake();
        return reservation;
      }
      waitingSince ??= performance.now();
      if (state.active > 1) {
        state.active--;
        const refusal = await new Promise<Refused | undefined>((wake) => state.waiting.push(wake));
        if (refusal !== undefined) throw tooManyAttempts(refusal);
      } else if (reservation.isPending && performance.now() - waitingSince < MAX_WAIT) {
        await wait(POLL_INTERVAL);
        hasPolled = true;
      } else {
        // Without an attempt that can be released, the waiting ones would be refused too.
        if (!reservation.isPending) for (const wake of state.waiting.splice(0)) wake(reservation);
        this.#leave(client, true);
        throw tooManyAttempts(reservation);
      }
    }
  }

  /**
   * Ends an active attempt.
   * @param isReleased whether it does not count, so that the next waiting attempt can be allowed.
   */
  #leave(client: string, isReleased: boolean): void {
    const state = this.#clients.get(client) as ClientState;
    // Without another active attempt, the next one must try itself: attempts of other clients can still be released.
    const next = isReleased || state.active === 1 ? state.waiting.shift() : undefined;
    if (next !== undefined) next();
    else if (--state.active === 0) this.#clients.delete(client);
  }
}

const tooManyAttempts = ({ isPending, retryAfter }: Refused): MarketgateError =>
  new MarketgateError(
    'too_many_attempts',
    'this client has sent too many purchase codes that the service does not know; wait as long as retryAfter says',
    { retryAfter: isPending ? 1 : Math.max(1, retryAfter) },
  );

const keyOf = ({ client, code }: CodeAttempt): string => `${client}\n${code}`;

/** By KeyApi. */
const attemptsOf = new WeakMap<object, CodeAttempts>();

/** The guess limit of a guard, and the attempts that it lets through. */
export interface GuessGate {
  /** The client key of a request. */
  keyGenerator(req: Request): string;
  /**
   * Validates a code, unless the client has failed too often.
   * @param signal ends this caller's wait; other callers with the same code keep waiting.
   * @throws MarketgateError `too_many_attempts`, and whatever `validate` throws.
   */
  attempt(
    client: string,
    code: string,
    validate: Validate,
    signal?: AbortSignal,
  ): Promise<Purchase | null>;
}

/**
 * Makes the gate for the option `guessLimit`; `undefined` when that is `false`.
 * @throws TypeError that names the wrong option.
 */
export function guessGate(
  owner: string,
  option: GuessLimitOption | undefined,
  keyApi: object,
): GuessGate | undefined {
  if (option === false) return undefined;
  const given: object = option === undefined ? {} : option;
  const what = '{ limit, windowMs, keyGenerator }, a MemoryGuessLimit or RedisGuessLimit, or false';
  const shaped = (...methods: (keyof GuessLimit)[]) =>
    shapedOption<GuessLimit>(owner, 'guessLimit', given, methods, what);
  const ownLimit = 'reserve' in shaped() ? shaped('keyGenerator', 'reserve') : undefined;
  if (ownLimit !== undefined && !(ownLimit.limit > 0 && ownLimit.windowMs > 0)) {
    throw wrongOption(owner, 'guessLimit', `must be ${what}; "limit" or "windowMs" is missing`);
  }
  const settings = ownLimit ?? new GuessLimitSettings(`${owner}: guessLimit`, given);
  const attempts = attemptsOf.get(keyApi) ?? new CodeAttempts();
  attemptsOf.set(keyApi, attempts);

  const call = guardedCalls('guessLimit', settings);
  /** An app's own limit can give anything. */
  const refusal = ({ retryAfter, isPending }: Refused): Refused => {
    const seconds = [retryAfter, settings.windowMs / 1000].find(Number.isFinite) ?? 60;
    return {
      isAllowed: false,
      retryAfter: Math.min(seconds, MAX_SECONDS),
      isPending: isPending === true,
    };
  };
  const reserveInBoth = async (client: string): Promise<HeldReservation | Refused> => {
    const until = performance.now() + settings.windowMs;
    const inMemory = attempts.log.reserve(client, settings);
    if (!inMemory.isAllowed) return refusal(inMemory);
    // A limit that fails refuses no customer, because it protects a quota, not access.
    const inOwnLimit =
      ownLimit && (await call('reserve', () => ownLimit.reserve(client)).catch(() => undefined));
    if (inOwnLimit?.isAllowed === false) {
      await inMemory.release();
      return refusal(inOwnLimit);
    }
    return {
      isAllowed: true,
      until,
      requests: 0,
      async release() {
        await inMemory.release();
        if (inOwnLimit) await call('release', () => inOwnLimit.release());
      },
      async settle() {
        await inMemory.settle?.();
        if (inOwnLimit) await call('settle', () => inOwnLimit.settle?.());
      },
    };
  };
  return {
    // Checked again, because an app's own limit can give anything.
    keyGenerator: (req) => clientKey(settings.keyGenerator(req)),
    attempt: (client, code, validate, signal) =>
      attempts.run({ client, code, validate, reserve: () => reserveInBoth(client) }, signal),
  };
}
