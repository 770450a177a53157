import { channel } from 'node:diagnostics_channel';
import { LRUCache } from 'lru-cache';
import type { DriftMessage } from '../diagnostics.js';
import { Hourly } from '../diagnostics.js';

/**
 * Message of `marketgate:drift`, and an alarm: all codes are suddenly invalid. A revoked api_key looks
 * like that, or one of another account. Each client raises it at most once an hour.
 */
export interface CodesInvalidMessage extends Omit<DriftMessage, 'kind'> {
  /** What tells it from other messages of the channel. */
  readonly kind: 'codes-invalid';
  /**
   * `key-rejected`: the service said no, and does not know the api_key. `were-valid`: it knows the
   * key, and yet codes that were valid turn invalid one after another. `never-valid`: it knows the key,
   * and not one of the first codes that this process asked about; so do guessers, while no customer
   * has come yet.
   */
  readonly reason: 'key-rejected' | 'were-valid' | 'never-valid';
  /**
   * How many different codes were answered *no* in a row, up to a hundred: for `were-valid` only those
   * that were valid before.
   */
  readonly codes: number;
}

/** Codes in a row that must turn invalid: one or two are refunds. */
const WERE_VALID = 3;
/** First codes in a row that must be invalid when none was ever valid. */
const NEVER_VALID = 20;
/** How long a negative answer counts, in milliseconds: refunds of many weeks are no alarm. */
const COUNTS_FOR = 24 * 3_600_000;
/** Codes that are remembered to have been valid, and invalid, while somebody listens. */
const MOST_VALID = 1000;
const MOST_INVALID = 100;

const drift = channel('marketgate:drift');

/** Watches the answers to one client's codes. While nobody listens it remembers no code. */
export class CodeAlarm {
  readonly #clock: () => number;
  readonly #hourly: Hourly;
  readonly #valid = new LRUCache<string, true>({ max: MOST_VALID });
  /** Since the last positive answer: codes that were valid, and others, with the time of their answer. */
  readonly #lost = new Map<string, number>();
  readonly #unknown = new Map<string, number>();
  #anyWasValid = false;

  constructor(clock: () => number) {
    this.#clock = clock;
    this.#hourly = new Hourly(clock);
  }

  /** The service knows a code: then it knows the key, and whose it is. */
  positive(code: string): void {
    this.#anyWasValid = true;
    if (!drift.hasSubscribers) return;
    this.#lost.clear();
    this.#unknown.clear();
    this.#valid.set(code, true);
  }

  /**
   * The service knows the key, but not the code.
   * @param wasValid whether it is known from elsewhere that the code was valid.
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

  /** The service said no to a code, and does not know the key. */
  keyRejected(endpoint: string, code: string): void {
    if (!drift.hasSubscribers) return;
    const count = this.#count(this.#unknown, code);
    this.#raise('key-rejected', endpoint, count, 'an api_key that the service knows');
  }

  #count(row: Map<string, number>, code: string): number {
    const now = this.#clock();
    // Counted anew each time: a customer who comes again is still turned away.
    row.delete(code);
    row.set(code, now);
    for (const [each, at] of row) {
      if (row.size <= MOST_INVALID && at <= now && now - at < COUNTS_FOR) break;
      row.delete(each);
    }
    return row.size;
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
