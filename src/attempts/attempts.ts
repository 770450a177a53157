import { type Deadline, NoAnswer, withTimeout } from '../deadline.js';
import { reportDrift, warnOnce } from '../diagnostics.js';
import { isMarketgateError, type MarketgateError } from '../errors.js';
import { latest } from '../latest.js';
import { shaped } from '../options.js';
import { clientKey } from './client-key.js';
import {
  type GuessLimit,
  type GuessLimitOption,
  guessLimits,
  type Limits,
  MemoryGuessLimit,
  MINUTE,
  tooManyAttempts,
} from './guess-limit.js';

/** Milliseconds that a {@link GuessLimit} has for one call. */
const SHARED_TIMEOUT = 500;
/** The most positive answers that are remembered. */
const MAX_REMEMBERED = 10_000;

/** Takes an attempt off the count. In the memory of this process that is done when it returns. */
type GiveBack = () => void | Promise<void>;

/** The attempts of one client: those in flight here, and those that wait for one of them to end. */
interface Turns {
  inFlight: number;
  readonly waiting: (() => void)[];
}

/**
 * The guess limit of one `KeyApi` or `LoginApi`. A question to the service is an attempt: counted right before the
 * service is asked, so that no burst gets past the limit, and given back unless it has failed.
 *
 * The process always counts in its memory. A {@link GuessLimit} of a fleet counts next to that, and the stricter count
 * holds.
 */
export class Attempts {
  readonly #own: MemoryGuessLimit;
  readonly #shared: GuessLimit | undefined;
  /** An app's own limit need not say how much it allows. Then the count in memory holds only while that one fails. */
  readonly #ownHolds: boolean;
  readonly #turns = new Map<string, Turns>();
  /** Until when a client that has had an answer to something is counted if it asks again. */
  readonly #answered = latest<string, number>(MAX_REMEMBERED);
  readonly #clock: () => number;

  /** @param clock milliseconds, for durations. */
  constructor(limits: Limits, clock: () => number, shared?: GuessLimit) {
    this.#own = new MemoryGuessLimit(limits, clock);
    this.#clock = clock;
    this.#shared = shared;
    this.#ownHolds = shared === undefined || 'limit' in shared;
  }

  /** Why a client cannot ask now, where that is known without asking anybody: it has too many failed attempts. */
  refusalOf(client: string): MarketgateError | undefined {
    const key = clientKey(client);
    if (!this.#ownHolds || this.#turns.has(key)) return undefined;
    const wait = this.#own.waitOf(key);
    return wait === undefined ? undefined : tooManyAttempts(wait);
  }

  /**
   * Counts an attempt. Over the limit, it waits while others of the client are in flight here, because they can still be
   * given back.
   * @throws MarketgateError `too_many_attempts`, or the reason of the deadline.
   */
  async enter(client: string, scope: string, deadline: Deadline): Promise<GiveBack> {
    const turns = this.#turns.get(client) ?? { inFlight: 0, waiting: [] };
    this.#turns.set(client, turns);
    turns.inFlight++;
    for (;;) {
      const isAlone = turns.inFlight === 1;
      try {
        return await this.count(client, scope);
      } catch (error) {
        if (turns.inFlight > 1) {
          await this.#waitForTurn(client, turns, deadline);
        } else if (isAlone) {
          this.leave(client);
          throw error;
        }
        // Another one has ended meanwhile, and can have been given back.
      }
    }
  }

  /** Waits until another attempt has ended, in whose place this one is in flight then. */
  async #waitForTurn(client: string, turns: Turns, deadline: Deadline): Promise<void> {
    let wake = (): void => {};
    const turn = new Promise<void>((resolve) => {
      wake = resolve;
    });
    turns.waiting.push(wake);
    turns.inFlight--;
    try {
      await deadline.race(turn);
    } catch (error) {
      const at = turns.waiting.indexOf(wake);
      // Its turn came while it was leaving.
      if (at === -1) this.leave(client);
      else turns.waiting.splice(at, 1);
      throw error;
    }
  }

  /** Ends an attempt, and leaves its turn to the next one that waits. */
  leave(client: string): void {
    const turns = this.#turns.get(client);
    const next = turns?.waiting.shift();
    if (next !== undefined) next();
    else if (turns !== undefined && --turns.inFlight === 0) this.#turns.delete(client);
  }

