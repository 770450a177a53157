import type { Request } from 'express';
import { wrongOption } from '../../options/check-options.js';
import type { GuessLimit, GuessLimitOptions } from '../../stores/guess-limit/guess-limit.js';
import {
  checkGuessLimitOptions,
  MemoryGuessLimit,
} from '../../stores/guess-limit/memory-guess-limit.js';
import { Lines } from './line.js';

/** What `guessLimit` can be. */
export type GuessLimitOption = GuessLimitOptions | GuessLimit | false;

/** Asks the service about a code, unless the visitor has guessed too often. */
export type GuessGate = <T>(
  req: Request,
  code: string,
  ask: (how: { onShared?: () => void }) => Promise<T | null>,
) => Promise<T | null>;

/** @throws TypeError that names the wrong option. */
export function guessGate(owner: string, option: GuessLimitOption | undefined): GuessGate {
  if (option === false) return (_req, _code, ask) => ask({});
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
 * through, no more are let on at a time than are left; the others wait in line for one of them to be
 * answered. Who asks about a code that is being asked about already does not guess another.
 */
function gateOf(limit: GuessLimit): GuessGate {
  const lines = new Lines();

  return async (req, code, ask) => {
    const who = limit.by(req);
    const left = () => limit.left(who);
    return lines.inLine(who, left, async (line) => {
      const leave = await line.enter(code);
      if (leave === undefined) return ask({});
      let isShared = false;
      try {
        const answer = await ask({
          onShared: () => {
            isShared = true;
          },
        });
        // Before the place is free, so that who waits for it finds the new count. What another
        // process has asked was counted there.
        if (answer === null && !isShared) await limit.count(who).catch(() => {});
        return answer;
      } finally {
        leave();
      }
    });
  };
}
