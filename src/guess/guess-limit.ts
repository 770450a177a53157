import { MAX_TIMER_DELAY } from '../deadline.js';
import { MarketgateError } from '../errors.js';
import { type Check, positive, readOptions, shaped, type Table, wrongOption } from '../options.js';

/** How many guesses are allowed: codes, items and logins that the service does not answer with yes. */
export interface GuessLimitOptions {
  /** Guesses of one client within `windowMs`. Default 10. */
  limit?: number | undefined;
  /** The length of a window in milliseconds. The first guess begins it. Default 60,000. */
  windowMs?: number | undefined;
  /**
   * Guesses of all clients together within `windowMs`. Beyond it, only clients without a guess are let through, so that
   * guesses from many addresses leave customers some of the service's quota. Default 30.
   */
  total?: number | undefined;
}

/** Counts the guesses of all processes, such as `RedisGuessLimit` of `marketgate/redis`. */
export interface GuessLimit {
  /**
   * Whether a client can ask. Called before the service is asked. After an error, and after half a second, the process counts
   * by itself.
   *
   * @param client who asks: an address, or the id that the app's `client` gives.
   * @param scope names the service and the account. Clients of two scopes are counted separately.
   * @returns the seconds to wait; 0: the client can ask.
   */
  check(client: string, scope: string): Promise<number>;
  /** Counts a guess: the service has answered, and not with yes. */
  add(client: string, scope: string): Promise<void>;
}

/** What `guessLimit` can be. */
export type GuessLimitOption = GuessLimitOptions | GuessLimit | false;

/** {@link GuessLimitOptions}, checked and complete. */
type Limits = Readonly<Record<keyof GuessLimitOptions, number>>;

const guesses =
  (fallback: number): Check<number> =>
  (owner, name, value) => {
    const limit = positive('guesses', fallback)(owner, name, value);
    if (Number.isSafeInteger(limit)) return limit;
    throw wrongOption(owner, name, 'must be a whole number');
  };

const windowMs: Check<number> = (owner, name, value) => {
  const milliseconds = positive('milliseconds', 60_000)(owner, name, value);
  if (milliseconds <= MAX_TIMER_DELAY) return Math.ceil(milliseconds);
  throw wrongOption(owner, name, `must be at most ${MAX_TIMER_DELAY} (24 days)`);
};

/** The checks of {@link GuessLimitOptions}. */
export const LIMITS = {
  limit: guesses(10),
  windowMs,
  total: guesses(30),
} satisfies Table<GuessLimitOptions>;

const WHAT = '{ limit, windowMs, total }, a RedisGuessLimit or another GuessLimit, or false';
/** `guessLimit: false`. */
const NO_LIMITS = { limit: Number.POSITIVE_INFINITY, windowMs: 1, total: Number.POSITIVE_INFINITY };

/** The option `guessLimit`: the limits of this process, and what counts for all processes. */
export interface GuessRules {
  /** A {@link GuessLimit} of the app's need not say how much it allows: then they hold while that cannot count. */
  readonly limits: Limits;
  readonly shared: (GuessLimit & Partial<Limits>) | undefined;
}

export const guessLimitOption: Check<GuessRules> = (owner, name, option = {}) => {
  if (option === false) return { limits: NO_LIMITS, shared: undefined };
  const given = shaped<GuessLimitOptions & Partial<GuessLimit>>([], WHAT)(owner, name, option);
  if (!('check' in given || 'add' in given)) {
    return { limits: readOptions(owner, LIMITS, given, name), shared: undefined };
  }
  const shared = shaped<GuessLimit & Partial<Limits>>(['check', 'add'], WHAT)(owner, name, given);
  const { limit, windowMs, total } = shared;
  return { limits: readOptions(owner, LIMITS, { limit, windowMs, total }, name), shared };
};

export const tooManyAttempts = (seconds: number): MarketgateError =>
  new MarketgateError(
    'too_many_attempts',
    'this client has too many failed attempts: codes, items or logins that the service does not know; wait as long as retryAfter says',
    { retryAfter: Math.max(1, Math.ceil(seconds)) },
  );
