import { InFlight } from '../cache/in-flight.js';
import { MarketgateError } from '../errors.js';
import { wrongOption } from '../options.js';
import {
  AttemptLog,
  checkGuessLimitOptions,
  type GuessLimit,
  type GuessLimitOptions,
  type Reservation,
} from '../stores/guess-limit.js';

/** What `guessLimit` can be. */
export type GuessLimitOption = GuessLimitOptions | GuessLimit | false;

/** Validates a code. Calls `onShared` when the answer comes from another process's request. */
export type Validate<T> = (options: {
  onShared?: () => void;
  signal?: AbortSignal | undefined;
}) => Promise<T | null>;

type Allowed = Extract<Reservation, { isAllowed: true }>;

/** Used when a guess limit fails: it protects a quota, not access, so no customer is refused. */
const UNCOUNTED: Allowed = { isAllowed: true, refund: async () => {} };

/** The most abandoned reservations that are remembered. */
const MAX_ABANDONED = 1000;

/** What one client has in progress. */
interface ClientState {
  /** Attempts that hold a reservation or try to get one. */
  active: number;
  /** Attempts over the limit. Each is called with true to try again, with false to be refused. */
  readonly waiting: ((canRetry: boolean) => void)[];
}

/**
 * Lets no client try more codes than its limit. An attempt is one client's validation of one code. Only a
 * negative answer counts, so an attempt is reserved before the request and refunded after any other
 * answer. Over the limit, an attempt waits while another one of the client can still be refunded: a burst
 * of customers behind one address is not refused.
 */
class Attempts {
  /** By attempt key: concurrent requests of one client with one code share one attempt. */
  readonly #inFlight = new Map<string, InFlight<unknown>>();
  /** By client key. */
  readonly #clients = new Map<string, ClientState>();
  /**
   * By attempt key: reservations of visitors who left before the answer. They stay counted, because a
   * client that disconnects each time would otherwise never reach the limit. The next attempt with the
   * same code reuses the reservation, so a reload is free.
   */
  readonly #abandoned = new Map<string, Allowed>();

  attempt<T>(
    limit: GuessLimit,
    client: string,
    code: string,
    validate: Validate<T>,
    signal?: AbortSignal,
  ): Promise<T | null> {
    const attemptKey = `${client}\n${code}`;
    const current = this.#inFlight.get(attemptKey) as InFlight<T | null> | undefined;
    if (current !== undefined && !current.isAborted) return current.join(signal);
    const attempt: InFlight<T | null> = new InFlight(async (allLeft) => {
      // Continues in a later turn, after `#inFlight` has the attempt.
      await undefined;
      return this.#run(limit, client, attemptKey, validate, allLeft).finally(() => {
        if (this.#inFlight.get(attemptKey) === attempt) this.#inFlight.delete(attemptKey);
      });
    });
    this.#inFlight.set(attemptKey, attempt);
    return attempt.join(signal);
  }

  /** @param allLeft is aborted when the last caller has left. */
  async #run<T>(
    limit: GuessLimit,
    client: string,
    attemptKey: string,
    validate: Validate<T>,
    allLeft: AbortSignal,
  ): Promise<T | null> {
    const reservation = await this.#reserve(limit, client, attemptKey);
    let isCounted = false;
    let isShared = false;
    try {
      allLeft.throwIfAborted();
      const onShared = (): void => {
        isShared = true;
      };
      const answer = await validate({ signal: allLeft, onShared });
      // The process that made the request has counted it.
      isCounted = answer === null && !isShared;
      return answer;
    } catch (error) {
      if (allLeft.aborted) {
        isCounted = true;
        this.#abandon(attemptKey, reservation);
      }
      throw error;
    } finally {
      if (isCounted) this.#end(client, false);
      // Not awaited: the customer does not wait for the guess limit.
      else void this.#refund(client, reservation);
    }
  }

  /** Waits while the limit is reached and another attempt of the client can be refunded. */
  async #reserve(limit: GuessLimit, client: string, attemptKey: string): Promise<Allowed> {
    const abandoned = this.#abandoned.get(attemptKey);
    this.#abandoned.delete(attemptKey);
    const state = this.#clients.get(client) ?? { active: 0, waiting: [] };
    this.#clients.set(client, state);
    state.active++;
    if (abandoned !== undefined) return abandoned;
    for (;;) {
      const reservation = await (async () => limit.reserve(client))().catch(() => UNCOUNTED);
      if (reservation.isAllowed) return reservation;
      const isLast = state.active === 1;
      if (isLast) this.#end(client, false);
      else state.active--;
      if (isLast || !(await new Promise<boolean>((wake) => state.waiting.push(wake)))) {
        throw new MarketgateError(
          'too_many_attempts',
          'this client has sent too many purchase codes that the service does not know',
          { retryAfter: Math.max(1, reservation.retryAfter) },
        );
      }
    }
  }

  #abandon(attemptKey: string, reservation: Allowed): void {
    this.#abandoned.set(attemptKey, reservation);
    const [oldest = attemptKey] = this.#abandoned.keys();
    if (this.#abandoned.size > MAX_ABANDONED) this.#abandoned.delete(oldest);
  }

  async #refund(client: string, reservation: Allowed): Promise<void> {
    await (async () => reservation.refund())().catch(() => {});
    this.#end(client, true);
  }

  /** Ends an attempt. After a refund, the next waiting attempt becomes active in its place. */
  #end(client: string, isRefunded: boolean): void {
    const state = this.#clients.get(client);
    if (state === undefined) return;
    const next = isRefunded ? state.waiting.shift() : undefined;
    if (next !== undefined) {
      next(true);
      return;
    }
    state.active--;
    if (state.active > 0) return;
    this.#clients.delete(client);
    for (const wake of state.waiting) wake(false);
  }
}

