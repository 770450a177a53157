import type { Request } from 'express';

/** How often a visitor may guess. */
export interface GuessLimitOptions {
  /** Codes that the service says *no* to, in one window. Default 10. */
  limit?: number | undefined;
  /** Milliseconds of a window. Default 60,000. */
  window?: number | undefined;
  /**
   * Who is counted together. Default: `req.ip`, which needs Express's `trust proxy` behind a proxy.
   * An IPv6 address counts with its whole /56, for who has one has many.
   */
  by?: ((req: Request) => string | undefined) | undefined;
}

/**
 * A counter of wrong guesses. Made by the `guessLimit` option, or shared by a fleet with
 * `redisGuessLimit` of `marketgate/redis`.
 */
export interface GuessLimit {
  /** Who is counted together. */
  by(req: Request): string;
  /** How many more guesses there are, and when there will be more. */
  left(who: string): Promise<GuessesLeft>;
  /** Counts a guess that the service said *no* to. */
  count(who: string): Promise<void>;
}

/** What {@link GuessLimit.left} tells. */
export interface GuessesLeft {
  /** Guesses that may still be made in this window; 0 or less for none. */
  readonly left: number;
  /** Seconds until the window is over. */
  readonly retryAfter: number;
}
