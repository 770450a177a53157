import { channel } from 'node:diagnostics_channel';
import type { MarketgateErrorCode } from '../errors/codes.js';

/** Message of `marketgate:request`: one request to the service is over. Each retry is one of its own. */
export interface RequestMessage {
  /** As in the specification, or as `validationEncoding` and `authorizeMethod` have it. */
  readonly method: 'GET' | 'POST';
  /** The endpoint's path, as in the specification; without the query, which holds secrets. */
  readonly endpoint: string;
  /** 0 for the first, 1 for the first retry, and so on. */
  readonly attempt: number;
  /** The code of the error that it ended in; absent when it was answered. */
  readonly code?: MarketgateErrorCode;
  /** Milliseconds from sending to the judged answer. */
  readonly durationMs: number;
}

/** Publish only where `hasSubscribers`: then it costs nothing when nobody listens. */
export const requestChannel = channel('marketgate:request');
