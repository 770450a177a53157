import type { Request } from 'express';
import { MAX_TIMER_DELAY, NoAnswer, withTimeout } from '../deadline.js';
import { reportDrift, warnOnce } from '../diagnostics.js';
import { isMarketgateError, MarketgateError } from '../errors.js';
import { isServing } from '../http/http-client.js';
import { knownOptions, shapedOption } from '../options.js';
import {
  type AttemptCount,
  type AttemptLimiter,
  type GuessLimit,
  type GuessLimitOptions,
  GuessLimitSettings,
  MemoryLimiter,
  MINUTE,
} from '../stores/guess-limit.js';

/** What `guessLimit` can be. */
export type GuessLimitOption = GuessLimitOptions | GuessLimit | false;

/** The limits of one guard. */
type Limits = GuessLimitSettings & Partial<Pick<GuessLimit, 'limiter' | 'totalLimiter'>>;

/** A limiter that counts an attempt, and the most attempts that this guard allows there. */
interface Counter {
  readonly limiter: AttemptLimiter;
  readonly key: string;
  readonly most: number;
  /** Whether it counts all clients together. */
  readonly isTotal?: boolean;
  /**
   * Until when its count of the attempt holds, as `performance.now()`; 0: it has not counted. It can count when nobody
   * waits for it any more.
   */
  countsUntil?: Promise<number>;
}

/** The key of all clients together. */
const EVERYBODY = 'all';
/** Milliseconds that a limiter can take, unless it names a shorter time. */
const LIMITER_TIMEOUT = 2000;
/** Milliseconds after which a limiter fails again. One slow reply at the start is no news. */
const AGAIN = 1000;

/** What all guards of one client of the service share, wherever they were made. */
class Attempts {
  /** By the length of the window. Each attempt counts in all of them. */
  readonly windows = new Map<number, MemoryLimiter>();
  readonly total = new MemoryLimiter(MINUTE);
  /** By client: how many attempts are being counted or in flight, and those that wait for the place of one of these. */
  readonly clients = new Map<string, { active: number; readonly waiting: (() => void)[] }>();
}

/**
 * The guess limit of a guard. A question to the service is an attempt: counted before the service is asked, so that no
 * burst gets past the limit, and given back unless it has failed.
 */
export class GuessGate {
  constructor(
    private readonly limits: Limits,
    private readonly attempts: Attempts,
  ) {
    const { windowMs } = limits;
    const window = attempts.windows.get(windowMs) ?? new MemoryLimiter(windowMs);
    attempts.windows.set(windowMs, window);
  }

  /** The client key of a request. */
  keyGenerator(req: Request): string {
    return this.limits.keyGenerator(req);
  }

  /**
   * Asks the service, unless the client has too many failed attempts.
   *
   * @param ask calls `onCached` when it gets its answer from the cache, or joins a request: that was counted already.
   * @param signal ends the question. Leaving before there is an answer counts as a failed attempt: a client that
   * disconnects each time would otherwise never reach the limit.
   * @param isFailed decides about an answer or an error, after the caller has it. It never throws.
   * @throws MarketgateError `too_many_attempts`, and whatever `ask` throws.
   */
  async attempt<T>(
    client: string,
    ask: (onCached: () => void) => Promise<T>,
    signal?: AbortSignal,
    isFailed: (answer: unknown) => boolean | Promise<boolean> = isFailedAttempt,
  ): Promise<T> {
    const counters = await this.#enter(client);
    // A visitor who left while waiting causes no request.
    if (signal?.aborted) {
      void giveBack(counters).then(() => this.#leave(client));
      throw signal.reason;
    }
    let isCached = false;
    const end = async (answer: unknown, hasLeft = false): Promise<void> => {
      const hasFailed = !isCached && (hasLeft || (await isFailed(answer)));
      if (!hasFailed) await giveBack(counters);
      this.#leave(client);
    };
    // The end is not awaited: no customer waits for the guess limit.
    try {
      const answer = await ask(() => {
        isCached = true;
      });
      void end(answer);
      return answer;
    } catch (error) {
      void end(error, signal?.aborted);
      throw error;
    }
  }

  /**
   * Counts an attempt. Over the limit, it waits while others of the client are in flight here, because they can still be
   * given back.
   * @returns what was to count it.
   */
  async #enter(client: string): Promise<Counter[]> {
    const state = this.attempts.clients.get(client) ?? { active: 0, waiting: [] };
    this.attempts.clients.set(client, state);
    state.active++;
    for (;;) {
      const isAlone = state.active === 1;
      const { counters, over } = await this.#count(client);
      if (over === undefined) return counters;
      await giveBack(counters);
      if (state.active > 1) {
        state.active--;
        await new Promise<void>((go) => state.waiting.push(go));
      } else if (isAlone) {
        this.#leave(client);
        throw tooManyAttempts(over, this.limits);
      }
      // Another one has ended meanwhile, and can have been given back.
    }
  }

