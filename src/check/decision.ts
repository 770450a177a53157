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

/** @param detail what visitors read in place of the code's usual text. */
export const deny = (code: MarketgateErrorCode, message: string, detail?: string): CheckResult => ({
  verdict: 'invalid',
  denial: new MarketgateError(code, message, { detail }),
});

export const absent = (message: string): CheckResult => ({
  verdict: 'absent',
  denial: new MarketgateError('purchase_required', message),
});

/** Refuses a valid purchase. */
export function refuse(
  purchase: Purchase,
  code: MarketgateErrorCode,
  why: string,
  holders?: Denial['holders'],
): CheckResult {
  const denial: Denial = new MarketgateError(code, `the purchase code is valid, but ${why}`);
  const copy = { ...purchase };
  Object.defineProperties(denial, {
    // An own getter, because `inspect` can print a hidden value, and the getters of a class.
    purchase: { get: () => copy },
    holders: { value: holders },
  });
  return { verdict: 'invalid', denial };
}

/** Neither a denial nor an outage: the answer cannot be used. */
export const undecided = (why: string): CheckResult => ({
  verdict: 'unknown',
  error: new MarketgateError('unexpected_response', why),
});
