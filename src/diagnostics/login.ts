import { channel } from 'node:diagnostics_channel';

/** Message of `marketgate:login`: the strategy has ended one step of a login. */
export interface LoginMessage {
  /** What it ended in; `ask` is the page of `confirm`. */
  readonly outcome: 'redirect' | 'success' | 'fail' | 'pass' | 'error' | 'ask';
  /** Why it failed, where that is known: the code of the failure or of the error. */
  readonly code?: string;
}

/** Publish only where `hasSubscribers`: then it costs nothing when nobody listens. */
export const loginChannel = channel('marketgate:login');