  /** Ends an attempt, and leaves its place to the next one that waits. */
  #leave(client: string): void {
    const { clients } = this.attempts;
    const state = clients.get(client);
    const next = state?.waiting.shift();
    if (next !== undefined) next();
    else if (state !== undefined && --state.active === 0) clients.delete(client);
  }

  /**
   * Counts an attempt everywhere, or until a count is over its limit.
   * @returns what was to count it, and the count that is over its limit.
   */
  async #count(client: string): Promise<{ counters: Counter[]; over?: AttemptCount }> {
    const counters: Counter[] = [];
    /** Whether the client has other attempts, failed or in flight. Only for them is there a limit of all clients. */
    let hasOthers = false;
    for (const counter of this.#countersFor(client)) {
      counters.push(counter);
      const count = await consume(counter);
      if (count === undefined) continue;
      if (!counter.isTotal) hasOthers ||= count.consumedPoints > 1;
      if (count.isOver && (!counter.isTotal || hasOthers)) return { counters, over: count };
    }
    return { counters };
  }

  /** What counts an attempt. Limiters that the app has given come last, because those in memory cost no call. */
  #countersFor(client: string): Counter[] {
    const { limit, windowMs, total, limiter, totalLimiter } = this.limits;
    const none = Number.POSITIVE_INFINITY;
    const counters = [...this.attempts.windows].map(
      ([length, window]): Counter => ({
        limiter: window,
        key: client,
        most: length === windowMs ? limit : none,
      }),
    );
    const everybody = { key: EVERYBODY, isTotal: true };
    counters.push({ limiter: this.attempts.total, ...everybody, most: total });
    if (limiter) counters.push({ limiter, key: client, most: none });
    if (totalLimiter) counters.push({ limiter: totalLimiter, ...everybody, most: none });
    return counters;
  }
}

/** Counts in one limiter. `undefined` when it fails: the process has counted, and no customer is refused. */
async function consume(
  counter: Counter,
): Promise<(AttemptCount & { isOver: boolean }) | undefined> {
  const { limiter, key, most } = counter;
  const count = async () => {
    try {
      const { consumedPoints, msBeforeNext } = await limiter.consume(key);
      return { consumedPoints, msBeforeNext, isOver: consumedPoints > most };
    } catch (error) {
      if (error instanceof Error) throw error;
      const { consumedPoints, msBeforeNext } = error as AttemptCount;
      return { consumedPoints, msBeforeNext, isOver: true };
    }
  };
  const sentAt = performance.now();
  const counting = count();
  counter.countsUntil = counting.then(
    ({ consumedPoints, msBeforeNext }) => {
      // Some limiters remember who is over the limit, and refuse without counting.
      if (consumedPoints === 0) return 0;
      return hasEnd(msBeforeNext) ? sentAt + msBeforeNext : Number.POSITIVE_INFINITY;
    },
    () => 0,
  );
  try {
    return await withTimeout(timeoutOf(limiter), () => counting);
  } catch (error) {
    return void reportFailure(limiter, error as Error);
  }
}

