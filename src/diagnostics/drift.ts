import { channel } from 'node:diagnostics_channel';
import { Hourly } from './hourly.js';

/**
 * Message of `marketgate:drift`: the service answered otherwise than documented, and it was coped
 * with. Names where, never what: values can be secret. Each client tells of one kind (the same
 * endpoint, kind and path, whichever element of a list it was) once an hour.
 */
export interface DriftMessage {
  /** The endpoint's path, as in the specification. */
  readonly endpoint: string;
  /**
   * `mended`: read into the documented shape. `dropped`: left out, because it cannot be read; an element of a
   * list, or a field that may be absent.
   */
  readonly kind: 'mended' | 'dropped';
  /** Where in the answer, as in `items[3].price.regular`: the first place where it was seen. */
  readonly path: string;
  /** What was expected there, in words. */
  readonly expected: string;
}

const drift = channel('marketgate:drift');

/** Whether anybody listens: making the message can be saved otherwise. */
export const driftIsHeard = (): boolean => drift.hasSubscribers;

/** What one client has to say on `marketgate:drift`. Nothing is remembered while nobody listens. */
export class DriftReports {
  readonly #hourly: Hourly;

  /** @param clock the client's: it says when an hour is over. */
  constructor(clock: () => number) {
    this.#hourly = new Hourly(clock);
  }

  report(message: DriftMessage): void {
    if (!drift.hasSubscribers) return;
    const { endpoint, kind, path, expected } = message;
    const place = path.replace(/\[\d+\]/g, '[]');
    if (this.#hourly.isDue(`${endpoint} ${kind} ${place} ${expected}`)) drift.publish(message);
  }
}
