import type { Request } from 'express';
import { MAX_TIMER_DELAY, withTimeout } from '../deadline.js';
import { reportDrift, warnOnce } from '../diagnostics.js';
import { isMarketgateError, MarketgateError } from '../errors.js';
import { isServing } from '../http/http-client.js';
import { knownOptions, shapedOption } from '../options.js';
import {
  type AttemptCount,
  type AttemptLimiter,
  clientKey,
  type GuessLimit,
  type GuessLimitOptions,
  GuessLimitSettings,
  MemoryLimiter,
  MINUTE,
} from '../stores/guess-limit.js';

/** What `guessLimit` can be. */
export type GuessLimitOption = GuessLimitOptions | GuessLimit | false;

/** How a question to the service ended. */
export type Outcome<T> = { readonly value: T } | { readonly error: unknown };

/**
 * The guess limit of a guard. A question to the service that passes it is an attempt: counted before the service is
 * asked, so that no burst gets past the limit, and given back unless it has failed.
 */
export interface GuessGate {
  /** The client key of a request. */
  keyGenerator(req: Request): string;
  /**
   * Asks the service, unless the client has too many failed attempts. Over the limit, an attempt waits while others
   * of the client are in flight here, because they can still be given back.
   *
   * @param ask calls `onCached` when it gets its answer from the cache, or joins a request: that was counted already.
   * @param signal ends the question. Leaving before there is an answer counts as a failed attempt: a client that
   * disconnects each time would otherwise never reach the limit.
   * @param isFailed decides about an outcome, after the caller has it. It never throws.
   * @throws MarketgateError `too_many_attempts`, and whatever `ask` throws.
   */
  attempt<T>(
    client: string,
    ask: (onCached: () => void) => Promise<T>,
    signal?: AbortSignal,
    isFailed?: (outcome: Outcome<T>) => boolean | Promise<boolean>,
  ): Promise<T>;
}

const UNANSWERED = ['service_refused', 'unexpected_response', 'service_unavailable'];

/**
 * Whether the service has answered with no, or in a way that is neither yes nor no although it answers about the account
 * as ever. With `retryAfter` it is to be left alone, whatever it was asked.
 */
async function isFailedAttempt(outcome: Outcome<unknown>): Promise<boolean> {
  if ('value' in outcome) return outcome.value === null;
  const { error } = outcome;
  if (!isMarketgateError(error) || error.retryAfter !== undefined) return false;
  return UNANSWERED.includes(error.code) && isServing(error);
}

/** The limits of one guard. */
type Limits = Pick<GuessLimitSettings, 'limit' | 'windowMs' | 'total' | 'keyGenerator'> &
  Partial<Pick<GuessLimit, 'limiter' | 'totalLimiter'>>;

/** An attempt that was counted, unless a count is `over` its limit. */
interface Counted {
  readonly over?: AttemptCount;
  giveBack(): Promise<unknown>;
}

/** What one client has in progress. A waiting attempt is not active: the one that ends hands it its place. */
interface ClientState {
  active: number;
  /** How many have ended. */
  ended: number;
  readonly waiting: (() => void)[];
}

/** The key of all clients together. */
const EVERYBODY = 'all';
/** Milliseconds that a limiter of the app can take. That of Redis has a shorter limit of its own. */
const LIMITER_TIMEOUT = 2000;
/** Milliseconds after which a limiter fails again. One slow reply at the start is no news. */
const AGAIN = 1000;

/** The attempts at one client of the service. All its guards count together, wherever they were made. */
class Attempts {
  /** By the length of the window. Each attempt counts in all of them. */
  readonly #windows = new Map<number, MemoryLimiter>();
  readonly #total = new MemoryLimiter(MINUTE);
  readonly #clients = new Map<string, ClientState>();
  #firstFailure: number | undefined;

