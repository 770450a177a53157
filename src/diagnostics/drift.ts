import { channel } from 'node:diagnostics_channel';

/**
 * Message of `marketgate:drift`: the service answered otherwise than documented, and it was coped
 * with. Names where, never what: values can be secret.
 */
export interface DriftMessage {
  /** The endpoint's path, as in the specification. */
  readonly endpoint: string;
  /** `mended`: read into the documented shape. `dropped`: an element of a list left out. */
  readonly kind: 'mended' | 'dropped';
  /** Where in the answer, as in `items[3].price.regular`. */
  readonly path: string;
  /** What was expected there, in words. */
  readonly expected: string;
}

const drift = channel('marketgate:drift');

/** Whether anybody listens: making the message can be saved otherwise. */
export const driftIsHeard = (): boolean => drift.hasSubscribers;

export function reportDrift(message: DriftMessage): void {
  if (drift.hasSubscribers) drift.publish(message);
}
