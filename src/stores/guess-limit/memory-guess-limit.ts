import type { Request } from 'express';
import { monotonic } from '../../options/monotonic.js';
import {
  checkGuessLimitOptions,
  type GuessLimit,
  type GuessLimitOptions,
  type GuessLimitSettings,
  type Reservation,
  TOTAL,
} from './guess-limit.js';

/** Clients that are counted at most; when there are more, the oldest windows go. */
const MOST_CLIENTS = 100_000;
/** Clients at which ended windows are first looked for. */
const FIRST_SWEEP = 1024;

interface Window {
  count: number;
  /** When it ends, in milliseconds of a clock that never goes back. */
  readonly endsAt: number;
}

/** Failed attempts by client and length of window, for all limits that count together. */
export class AttemptCounts {
  readonly #clock = monotonic(() => Date.now());
  /** The oldest window first, but for windows of different length. */
  readonly #windows = new Map<string, Window>();
  #sweepAt = FIRST_SWEEP;

  /** Counts one more. */
  add(client: string, windowMs: number): Window {
    const name = `${windowMs} ${client}`;
    const now = this.#clock();
    let window = this.#windows.get(name);
    if (window === undefined || window.endsAt <= now) {
      this.#windows.delete(name);
      if (this.#windows.size >= this.#sweepAt) this.#sweep(now);
      window = { count: 0, endsAt: now + windowMs };
      this.#windows.set(name, window);
    }
    window.count++;
    return window;
  }

  /** Takes one back, unless its window has ended. */
  subtract(client: string, windowMs: number): void {
    const name = `${windowMs} ${client}`;
    const window = this.#windows.get(name);
    if (window === undefined) return;
    window.count--;
    if (window.count <= 0) this.#windows.delete(name);
  }

  /** Seconds until a window ends. */
  secondsLeft({ endsAt }: Window): number {
    return Math.max(1, Math.ceil((endsAt - this.#clock()) / 1000));
  }

  #sweep(now: number): void {
    for (const [name, { endsAt }] of this.#windows) {
      if (endsAt <= now || this.#windows.size >= MOST_CLIENTS) this.#windows.delete(name);
    }
    this.#sweepAt = Math.max(FIRST_SWEEP, Math.min(MOST_CLIENTS, this.#windows.size * 2));
  }
}

// A blank cannot begin the name of a client's address, and an app's own names are prefixed too.
const EVERYBODY = ' all';

/** {@link GuessLimit} on counts that others share. */
export class LocalGuessLimit implements GuessLimit {
  readonly #settings: GuessLimitSettings;
  readonly #counts: AttemptCounts;

  constructor(settings: GuessLimitSettings, counts = new AttemptCounts()) {
    this.#settings = settings;
    this.#counts = counts;
  }

  keyGenerator(req: Request): string {
    return this.#settings.keyGenerator(req);
  }

  async reserve(client: string): Promise<Reservation> {
    const { limit, windowMs } = this.#settings;
    const own = this.#counts.add(client, windowMs);
    const all = this.#counts.add(EVERYBODY, windowMs);
    const isAllowed = own.count <= limit && (own.count === 1 || all.count <= limit * TOTAL);
    const retryAfter = this.#counts.secondsLeft(own.count > limit ? own : all);
    if (!isAllowed) await this.refund(client);
    return { isAllowed, retryAfter };
  }

  async refund(client: string): Promise<void> {
    this.#counts.subtract(client, this.#settings.windowMs);
    this.#counts.subtract(EVERYBODY, this.#settings.windowMs);
  }
}

/**
 * Counts failed attempts in this process's memory: a value for `guessLimit`. Guards that are given the
 * same instance count together.
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

  /** Gives one back. */
  refund(client: string): Promise<void> {
    return this.#local.refund(client);
  }
}
