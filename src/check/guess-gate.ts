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
 * The guess limit of a guard: questions to the service that pass it are attempts, counted before the service is asked,
 * so that no burst gets past the limit, and given back unless they have failed.
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
type Limits = Pick<GuessLimitSettings, 'limit' | 'windowMs' | 'total'> &
  Partial<Pick<GuessLimit, 'limiter' | 'totalLimiter'>>;

/** The key of all clients together. */
const EVERYBODY = 'all';

/** Milliseconds that a limiter of the app can take. That of Redis has a shorter limit of its own. */
const LIMITER_TIMEOUT = 2000;

/** What one client has in progress. A waiting attempt is not active: the one that ends hands it its place. */
interface ClientState {
  active: number;
  /** How many have ended. */
  ended: number;
  readonly waiting: { go(): void; fail(refusal: MarketgateError): void }[];
}

/** The attempts at one client of the service. All its guards count together, wherever they were made. */
class Attempts {
  /** By the length of the window. Each attempt counts in all of them. */
  readonly #windows = new Map<number, MemoryLimiter>();
  readonly #total = new MemoryLimiter(MINUTE);
  readonly #clients = new Map<string, ClientState>();

  /** Counts from now on in windows of this length, too. */
  addWindow(windowMs: number): MemoryLimiter {
    const window = this.#windows.get(windowMs) ?? new MemoryLimiter(windowMs);
    this.#windows.set(windowMs, window);
    return window;
  }

