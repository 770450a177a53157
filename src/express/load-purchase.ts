import type { RequestHandler } from 'express';
import { asError } from '../errors/as-error.js';
import { isMarketgateError } from '../errors/marketgate-error.js';
import { knownOptions } from '../options/check-options.js';
import { keepPrivate, variesOn } from './cache-headers.js';
import { contextOf, type Verdict } from './marketplace-context.js';
import {
  CannotFindOut,
  LOOKUP_OPTION_NAMES,
  type PurchaseLookupOptions,
  type PurchaseValidator,
  purchaseLookup,
} from './purchase-lookup.js';

/**
 * Finds out what the visitor's purchase code is worth, and blocks nobody. `req.marketplace.verdict` is
 * afterwards
 *
 * - `valid`: `req.marketplace.purchase` is there, and meets the conditions that were given;
 * - `invalid`: the service said no, or a condition is not met;
 * - `unknown`: the service could not be asked, or was not, for the visitor has guessed too often;
 * - `absent`: no code came.
 *
 * Only errors of the app's own functions go to `next`.
 *
 * @throws TypeError that names the wrong option, when it is made.
 */
export function loadPurchase(
  keyApi: PurchaseValidator,
  options: PurchaseLookupOptions = {},
): RequestHandler {
  const owner = 'loadPurchase';
  const given = knownOptions(owner, options, LOOKUP_OPTION_NAMES);
  const lookUp = purchaseLookup(owner, keyApi, given);
  const varyOn = variesOn(given.code);
  return (req, res, next) => {
    (async () => lookUp(req))().then(
      (found) => {
        const context = contextOf(req, res);
        context.verdict = found.verdict;
        if (found.verdict === 'valid') {
          context.purchase = { ...found.purchase };
          keepPrivate(res, varyOn);
        }
        next();
      },
      (error: unknown) => {
        const verdict = verdictOf(error);
        if (verdict === undefined) return next(asError(error));
        contextOf(req, res).verdict = verdict;
        next();
      },
    );
  };
}

/** What is known when the lookup failed; `undefined`: an error of the app's own functions. */
function verdictOf(error: unknown): Verdict | undefined {
  if (error instanceof CannotFindOut) return 'unknown';
  if (!isMarketgateError(error)) return undefined;
  if (error.code === 'item_id_invalid') return 'invalid';
  const isUnknown = error.code === 'too_many_attempts' || error.code === 'unexpected_response';
  return isUnknown ? 'unknown' : undefined;
}
