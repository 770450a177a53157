import { channel } from 'node:diagnostics_channel';
import type { DriftMessage } from './drift.js';
import { Hourly } from './hourly.js';

/**
 * Message of `marketgate:drift` about a store. Names the store, never the row: neither what it held nor
 * whose it was. Each store reports a kind once an hour.
 */
export interface StoreDriftMessage extends Omit<DriftMessage, 'kind'> {
  /** The store and its method, as in `EncryptedTokenStore.get`. */
  readonly endpoint: string;
  /**
   * `unreadable`: what was stored makes no sense, was tampered with, or no key fits it; it was taken for
   * no row at all. `not-counted`: Redis could not count a failed attempt, and each process counts for
   * itself.
   */
  readonly kind: 'unreadable' | 'not-counted';
}

// The channel of drift.ts: a listener sees everything that was found otherwise than it should be.
const drift = channel('marketgate:drift');

const hourlyOf = new WeakMap<object, Hourly>();

/**
 * @param store whose row it is.
 * @param expected what should have been there, in words.
 */
export function reportUnreadable(store: object, endpoint: string, expected: string): void {
  report(store, { endpoint, kind: 'unreadable', path: 'value', expected });
}

/** @param limit that could not count. */
export function reportNotCounted(limit: object, endpoint: string): void {
  const expected = 'a Redis that can be written to and runs scripts (EVAL)';
  report(limit, { endpoint, kind: 'not-counted', path: 'count', expected });
}

function report(store: object, message: StoreDriftMessage): void {
  if (!drift.hasSubscribers) return;
  let hourly = hourlyOf.get(store);
  if (hourly === undefined) {
    // Not every store has a clock of its own; rows are not judged by this one.
    hourly = new Hourly(() => Date.now());
    hourlyOf.set(store, hourly);
  }
  if (hourly.isDue(message.endpoint)) drift.publish(message);
}
