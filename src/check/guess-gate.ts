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

/** Validates a code; calls `onShared` when another process had asked the service before. */
export type Validate<T> = (how: {
  onShared?: () => void;
  signal?: AbortSignal | undefined;
}) => Promise<T | null>;

type Allowed = Extract<Reservation, { isAllowed: true }>;

/** A counter that fails refuses no customer: it protects a quota, and no door. */
const UNCOUNTED: Allowed = { isAllowed: true, refund: async () => {} };

/** Attempts of visitors who left that are remembered at most. */
const MOST_ABANDONED = 1000;

/** One client's attempts in progress, and those that wait for one of them to be given back. */
interface Client {
  busy: number;
  readonly waiting: ((isFree: boolean) => void)[];
}

/**
 * Lets no client try more codes than its limit. Only a negative answer counts, and that is known
 * afterwards: an attempt is reserved, and given back for any other answer. When none is left, a further
 * attempt waits while one in progress can still be given back, so that a burst of customers behind one
 * address is not refused.
 */
class Attempts {
  /** By client and code: concurrent requests of one client with one code share one attempt. */
  readonly #inFlight = new Map<string, InFlight<unknown>>();
  readonly #clients = new Map<string, Client>();
  /**
   * Reservations of visitors who left before the answer. They stay counted, or nobody who hangs up each
   * time would reach the limit; but the same code goes on with its attempt, so that a reload is free.
   */
  readonly #abandoned = new Map<string, Allowed>();

  attempt<T>(
    limit: GuessLimit,
    client: string,
    code: string,
    validate: Validate<T>,
    signal?: AbortSignal,
  ): Promise<T | null> {
    const name = `${client}\n${code}`;
    const current = this.#inFlight.get(name) as InFlight<T | null> | undefined;
    if (current !== undefined && !current.isAborted) return current.join(signal);
    const attempt: InFlight<T | null> = new InFlight(async (left) => {
      // One turn later, so that it is known as in flight by then.
      await undefined;
      return this.#run(limit, client, name, validate, left).finally(() => {
        if (this.#inFlight.get(name) === attempt) this.#inFlight.delete(name);
      });
    });
    this.#inFlight.set(name, attempt);
    return attempt.join(signal);
  }

  async #run<T>(
    limit: GuessLimit,
    client: string,
    name: string,
    validate: Validate<T>,
    left: AbortSignal,
  ): Promise<T | null> {
    const reservation = await this.#reserve(limit, client, name);
    let isCounted = false;
    let isShared = false;
    try {
      left.throwIfAborted();
      const onShared = (): void => {
        isShared = true;
      };
      const answer = await validate({ signal: left, onShared });
      // What another process has asked was counted there.
      isCounted = answer === null && !isShared;
      return answer;
    } catch (error) {
      if (left.aborted) {
        isCounted = true;
        this.#abandon(name, reservation);
      }
      throw error;
    } finally {
      // A customer does not wait for the counter.
      if (isCounted) this.#leave(client, false);
      else void this.#refund(client, reservation);
    }
  }

  async #reserve(limit: GuessLimit, name: string, attempt: string): Promise<Allowed> {
    const abandoned = this.#abandoned.get(attempt);
    this.#abandoned.delete(attempt);
    const client = this.#clients.get(name) ?? { busy: 0, waiting: [] };
    this.#clients.set(name, client);
    client.busy++;
    if (abandoned !== undefined) return abandoned;
    for (;;) {
      const reservation = await (async () => limit.reserve(name))().catch(() => UNCOUNTED);
      if (reservation.isAllowed) return reservation;
      const isLast = client.busy === 1;
      if (isLast) this.#leave(name, false);
      else client.busy--;
      if (isLast || !(await new Promise<boolean>((wake) => client.waiting.push(wake)))) {
        throw new MarketgateError(
          'too_many_attempts',
          'this client has sent too many purchase codes that the service does not know',
          { retryAfter: Math.max(1, reservation.retryAfter) },
        );
      }
    }
  }

  #abandon(name: string, reservation: Allowed): void {
    this.#abandoned.set(name, reservation);
    const [oldest = name] = this.#abandoned.keys();
    if (this.#abandoned.size > MOST_ABANDONED) this.#abandoned.delete(oldest);
  }

  async #refund(client: string, reservation: Allowed): Promise<void> {
    await (async () => reservation.refund())().catch(() => {});
    this.#leave(client, true);
  }

  /** An attempt has ended; with `isFree` the next that waits tries again in its place. */
  #leave(name: string, isFree: boolean): void {
    const client = this.#clients.get(name);
    if (client === undefined) return;
    const next = isFree ? client.waiting.shift() : undefined;
    if (next !== undefined) {
      next(true);
      return;
    }
    client.busy--;
    if (client.busy > 0) return;
    this.#clients.delete(name);
    for (const refuse of client.waiting) refuse(false);
  }
}

/** A client has one count over all guards of a KeyApi, wherever they were made. */
const logs = new WeakMap<object, AttemptLog>();
/** Attempts by KeyApi and by what counts them: two services never share an answer. */
const attemptsOf = new WeakMap<object, WeakMap<object, Attempts>>();

/** The limit of a guard, and the attempts that it lets through. */
export interface GuessGate {
  readonly limit: GuessLimit;
  /**
   * Validates a code, unless the client has failed too often.
   * @param signal ends this caller's wait; others with the same code go on.
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
 * The gate that the option `guessLimit` stands for; `undefined` for none.
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

/** A limit that reserves in the log of the KeyApi as well: else each new limit object would count anew. */
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
