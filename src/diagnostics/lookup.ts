import { channel } from 'node:diagnostics_channel';
import type { MarketgateErrorCode } from '../errors/codes.js';

/** Message of `marketgate:lookup`: an answer of interface A was wanted. */
export interface LookupMessage {
  /** What was wanted: the account, the list of items, one item, or the purchase of a code. */
  readonly what: 'account' | 'items' | 'item' | 'purchase';
  /**
   * Where the answer came from: `cache`; `stale`, from the cache and refreshed behind; `shared`, from
   * another process; `service`; `last-resort`, an old yes while the service could not answer.
   */
  readonly source: 'cache' | 'stale' | 'shared' | 'service' | 'last-resort';
  /** `failed` when there was none. */
  readonly outcome: 'yes' | 'no' | 'failed';
  /** The code of the error, when it failed. */
  readonly code?: MarketgateErrorCode;
}

/** Publish only where `hasSubscribers`: then it costs nothing when nobody listens. */
export const lookupChannel = channel('marketgate:lookup');
