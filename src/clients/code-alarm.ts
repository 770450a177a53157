import { LRUCache } from 'lru-cache';
import { type CodesInvalidMessage, driftChannel, reportDrift } from '../diagnostics.js';
import { purchasesValidation } from './key-endpoints.js';

/** How many valid codes become invalid in a row before the alarm is raised; one or two can be refunds. */
const WERE_VALID = 3;
/** How many codes are invalid before the alarm is raised, when none was ever valid. */
const NEVER_VALID = 20;
/** Milliseconds that a negative answer counts, so that refunds over many weeks raise no alarm. */
const COUNTS_FOR = 24 * 3_600_000;
/** The most valid and invalid codes that are remembered. */
const MAX_VALID = 1000;
const MAX_INVALID = 100;

/** Watches one client's answers about codes. Remembers no code while the channel has no subscribers. */
export class CodeAlarm {
  readonly #valid = new LRUCache<string, true>({ max: MAX_VALID });
  /** Codes that were valid, with the time of their negative answer. Emptied by each positive one. */
  readonly #wereValid = new Map<string, number>();
  /** The same of codes that never were. */
  readonly #neverValid = new Map<string, number>();
  #anyWasValid = false;

  constructor(private readonly clock: () => number) {}

  /** Notes a positive answer: the service knows the code, so it knows the key. */
  positive(code: string): void {
    this.#anyWasValid = true;
    if (!driftChannel.hasSubscribers) return;
    this.#wereValid.clear();
    this.#neverValid.clear();
    this.#valid.set(code, true);
  }

  /**
   * Notes a negative answer: the service knows the key, but not the code.
   * @param wasValid whether the cache had a positive answer for the code.
   */
  negative(code: string, wasValid: boolean): void {
    if (!driftChannel.hasSubscribers) return;
    if (wasValid) this.#anyWasValid = true;
    if (wasValid || this.#valid.has(code) || this.#wereValid.has(code)) {
      const count = this.#count(this.#wereValid, code);
      const expected = 'a valid code among those that were valid';
      if (count >= WERE_VALID) this.#raise('were-valid', count, expected);
      return;
    }
    const count = this.#count(this.#neverValid, code);
    const isAlarm = !this.#anyWasValid && count >= NEVER_VALID;
    if (isAlarm) this.#raise('never-valid', count, 'a valid code among the first ones');
  }

  /** Notes that the service does not know the key, after a negative answer about a code. */
  keyRejected(code: string): void {
    if (!driftChannel.hasSubscribers) return;
    const count = this.#count(this.#neverValid, code);
    this.#raise('key-rejected', count, 'an api_key that the service knows');
  }

  /** Adds a code, removes those that no longer count, and returns how many are left. */
  #count(codes: Map<string, number>, code: string): number {
    const now = this.clock();
    // Moved to the end: the oldest answer comes first.
    codes.delete(code);
    codes.set(code, now);
    for (const [each, at] of codes) {
      if (codes.size <= MAX_INVALID && at <= now && now - at < COUNTS_FOR) break;
      codes.delete(each);
    }
    return codes.size;
  }

  #raise(reason: CodesInvalidMessage['reason'], codes: number, expected: string): void {
    const place = { endpoint: purchasesValidation.path, path: 'msg', expected };
    reportDrift(this, { kind: 'codes-invalid', ...place, reason, codes }, this.clock);
  }
}