  /** Counts from now on in windows of this length, too. */
  addWindow(windowMs: number): void {
    if (!this.#windows.has(windowMs)) this.#windows.set(windowMs, new MemoryLimiter(windowMs));
  }

  async run<T>(
    limits: Limits,
    client: string,
    ask: (onCached: () => void) => Promise<T>,
    signal?: AbortSignal,
    isFailed: (outcome: Outcome<T>) => boolean | Promise<boolean> = isFailedAttempt,
  ): Promise<T> {
    const giveBack = await this.#enter(limits, client);
    let isCached = false;
    const end = async (outcome: Outcome<T>): Promise<void> => {
      const hasLeft = 'error' in outcome && signal?.aborted;
      if (isCached || !(hasLeft || (await isFailed(outcome)))) await giveBack();
      this.#leave(client);
    };
    // The end is not awaited: no customer waits for the guess limit.
    try {
      const value = await ask(() => {
        isCached = true;
      });
      void end({ value });
      return value;
    } catch (error) {
      void end({ error });
      throw error;
    }
  }

  /** Counts an attempt, or waits until it can be counted. @returns what gives it back. */
  async #enter(limits: Limits, client: string): Promise<() => Promise<unknown>> {
    const state = this.#clients.get(client) ?? { active: 0, ended: 0, waiting: [] };
    this.#clients.set(client, state);
    state.active++;
    for (;;) {
      const { ended } = state;
      const { over, giveBack } = await this.#count(limits, client);
      if (over === undefined) return giveBack;
      await giveBack();
      // One that ended meanwhile can have been given back.
      if (state.ended > ended) continue;
      if (state.active === 1) {
        // Nothing is in flight that could be given back. The next one that waits is refused in turn.
        this.#leave(client);
        throw tooManyAttempts(over, limits);
      }
      state.active--;
      await new Promise<void>((go) => state.waiting.push(go));
    }
  }

  #leave(client: string): void {
    const state = this.#clients.get(client) as ClientState;
    state.ended++;
    const next = state.waiting.shift();
    if (next !== undefined) next();
    else if (--state.active === 0) this.#clients.delete(client);
  }

  /** Counts an attempt everywhere. The limiters of the app come after those in memory, which cost no call. */
  async #count(limits: Limits, client: string): Promise<Counted> {
    const { limit, windowMs, total, limiter, totalLimiter } = limits;
    const none = Number.POSITIVE_INFINITY;
    const counters: [AttemptLimiter | undefined, key: string, most: number][] = [
      ...[...this.#windows].map(([length, window]): [MemoryLimiter, string, number] => [
        window,
        client,
        length === windowMs ? limit : none,
      ]),
      [this.#total, EVERYBODY, total],
      [limiter, client, none],
      [totalLimiter, EVERYBODY, none],
    ];
    const counted: (() => Promise<unknown>)[] = [];
    const giveBack = () => Promise.allSettled(counted.map((reward) => reward()));
    /** Whether the client has no other attempt, neither a failed one nor one in flight. */
    let isFirst = true;
    for (const [counter, key, most] of counters) {
      const count = counter && (await this.#consume(counter, key));
      if (!counter || !count) continue;
      counted.push(() => withTimeout(LIMITER_TIMEOUT, () => counter.reward(key)));
      if (key === client) isFirst &&= count.consumedPoints === 1;
      const isOver = count.isOver || count.consumedPoints > most;
      if (isOver && !(key === EVERYBODY && isFirst)) return { over: count, giveBack };
    }
    return { giveBack };
  }

  /** Counts in one limiter. `undefined` when it fails: the process has counted, and no customer is refused. */
  async #consume(
    limiter: AttemptLimiter,
    key: string,
  ): Promise<(AttemptCount & { isOver: boolean }) | undefined> {
    const consume = () => limiter.consume(key);
    try {
      const { consumedPoints, msBeforeNext } = await withTimeout(LIMITER_TIMEOUT, consume);
      return { consumedPoints, msBeforeNext, isOver: false };
    } catch (error) {
      if (error instanceof Error) return void this.#reportFailure(limiter, error);
      const { consumedPoints, msBeforeNext } = error as AttemptCount;
      return { consumedPoints, msBeforeNext, isOver: true };
    }
  }

  #reportFailure(limiter: AttemptLimiter, error: Error): void {
    reportDrift(limiter, {
      endpoint: 'guessLimit.consume',
      kind: 'not-counted',
      path: 'count',
      expected: 'a limiter that answers; in Redis, one that can write and run scripts (EVAL)',
    });
    const now = performance.now();
    this.#firstFailure ??= now;
    // A message of another library can contain the client.
    const why = isMarketgateError(error) ? `; last failure: ${error.message.split(';')[0]}` : '';
    if (now - this.#firstFailure >= AGAIN) warnOnce('MARKETGATE_GUESSES_NOT_SHARED', why);
  }
}