/** By KeyApi: a client has one count over all guards of a KeyApi, wherever they were made. */
const logs = new WeakMap<object, AttemptLog>();
/** By KeyApi, then by the object that counts: attempts on two services never share an answer. */
const attemptsOf = new WeakMap<object, WeakMap<object, Attempts>>();

/** The limit of a guard, and the attempts that it lets through. */
export interface GuessGate {
  readonly limit: GuessLimit;
  /**
   * Validates a code, unless the client has failed too often.
   * @param signal ends this caller's wait; other callers with the same code keep waiting.
   * @throws MarketgateError `too_many_attempts`, and whatever `validate` throws.
   */
  attempt<T>(
    client: string,
    code: string,
    validate: Validate<T>,
    signal?: AbortSignal,
  ): Promise<T | null>;
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
  if (option !== undefined && (typeof option !== 'object' || option === null)) {
    throw wrongOption(
      owner,
      'guessLimit',
      'must be { limit, windowMs, keyGenerator }, a MemoryGuessLimit or RedisGuessLimit, or false',
    );
  }
  const log = getOrMake(logs, keyApi, () => new AttemptLog());
  let limit: GuessLimit;
  if (isGuessLimit(option)) {
    limit = countedIn(log, option);
  } else {
    const settings = checkGuessLimitOptions(`${owner}: guessLimit`, option ?? {});
    limit = {
      keyGenerator: settings.keyGenerator,
      reserve: async (client) => log.reserve(client, settings),
    };
  }
  const ofKeyApi = getOrMake(attemptsOf, keyApi, () => new WeakMap<object, Attempts>());
  const counter = isGuessLimit(option) ? option : log;
  const attempts = getOrMake(ofKeyApi, counter, () => new Attempts());
  return { limit, attempt: (...args) => attempts.attempt(limit, ...args) };
}

/** Makes a limit reserve in the KeyApi's log too, because each new limit object starts at zero. */
function countedIn(log: AttemptLog, own: GuessLimit): GuessLimit {
  const { limit, windowMs } = own;
  if (limit === undefined || windowMs === undefined) return own;
  return {
    keyGenerator: (req) => own.keyGenerator(req),
    reserve: async (client) => {
      const shared = log.reserve(client, { limit, windowMs });
      if (!shared.isAllowed) return shared;
      const reservation = await (async () => own.reserve(client))().catch(() => UNCOUNTED);
      const refund = async (): Promise<void> => {
        await shared.refund();
        if (reservation.isAllowed) await reservation.refund();
      };
      if (reservation.isAllowed) return { isAllowed: true, refund };
      await refund();
      return reservation;
    },
  };
}

const isGuessLimit = (option: GuessLimitOption | undefined): option is GuessLimit =>
  typeof option === 'object' &&
  (['keyGenerator', 'reserve'] as const).every(
    (method) => typeof (option as Partial<GuessLimit>)[method] === 'function',
  );

function getOrMake<T>(map: WeakMap<object, T>, key: object, make: () => T): T {
  const found = map.get(key) ?? make();
  map.set(key, found);
  return found;
}
