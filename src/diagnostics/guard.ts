import { channel } from 'node:diagnostics_channel';
import type { MarketgateErrorCode } from '../errors/codes.js';

/** Message of `marketgate:guard`: `requirePurchase` has decided about a request. */
export interface GuardMessage {
  /** Whether the visitor was let in. */
  readonly allowed: boolean;
  /** The refusal or the error; absent when the purchase is valid. */
  readonly code?: MarketgateErrorCode;
}

/** Publish only where `hasSubscribers`: then it costs nothing when nobody listens. */
export const guardChannel = channel('marketgate:guard');