const timeoutOf = ({ timeout = LIMITER_TIMEOUT }: AttemptLimiter): number => timeout;

/** A limiter whose counts never end gives -1. */
const hasEnd = (msBeforeNext: number): boolean => msBeforeNext > 0;

/**
 * Gives an attempt back, also where it is counted later, but not to the next window. Nobody waits for that for long.
 */
const giveBack = (counters: readonly Counter[]): Promise<unknown> =>
  Promise.allSettled(
    counters.map(({ limiter, key, countsUntil }) =>
      withTimeout(timeoutOf(limiter), async () => {
        const until = (await countsUntil) ?? 0;
        if (performance.now() < until) await limiter.reward(key);
      }),
    ),
  );

/** When each limiter failed first. */
const firstFailures = new WeakMap<object, number>();

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
  if (now - first < AGAIN) return;
  // A message of another library can contain the client.
  const isOurs = isMarketgateError(error) || error instanceof NoAnswer;
  const why = isOurs ? `; last failure: ${error.message.split(';')[0]}` : '';
  warnOnce('MARKETGATE_GUESSES_NOT_SHARED', why);
}

const UNANSWERED = ['service_refused', 'unexpected_response', 'service_unavailable'];

/**
 * Whether the service has answered with no, or in a way that is neither yes nor no although it answers about the account
 * as ever. With `retryAfter` it is to be left alone, whatever it was asked.
 */
async function isFailedAttempt(answer: unknown): Promise<boolean> {
  if (!isMarketgateError(answer)) return answer === null;
  return answer.retryAfter === undefined && UNANSWERED.includes(answer.code) && isServing(answer);
}

function tooManyAttempts({ msBeforeNext }: AttemptCount, { windowMs }: Limits): MarketgateError {
  const left = hasEnd(msBeforeNext) ? msBeforeNext : windowMs;
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
  option: GuessLimitOption = {},
  api: object,
): GuessGate | undefined {
  if (option === false) return undefined;
  shapedOption(owner, 'guessLimit', option, [], WHAT);
  const name = `${owner}: guessLimit`;
  const limits =
    'limiter' in option ? limitsWith(name, option) : new GuessLimitSettings(name, option);
  const attempts = attemptsOf.get(api) ?? new Attempts();
  attemptsOf.set(api, attempts);
  return new GuessGate(limits, attempts);
}

/** The limits of a guard that have limiters. */
function limitsWith(owner: string, given: GuessLimit): Limits {
  const { limiter, totalLimiter } = given;
  checkLimiter(owner, 'limiter', limiter);
  if (totalLimiter !== undefined) checkLimiter(owner, 'totalLimiter', totalLimiter);
  if (given instanceof GuessLimitSettings) return given;
  const names = ['limiter', 'totalLimiter', 'total', 'keyGenerator'] as const;
  const { total, keyGenerator } = knownOptions(owner, given, names);
  // The process counts by the limiter's own settings; some limiters combine others and have none.
  const { points, duration } = limiter as { points?: unknown; duration?: unknown };
  const limit = Math.floor(Number(points));
  const windowMs = Math.min(Number(duration) * 1000, MAX_TIMER_DELAY);
  const own = { ...(limit > 0 && { limit }), ...(windowMs > 0 && { windowMs }) };
  const settings = new GuessLimitSettings(owner, { total, keyGenerator, ...own });
  return Object.assign(settings, { limiter, totalLimiter });
}

function checkLimiter(owner: string, name: string, value: unknown): void {
  const what = 'a limiter of rate-limiter-flexible';
  shapedOption<AttemptLimiter>(owner, name, value, ['consume', 'reward'], what);
}