  async run<T>(
    limits: Limits,
    ...[client, ask, isFailed, signal]: Parameters<GuessGate['attempt']>
  ) {
    const giveBack = await this.#enter(limits, client);
    const settle = async (isCounted: boolean | Promise<boolean>): Promise<void> => {
      if (!(await isCounted)) await giveBack();
    };
    const end = (isCounted: () => boolean | Promise<boolean>) =>
      void settle((async () => isCounted())())
        .catch(() => {})
        .then(() => this.#leave(client));
    if (signal?.aborted) {
      end(() => false);
      throw signal.reason;
    }
    try {
      const value = await ask(signal);
      end(() => isFailed({ value }));
      return value as T;
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

  /** Counts an attempt. `over`: the count that is over its limit, and then it is to be given back. */
  async #count({ limit, windowMs, total, limiter, totalLimiter }: Limits, client: string) {
    const counted: (() => Promise<unknown>)[] = [];
    const giveBack = async (): Promise<void> => {
      await Promise.allSettled(counted.map((reward) => reward()));
    };
    /** In memory, where the guards' own limits are compared. */
    const count = (counter: MemoryLimiter, key: string): Promise<AttemptCount> => {
      counted.push(() => counter.reward(key));
      return counter.consume(key);
    };
    const window = this.addWindow(windowMs);
    const others = [...this.#windows.values()].filter((each) => each !== window);
    const [own] = await Promise.all([window, ...others].map((each) => count(each, client)));
    const all = await count(this.#total, EVERYBODY);
    const isOver = (own as AttemptCount).consumedPoints > limit;
    if (isOver) return { over: own, giveBack };
    if (all.consumedPoints > total && !isFirst(own)) return { over: all, giveBack };

    /** In the limiter of the app, which says whether it is over its limit. */
    const countIn = async (shared: AttemptLimiter, key: string) => {
      const reward = () => withTimeout(LIMITER_TIMEOUT, () => shared.reward(key));
      try {
        const result = await withTimeout(LIMITER_TIMEOUT, () => shared.consume(key));
        counted.push(reward);
        return { result, isOver: false };
      } catch (error) {
        // The process has counted it. A limiter that fails refuses no customer.
        if (error instanceof Error) return void notCounted(shared, error);
        counted.push(reward);
        return { result: error as AttemptCount, isOver: true };
      }
    };
    const ownShared = limiter && (await countIn(limiter, client));
    if (ownShared?.isOver) return { over: ownShared.result, giveBack };
    const allShared = totalLimiter && (await countIn(totalLimiter, EVERYBODY));
    if (allShared?.isOver && ownShared && !isFirst(ownShared.result)) {
      return { over: allShared.result, giveBack };
    }
    return { giveBack };
  }
}

/** Whether the client has no other attempt in the window, neither a failed one nor one in flight. */
const isFirst = (count: AttemptCount | undefined): boolean => !(Number(count?.consumedPoints) > 1);

/** The longest `Retry-After`: a week. `String` writes very large numbers as `1e+21`, which the header forbids. */
const MAX_SECONDS = 604_800;

function tooManyAttempts(over: AttemptCount, { windowMs }: Limits): MarketgateError {
  const left = over?.msBeforeNext > 0 ? over.msBeforeNext : windowMs;
  return new MarketgateError(
    'too_many_attempts',
    'this client has too many failed attempts: codes, items or logins that the service does not know; wait as long as retryAfter says',
    { retryAfter: Math.min(Math.ceil(left / 1000), MAX_SECONDS) },
  );
}

/** Milliseconds after which a failure is not the same one as the first. */
const AGAIN = 1000;

/** When each limiter first failed, by the clock for durations. */
const firstFailures = new WeakMap<object, number>();

/** Reports a limiter that failed, and warns when it fails again: one slow reply at the start is no news. */
function notCounted(limiter: AttemptLimiter, error: Error): void {
  reportDrift(limiter, {
    endpoint: 'guessLimit.consume',
    kind: 'not-counted',
    path: 'count',
    expected:
      'a limiter that answers; for RedisGuessLimit, a Redis that can be written to and runs scripts (EVAL)',
  });
  const now = performance.now();
  const first = firstFailures.get(limiter) ?? now;
  firstFailures.set(limiter, first);
  // Messages of other stores can contain the client.
  const why = error instanceof MarketgateError ? `; the last failure: ${error.message}` : '';
  if (now - first >= AGAIN) warnOnce('MARKETGATE_GUESSES_NOT_SHARED', why);
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
  const given = shapedOption<GuessLimit>(
    owner,
    'guessLimit',
    option === undefined ? {} : option,
    [],
    WHAT,
  );
  const limits = 'limiter' in given ? sharedLimits(owner, given) : settingsOf(owner, given);
  const attempts = attemptsOf.get(api) ?? new Attempts();
  attemptsOf.set(api, attempts);
  attempts.addWindow(limits.windowMs);
  return {
    keyGenerator: (req) => clientKey(limits.keyGenerator(req)),
    attempt: (...attempt) => attempts.run(limits, ...(attempt as Parameters<GuessGate['attempt']>)),
  };
}

const settingsOf = (owner: string, options: GuessLimitOptions) =>
  new GuessLimitSettings(`${owner}: guessLimit`, options);

/** The limits of a guard whose attempts another limiter counts as well. */
function sharedLimits(
  owner: string,
  given: GuessLimit,
): Limits & Pick<GuessLimitSettings, 'keyGenerator'> {
  const methods = ['consume', 'reward'] as const;
  const check = (name: 'limiter' | 'totalLimiter') =>
    shapedOption<AttemptLimiter>(
      owner,
      `guessLimit.${name}`,
      given[name],
      methods,
      'a limiter of rate-limiter-flexible',
    );
  const limiter = check('limiter');
  const totalLimiter = given.totalLimiter && check('totalLimiter');
  if (given instanceof GuessLimitSettings) {
    const { limit, windowMs, total, keyGenerator } = given;
    return { limit, windowMs, total, keyGenerator, limiter, totalLimiter };
  }
  const names = ['limiter', 'totalLimiter', 'total', 'keyGenerator'] as const;
  const { total, keyGenerator } = knownOptions(`${owner}: guessLimit`, given, names);
  // The process counts by the limiter's own settings; some limiters combine others and have none.
  const { points, duration } = limiter as { points?: unknown; duration?: unknown };
  const limit = Math.floor(Number(points));
  const windowMs = Math.min(Number(duration) * 1000, MAX_TIMER_DELAY);
  const settings = settingsOf(owner, {
    total,
    keyGenerator,
    ...(limit > 0 && { limit }),
    ...(windowMs > 0 && { windowMs }),
  });
  return { ...settings, limiter, totalLimiter };
}
