import type { RateLimiterMemory } from 'rate-limiter-flexible';
import {
  functionOption,
  knownOptions,
  positiveOption,
  wrongOption,
} from '../../options/check-options.js';
import type { GuessLimit, GuessLimitOptions } from './guess-limit.js';
import { byAddress, guesserName } from './guesser.js';

/** {@link GuessLimitOptions}, checked and complete. */
export interface GuessLimitSettings {
  readonly limit: number;
  readonly window: number;
  readonly by: GuessLimit['by'];
}

/** @throws TypeError that names the wrong option. */
export function checkGuessLimitOptions(
  owner: string,
  options: GuessLimitOptions,
): GuessLimitSettings {
  const given = knownOptions(owner, options, ['limit', 'window', 'by']);
  const limit = positiveOption(owner, 'limit', given.limit, 10, 'codes');
  if (!Number.isSafeInteger(limit)) throw wrongOption(owner, 'limit', 'must be a whole number');
  const by = functionOption(owner, 'by', given.by) ?? byAddress;
  return {
    limit,
    window: positiveOption(owner, 'window', given.window, 60_000, 'milliseconds'),
    by: (req) => guesserName(by(req)),
  };
}

/** Counts guesses in this process's memory, with rate-limiter-flexible. */
export class MemoryGuessLimit implements GuessLimit {
  readonly by: GuessLimit['by'];
  readonly #limit: number;
  readonly #window: number;
  #limiter: Promise<RateLimiterMemory> | undefined;

  constructor({ limit, window, by }: GuessLimitSettings) {
    this.by = by;
    this.#limit = limit;
    this.#window = window;
  }

  async left(who: string): Promise<{ left: number; retryAfter: number }> {
    const counted = await (await this.#open()).get(who);
    const isOver = counted === null || counted.msBeforeNext <= 0;
    return {
      left: this.#limit - (isOver ? 0 : counted.consumedPoints),
      retryAfter: isOver ? 0 : Math.ceil(counted.msBeforeNext / 1000),
    };
  }

  async count(who: string): Promise<void> {
    await (await this.#open()).penalty(who);
  }

  /** Loaded with the first guess: the library brings its adapters of all databases along. */
  #open(): Promise<RateLimiterMemory> {
    this.#limiter ??= import('rate-limiter-flexible').then(
      (library) =>
        new library.RateLimiterMemory({ points: this.#limit, duration: this.#window / 1000 }),
    );
    return this.#limiter;
  }
}
