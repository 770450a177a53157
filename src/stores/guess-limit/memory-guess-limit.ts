import type { Request } from 'express';
import { AttemptLog } from './attempt-log.js';
import {
  checkGuessLimitOptions,
  type GuessLimit,
  type GuessLimitOptions,
  type GuessLimitSettings,
  type Reservation,
} from './guess-limit.js';

/** {@link GuessLimit} on a log that other limits can share. */
export class LocalGuessLimit implements GuessLimit {
  readonly #settings: GuessLimitSettings;
  readonly #log: AttemptLog;

  constructor(settings: GuessLimitSettings, log = new AttemptLog()) {
    this.#settings = settings;
    this.#log = log;
  }

  keyGenerator(req: Request): string {
    return this.#settings.keyGenerator(req);
  }

  async reserve(client: string): Promise<Reservation> {
    return this.#log.reserve(client, this.#settings);
  }
}

/**
 * Counts failed attempts in the memory of this process: a value for the option `guessLimit`. Guards that
 * are given the same instance count together.
 */
export class MemoryGuessLimit implements GuessLimit {
  readonly #local: LocalGuessLimit;

  /** @throws TypeError that names the wrong option. */
  constructor(options: GuessLimitOptions = {}) {
    this.#local = new LocalGuessLimit(checkGuessLimitOptions('MemoryGuessLimit', options));
  }

  /** Who is counted. */
  keyGenerator(req: Request): string {
    return this.#local.keyGenerator(req);
  }

  /** Takes one attempt of a client, if there is one left. */
  reserve(client: string): Promise<Reservation> {
    return this.#local.reserve(client);
  }
}
