import { MarketgateError, type MarketgateErrorCode } from '../errors.js';
import type { Purchase } from '../model/purchase.js';

/** A refusal. */
export interface Denial extends MarketgateError {
  /** The valid purchase that a condition refused. Not enumerable, because it contains the code. */
  readonly purchase?: Purchase;
  /** Of `purchase_held`: how many accounts hold the code, and how many can. Not enumerable. */
  readonly holders?: {
    /** How many accounts hold the code. */
    readonly count: number;
    /** How many can. */
    readonly max: number;
  };
}

/** What a purchase code is worth. */
export type Decision =
  | {
      /** The service knows the code, and the purchase meets the conditions. */
      readonly verdict: 'valid';
      /** The purchase, frozen where it comes from a KeyApi. */
      readonly purchase: Purchase;
    }
  | {
      /** The service does not know the code, or a condition is not met. */
      readonly verdict: 'invalid';
      /** Why: its `code` tells the cases apart. */
      readonly denial: Denial;
    }
  | {
      /** There is no code. */
      readonly verdict: 'absent';
      /** `purchase_required`. */
      readonly denial: Denial;
    }
  | {
      /** The service or the holder store gave no usable answer, or this client has too many failed attempts. */
      readonly verdict: 'unknown';
      /** Why: with too many failed attempts, its `code` is `too_many_attempts`. */
      readonly error: MarketgateError;
    };

/** A {@link Decision}. `isOutage` is true when the verdict is unknown because the service is down. */
export type CheckResult = Decision & { readonly isOutage?: boolean };

export const deny = (
  code: MarketgateErrorCode,
  message: string,
  verdict: 'invalid' | 'absent' = 'invalid',
): CheckResult => ({ verdict, denial: new MarketgateError(code, message) });

/** Refuses a valid purchase. */
export function refuse(
  purchase: Purchase,
  code: MarketgateErrorCode,
  why: string,
  holders?: Denial['holders'],
): CheckResult {
  const denial: Denial = new MarketgateError(code, `the purchase code is valid, but ${why}`);
  const copy = { ...purchase };
  // A getter, because `inspect` can print the values of what is not enumerable.
  Object.defineProperty(denial, 'purchase', { get: () => copy });
  Object.defineProperty(denial, 'holders', { value: holders });
  return { verdict: 'invalid', denial };
}

/** Neither a denial nor an outage: the answer cannot be used. */
export const undecided = (why: string): CheckResult => ({
  verdict: 'unknown',
  error: new MarketgateError('unexpected_response', why),
});