function tooManyAttempts({ msBeforeNext }: AttemptCount, { windowMs }: Limits): MarketgateError {
  // A limiter whose counts never end gives -1.
  const left = msBeforeNext > 0 ? msBeforeNext : windowMs;
  return new MarketgateError(
    'too_many_attempts',
    'this client has too many failed attempts: codes, items or logins that the service does not know; wait as long as retryAfter says',
    { retryAfter: Math.ceil(left / 1000) },
  );
}

/** By KeyApi or LoginApi. */
const attemptsOf = new WeakMap<object, Attempts>();

const WHAT =
  '{ limit, windowMs, total, keyGenerator }, a MemoryGuessLimit or RedisGuessLimit, { limiter, keyGenerator }, or false';

/**
 * Makes the gate for the option `guessLimit`; `undefined` when that is `false`.
 * @param api the KeyApi or LoginApi that is asked. All its gates count together.
 * @throws TypeError that names the wrong option.
 */
export function guessGate(
  owner: string,
  option: GuessLimitOption | undefined,
  api: object,
): GuessGate | undefined {
  if (option === false) return undefined;
  const given: object = option === undefined ? {} : option;
  shapedOption(owner, 'guessLimit', given, [], WHAT);
  const limits: Limits =
    'limiter' in given
      ? limitsWith(`${owner}: guessLimit`, given as GuessLimit)
      : new GuessLimitSettings(`${owner}: guessLimit`, given);
  const attempts = attemptsOf.get(api) ?? new Attempts();
  attemptsOf.set(api, attempts);
  attempts.addWindow(limits.windowMs);
  return {
    keyGenerator: (req) => clientKey(limits.keyGenerator(req)),
    attempt: (...attempt) => attempts.run(limits, ...attempt),
  };
}

/** The limits of a guard that have limiters. */
function limitsWith(owner: string, given: GuessLimit): Limits {
  const { limiter, totalLimiter } = given;
  for (const [name, value] of Object.entries({ limiter, totalLimiter })) {
    if (name === 'totalLimiter' && value === undefined) continue;
    const what = 'a limiter of rate-limiter-flexible';
    shapedOption<AttemptLimiter>(owner, name, value, ['consume', 'reward'], what);
  }
  if (given instanceof GuessLimitSettings) return given;
  const names = ['limiter', 'totalLimiter', 'total', 'keyGenerator'] as const;
  const { total, keyGenerator } = knownOptions(owner, given, names);
  // The process counts by the limiter's own settings; some limiters combine others and have none.
  const { points, duration } = limiter as { points?: unknown; duration?: unknown };
  const limit = Math.floor(Number(points));
  const windowMs = Math.min(Number(duration) * 1000, MAX_TIMER_DELAY);
  const own = { ...(limit > 0 && { limit }), ...(windowMs > 0 && { windowMs }) };
  const settings = new GuessLimitSettings(owner, { total, keyGenerator, ...own });
  return { ...settings, limiter, totalLimiter };
}
