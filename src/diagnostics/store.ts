import { channel } from 'node:diagnostics_channel';
import type { DriftMessage } from './drift.js';
import { Hourly } from './hourly.js';

/**
 * Message of `marketgate:drift` about a store: a row was there that could not be read, and it was
 * taken for no row at all. Names the store, never the row: neither what it held nor whose it was.
 * Each store tells once an hour.
 */
export interface StoreDriftMessage extends Omit<DriftMessage, 'kind'> {
  /** The store and its method, as in `EncryptedTokenStore.get`. */
  readonly endpoint: string;
  /** `unreadable`: what was stored makes no sense, was tampered with, or no key fits it. */
  readonly kind: 'unreadable';
}

// The channel of drift.ts: a listener sees everything that was found otherwise than it should be.
const drift = channel('marketgate:drift');

const hourlyOf = new WeakMap<object, Hourly>();

/**
 * @param store whose row it is; once it has told, it is silent for an hour.
 * @param expected what should have been there, in words.
 */
export function reportUnreadable(store: object, endpoint: string, expected: string): void {
  if (!drift.hasSubscribers) return;
  let hourly = hourlyOf.get(store);
  if (hourly === undefined) {
    // Not every store has a clock of its own; rows are not judged by this one.
    hourly = new Hourly(() => Date.now());
    hourlyOf.set(store, hourly);
  }
  if (!hourly.isDue(endpoint)) return;
  const message: StoreDriftMessage = { endpoint, kind: 'unreadable', path: 'value', expected };
  drift.publish(message);
}