  /** Counts an attempt here and, where there is one, in the limit of the fleet. @throws MarketgateError `too_many_attempts`. */
  async count(client: string, scope: string): Promise<GiveBack> {
    const wait = this.#own.waitOf(client);
    if (wait !== undefined && this.#ownHolds) throw tooManyAttempts(wait);
    const giveBack = this.#own.reserve(client);
    const shared = this.#shared;
    if (shared === undefined) return giveBack;
    const reserving = (async () => {
      const given: unknown = await shared.reserve(client, scope);
      if (typeof given === 'function') return given as GiveBack;
      throw new NoAnswer('gave no function that gives the attempt back');
    })();
    // What is counted after the deadline is given back as well.
    const giveAllBack = async (): Promise<void> => {
      giveBack();
      await reserving.then((giveBackShared) => giveBackShared()).catch(() => {});
    };
    try {
      await withTimeout(SHARED_TIMEOUT, () => reserving);
    } catch (error) {
      let refusal: unknown = error;
      if (!isMarketgateError(error) || error.code !== 'too_many_attempts') {
        reportFailure(shared, error);
        if (wait === undefined) return giveAllBack;
        refusal = tooManyAttempts(wait);
      }
      void giveAllBack();
      throw refusal;
    }
    return giveAllBack;
  }

  /**
   * Whether this is the first answer that the client has within a minute. Another one stays counted: with `fresh`, and
   * with logins, one client could otherwise use up the service's quota by something valid.
   */
  isFirstAnswer(client: string, subject: string): boolean {
    const key = `${client}\n${subject}`;
    const now = this.#clock();
    if (now < (this.#answered.get(key) ?? 0)) return false;
    this.#answered.set(key, now + MINUTE);
    return true;
  }
}

/** Reports that a limit could not count. A message of another library can contain the client. */
function reportFailure(shared: GuessLimit, error: unknown): void {
  reportDrift(shared, {
    endpoint: 'guessLimit.reserve',
    kind: 'not-counted',
    path: 'count',
    expected: 'a limit that answers; in Redis, one that can write and run scripts (EVAL)',
  });
  let why = '';
  if (error instanceof NoAnswer) why = `: guessLimit.reserve ${error.message}`;
  else if (isMarketgateError(error)) why = `: ${error.message.split(';')[0]}`;
  warnOnce('MARKETGATE_GUESSES_NOT_SHARED', why);
}

/** Codes of errors that are answers about what the client sent, and of those that can be. */
const REFUSED = ['auth_key_rejected', 'access_token_expired', 'login_failed'];
const KEY_REJECTED = 'api_key_rejected';
const UNANSWERED = ['service_refused', 'unexpected_response', 'service_unavailable'];

/** One call of a client, which can send several requests. Without a client, nobody is counted. */
export class Attempt {
  /** Whether a request has gone out. */
  isAsked = false;
  /** Whether the service has said no. That counts also where the no cannot be believed. */
  isRefused = false;
  readonly #counted: { readonly attempts: Attempts; readonly client: string } | undefined;
  readonly #reserved: GiveBack[] = [];

  /**
   * @param scope names the service and the account.
   * @param hooks `beforeSend` is called when a request has been counted: what it throws ends the call, and nothing is
   * counted. `onSend` is called right before each request.
   */
  constructor(
    attempts: Attempts | undefined,
    client: string | undefined,
    private readonly scope: () => string,
    private readonly hooks: {
      readonly beforeSend?: (() => unknown) | undefined;
      readonly onSend?: (() => void) | undefined;
    },
  ) {
    if (attempts && client !== undefined) this.#counted = { attempts, client: clientKey(client) };
  }

  /**
   * Counts a request, right before it goes out. The first one waits for its turn.
   * @returns false where the limit allows no retry. That never waits: it would wait for its own first request.
   * @throws MarketgateError `too_many_attempts`, or the reason of the deadline.
   */
  async reserve(deadline: Deadline): Promise<boolean> {
    if (this.#counted !== undefined) {
      const { attempts, client } = this.#counted;
      const isRetry = this.#reserved.length > 0;
      const scope = this.scope();
      try {
        const reserving = isRetry
          ? attempts.count(client, scope)
          : attempts.enter(client, scope, deadline);
        this.#reserved.push(await reserving);
      } catch (error) {
        if (isRetry) return false;
        throw error;
      }
    }
    await this.hooks.beforeSend?.();
    return true;
  }

  /** Must be called right before each request. */
  onSend(): void {
    this.isAsked = true;
    this.hooks.onSend?.();
  }

  /** Ends the attempt. What is given back is given back before the next one has its turn. */
  end(isCounted: boolean): void {
    if (this.#counted === undefined) return;
    const { attempts, client } = this.#counted;
    const reserved = this.#reserved.splice(0);
    const leave = (): void => attempts.leave(client);
    if (isCounted) leave();
    else {
      const giveAllBack = () => Promise.all(reserved.map((giveBack) => giveBack()));
      withTimeout(SHARED_TIMEOUT, giveAllBack).then(leave, leave);
    }
  }

  /** Ends the attempt after an answer that is not no. @param subject what the answer is about. */
  endWithAnswer(subject: string): void {
    if (this.#counted === undefined) return;
    const { attempts, client } = this.#counted;
    this.end(!attempts.isFirstAnswer(client, subject));
  }

  /**
   * Ends the attempt after an error. It is a failed one if the visitor left before the answer, so that nobody disconnects
   * each time and never reaches the limit; if the service has refused what was sent; and if the service fails on that
   * although it answers otherwise.
   * @param isServing finds out whether it does, asked after the failure.
   */
  async endWithError(error: unknown, hasLeft = false, isServing: () => Promise<boolean>) {
    if (this.#reserved.length === 0) return;
    const code = isMarketgateError(error) ? error.code : '';
    const isFailed = hasLeft || REFUSED.includes(code) || (this.isRefused && code !== KEY_REJECTED);
    this.end(this.isAsked && (isFailed || (UNANSWERED.includes(code) && (await isServing()))));
  }
}

const WHAT = '{ limit, windowMs, total }, a RedisGuessLimit or another GuessLimit, or false';

/** Checks the option `guessLimit`. @returns `undefined` for `false`. @throws TypeError that names the wrong option. */
export function attemptsOption(
  owner: string,
  option: GuessLimitOption = {},
  clock: () => number,
): Attempts | undefined {
  if (option === false) return undefined;
  shaped<GuessLimit>([], WHAT)(owner, 'guessLimit', option);
  if (!('reserve' in option)) {
    return new Attempts(guessLimits(`${owner}: guessLimit`, option), clock);
  }
  const shared = shaped<GuessLimit & Limits>(['reserve'], WHAT)(owner, 'guessLimit', option);
  const { limit, windowMs, total } = shared;
  return new Attempts(
    guessLimits(`${owner}: guessLimit`, { limit, windowMs, total }),
    clock,
    shared,
  );
}
