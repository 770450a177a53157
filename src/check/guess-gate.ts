import type { Request } from 'express';
import { MAX_TIMER_DELAY, withTimeout } from '../deadline.js';
import { reportDrift, warnOnce } from '../diagnostics.js';
import { MarketgateError } from '../errors.js';
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
   * @param isFailed decides about an outcome, after the caller has it. A rejection counts as true, and so does leaving
   * before there is an answer: a client that disconnects each time would otherwise never reach the limit.
   * @param signal ends the question; it is passed to `ask`.
   * @throws MarketgateError `too_many_attempts`, and whatever `ask` throws.
   */
  attempt<T>(
    client: string,
    ask: (signal?: AbortSignal) => Promise<T>,
    isFailed: (outcome: Outcome<T>) => boolean | Promise<boolean>,
    signal?: AbortSignal,
  ): Promise<T>;
}

/** The limits of one guard. */
type Limits = Pick<GuessLimitSettings, 'limit' | 'windowMs' | 'total' | 'keyGenerator'> &
  Partial<Pick<GuessLimit, 'limiter' | 'totalLimiter'>>;

/** An attempt that was counted, unless a count is `over` its limit. */
interface Counted {
  readonly over?: AttemptCount;
  giveBack(): Promise<void>;
}

/** What one client has in progress. A waiting attempt is not active: the one that ends hands it its place. */
interface ClientState {
  active: number;
  /** How many have ended. */
  ended: number;
  readonly waiting: { go(): void; fail(refusal: MarketgateError): void }[];
}

/** The key of all clients together. */
const EVERYBODY = 'all';

/** The attempts at one client of the service. All its guards count together, wherever they were made. */
class Attempts {
  /** By the length of the window. Each attempt counts in all of them. */
  readonly #windows = new Map<number, MemoryLimiter>();
  readonly #total = new MemoryLimiter(MINUTE);
  readonly #clients = new Map<string, ClientState>();

  /** Counts from now on in windows of this length, too. */
  addWindow(windowMs: number): void {
    if (!this.#windows.has(windowMs)) this.#windows.set(windowMs, new MemoryLimiter(windowMs));
  }

  async run<T>(
    limits: Limits,
    client: string,
    ask: (signal?: AbortSignal) => Promise<T>,
    isFailed: (outcome: Outcome<T>) => boolean | Promise<boolean>,
    signal?: AbortSignal,
  ): Promise<T> {
    const giveBack = await this.#enter(limits, client);
    // Not awaited: no customer waits for the guess limit. If it fails, the attempt counts as a failed one.
    const end = (isCounted: () => boolean | Promise<boolean>): void => {
      const settle = async (): Promise<void> => {
        if (!(await isCounted())) await giveBack();
      };
      void settle()
        .catch(() => {})
        .then(() => this.#leave(client));
    };
    if (signal?.aborted) {
      end(() => false);
      throw signal.reason;
    }
    try {
      const value = await ask(signal);
      end(() => isFailed({ value }));
      return value;
    } catch (error) {
      end(() => signal?.aborted || isFailed({ error }));
      throw error;
    }
  }

  /** Counts an attempt, or waits until it can be counted. @returns what gives it back. */
  async #enter(limits: Limits, client: string): Promise<() => Promise<void>> {
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
        // Nothing is in flight that could be given back. So the waiting ones would be refused, too.
        const refusal = tooManyAttempts(over, limits);
        for (const each of state.waiting.splice(0)) each.fail(refusal);
        this.#leave(client);
        throw refusal;
      }
      state.active--;
      await new Promise<void>((go, fail) => state.waiting.push({ go, fail }));
    }
  }

  #leave(client: string): void {
    const state = this.#clients.get(client) as ClientState;
    state.ended++;
    const next = state.waiting.shift();
    if (next !== undefined) next.go();
    else if (--state.active === 0) this.#clients.delete(client);
  }

  /** Counts an attempt everywhere. The limiters of the app come after those in memory, which cost no call. */
  async #count(limits: Limits, client: string): Promise<Counted> {
    const { limit, windowMs, total, limiter, totalLimiter } = limits;
    const none = Number.POSITIVE_INFINITY;
    const counters: [AttemptLimiter | undefined, key: string, limit: number][] = [
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
    const giveBack = async (): Promise<void> => {
      await Promise.allSettled(counted.map((reward) => reward()));
    };
    /** Whether the client has no other attempt, neither a failed one nor one in flight. */
    let isFirst = true;
    for (const [counter, key, most] of counters) {
      const count = counter && (await consume(counter, key));
      if (!counter || !count) continue;
      counted.push(() => withTimeout(LIMITER_TIMEOUT, () => counter.reward(key)));
      if (key === client) isFirst &&= count.consumedPoints === 1;
      const isOver = count.isOver || count.consumedPoints > most;
      if (isOver && !(key === EVERYBODY && isFirst)) return { over: count, giveBack };
    }
    return { giveBack };
  }
}

/** Milliseconds that a limiter of the app can take. That of Redis has a shorter limit of its own. */
const LIMITER_TIMEOUT = 2000;

/** Counts an attempt. `undefined` when the limiter fails: the process has counted it, and no customer is refused. */
async function consume(
  limiter: AttemptLimiter,
  key: string,
): Promise<(AttemptCount & { isOver: boolean }) | undefined> {
  try {
    const { consumedPoints, msBeforeNext } = await withTimeout(LIMITER_TIMEOUT, () =>
      limiter.consume(key),
    );
    return { consumedPoints, msBeforeNext, isOver: false };
  } catch (error) {
    if (error instanceof Error) return void reportFailure(limiter, error);
    const { consumedPoints, msBeforeNext } = Object(error) as AttemptCount;
    return { consumedPoints, msBeforeNext, isOver: true };
  }
}

/** Milliseconds after which a failure is not the same one as the first. */
const AGAIN = 1000;

/** When each limiter first failed, by the clock for durations. */
const firstFailures = new WeakMap<object, number>();

/** Reports a limiter that failed, and warns when it fails again: one slow reply at the start is no news. */
function reportFailure(limiter: AttemptLimiter, error: Error): void {
  reportDrift(limiter, {
    endpoint: 'guessLimit.consume',
    kind: 'not-counted',
    path: 'count',
    expected: 'a limiter that answers; in Redis, one that can write and run scripts (EVAL)',
  });
  const now = performance.now();
  const first = firstFailures.get(limiter) ?? now;
  firstFailures.set(limiter, first);
  // A message of another library can contain the client.
  const why = error instanceof MarketgateError ? `; last failure: ${error.message}` : '';
  if (now - first >= AGAIN) warnOnce('MARKETGATE_GUESSES_NOT_SHARED', why);
}

/** The longest `Retry-After`: a week. `String` writes very large numbers as `1e+21`, which the header forbids. */
const MAX_SECONDS = 604_800;

function tooManyAttempts({ msBeforeNext }: AttemptCount, { windowMs }: Limits): MarketgateError {
  const left = msBeforeNext > 0 ? msBeforeNext : windowMs;
  return new MarketgateError(
    'too_many_attempts',
    'this client has too many failed attempts: codes, items or logins that the service does not know; wait as long as retryAfter says',
    { retryAfter: Math.min(Math.ceil(left / 1000), MAX_SECONDS) },
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
