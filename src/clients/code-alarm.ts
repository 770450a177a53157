import { channel } from 'node:diagnostics_channel';
import { LRUCache } from 'lru-cache';
import type { DriftMessage } from '../diagnostics.js';
import { Hourly } from '../diagnostics.js';

/**
 * Message of `marketgate:drift`: an alarm that codes are invalid one after another. A revoked api_key, or
 * one of another account, looks like that. Each client sends it at most once an hour.
 */
export interface CodesInvalidMessage extends Omit<DriftMessage, 'kind'> {
  /** Distinguishes the alarm from other messages of the channel. */
  readonly kind: 'codes-invalid';
  /**
   * `key-rejected`: the service does not know the api_key. `were-valid`: it knows the key, but codes that
   * were valid are now invalid. `never-valid`: it knows the key, but none of the first codes that this
   * process validated; guessed codes look the same while no customer has come yet.
   */
  readonly reason: 'key-rejected' | 'were-valid' | 'never-valid';
  /**
   * How many different codes had a negative answer in a row, up to a hundred; for `were-valid`, only codes
   * that were valid before.
   */
  readonly codes: number;
}

/** Codes in a row that must become invalid; one or two can be refunds. */
const WERE_VALID = 3;
/** Codes in a row that must be invalid when none was ever valid. */
const NEVER_VALID = 20;
/** Milliseconds that a negative answer counts, so that refunds over many weeks raise no alarm. */
const COUNTS_FOR = 24 * 3_600_000;
/** The most valid and invalid codes that are remembered. */
const MOST_VALID = 1000;
const MOST_INVALID = 100;

const drift = channel('marketgate:drift');

/** Watches one client's answers about codes. Remembers no code while the channel has no subscribers. */
export class CodeAlarm {
  readonly #clock: () => number;
  readonly #hourly: Hourly;
  readonly #valid = new LRUCache<string, true>({ max: MOST_VALID });
  /** Codes with a negative answer since the last positive one, and its time: codes that were valid, and others. */
  readonly #lost = new Map<string, number>();
  readonly #unknown = new Map<string, number>();
  #anyWasValid = false;

  constructor(clock: () => number) {
    this.#clock = clock;
    this.#hourly = new Hourly(clock);
  }

  /** Notes a positive answer: the service knows the code, so it knows the key. */
  positive(code: string): void {
    this.#anyWasValid = true;
    if (!drift.hasSubscribers) return;
    this.#lost.clear();
    this.#unknown.clear();
    this.#valid.set(code, true);
  }

  /**
   * Notes a negative answer: the service knows the key, but not the code.
   * @param wasValid whether the cache had a positive answer for the code.
   */
  negative(endpoint: string, code: string, wasValid: boolean): void {
    if (!drift.hasSubscribers) return;
    if (wasValid) this.#anyWasValid = true;
    if (wasValid || this.#valid.has(code) || this.#lost.has(code)) {
      const count = this.#count(this.#lost, code);
      const expected = 'a valid code among those that were valid';
      if (count >= WERE_VALID) this.#raise('were-valid', endpoint, count, expected);
      return;
    }
    const count = this.#count(this.#unknown, code);
    const isNever = !this.#anyWasValid && count >= NEVER_VALID;
    if (isNever) this.#raise('never-valid', endpoint, count, 'a valid code among the first ones');
  }

  /** Notes that the service does not know the key, after a negative answer about a code. */
  keyRejected(endpoint: string, code: string): void {
    if (!drift.hasSubscribers) return;
    const count = this.#count(this.#unknown, code);
    this.#raise('key-rejected', endpoint, count, 'an api_key that the service knows');
  }

  /** Adds a code, removes those that no longer count, and returns how many are left. */
  #count(codes: Map<string, number>, code: string): number {
    const now = this.#clock();
    // Moved to the end: the oldest answer comes first.
    codes.delete(code);
    codes.set(code, now);
    for (const [each, at] of codes) {
      if (codes.size <= MOST_INVALID && at <= now && now - at < COUNTS_FOR) break;
      codes.delete(each);
    }
    return codes.size;
  }

  #raise(
    reason: CodesInvalidMessage['reason'],
    endpoint: string,
    codes: number,
    expected: string,
  ): void {
    if (!this.#hourly.isDue('codes-invalid')) return;
    const kind = 'codes-invalid';
    const message: CodesInvalidMessage = { endpoint, kind, path: 'msg', expected, reason, codes };
    drift.publish(message);
  }
}
