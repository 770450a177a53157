import type { Request } from 'express';
import { MarketgateError } from '../../errors/marketgate-error.js';
import { wrongOption } from '../../options/check-options.js';
import type { GuessLimit, GuessLimitOptions } from './guess-limit.js';
import { checkGuessLimitOptions, MemoryGuessLimit } from './memory-guess-limit.js';

/** What `guessLimit` can be. */
export type GuessLimitOption = GuessLimitOptions | GuessLimit | false;

/** Asks the service about a code, unless the visitor has guessed too often. */
export type GuessGate = <T>(
  req: Request,
  code: string,
  ask: () => Promise<T | null>,
) => Promise<T | null>;

/** @throws TypeError that names the wrong option. */
export function guessGate(owner: string, option: GuessLimitOption | undefined): GuessGate {
  if (option === false) return (_req, _code, ask) => ask();
  if (option !== undefined && (typeof option !== 'object' || option === null)) {
    throw wrongOption(
      owner,
      'guessLimit',
      'must be { limit, window, by }, a guess limit, or false',
    );
  }
  const limit = isGuessLimit(option)
    ? option
    : new MemoryGuessLimit(checkGuessLimitOptions(`${owner}: guessLimit`, option ?? {}));
  return gateOf(limit);
}

const isGuessLimit = (option: GuessLimitOption | undefined): option is GuessLimit =>
  typeof option === 'object' &&
  (['by', 'left', 'count'] as const).every(
    (method) => typeof (option as Partial<GuessLimit>)[method] === 'function',
  );

/**
 * Only a real *no* counts, and that is known afterwards. So that many guesses at once do not all get
 * through, no more are let on at a time than are left; the others wait for one of them to be
 * answered. Who asks about a code that is being asked about already does not guess another.
 */
function gateOf(limit: GuessLimit): GuessGate {
  /** By guesser: the codes that are being asked about, each with what settles when it is counted. */
  const asking = new Map<string, Map<string, Promise<void>>>();

  /** Takes a place for this code; gives what ends it, or nothing when another has the place. */
  async function enter(who: string, code: string): Promise<(() => void) | undefined> {
    for (;;) {
      const { left, retryAfter } = await limit.left(who).catch(() => UNLIMITED);
      // Looked at and taken in one turn, or two guesses could take the same place.
      const codes = asking.get(who) ?? new Map<string, Promise<void>>();
      if (left <= 0) throw tooMany(retryAfter);
      if (codes.has(code)) return undefined;
      if (codes.size < left) {
        let leave: () => void = () => {};
        codes.set(code, new Promise<void>((resolve) => (leave = resolve)));
        asking.set(who, codes);
        return () => {
          codes.delete(code);
          if (codes.size === 0) asking.delete(who);
          leave();
        };
      }
      await Promise.race(codes.values());
    }
  }

  return async (req, code, ask) => {
    const who = limit.by(req);
    const leave = await enter(who, code);
    if (leave === undefined) return ask();
    try {
      const answer = await ask();
      // Before the place is free, so that who waits for it finds the new count.
      if (answer === null) await limit.count(who).catch(() => {});
      return answer;
    } finally {
      leave();
    }
  };
}

/** A counter that cannot be read must not refuse customers; it guards no door, only our quota. */
const UNLIMITED = { left: Number.POSITIVE_INFINITY, retryAfter: 0 };

const tooMany = (retryAfter: number): MarketgateError =>
  new MarketgateError('too_many_attempts', 'too many purchase codes that the service said no to', {
    retryAfter: Math.max(1, retryAfter),
  });
