import type { RequestHandler } from 'express';
import { asError, isMarketgateError } from '../errors.js';
import type { Purchase } from '../model/purchase.js';
import { knownOptions } from '../options.js';
import { keepPrivate, variesOn, varyOn } from './cache-headers.js';
import { CannotFindOut } from './cannot-find-out.js';
import { contextOf, type Verdict } from './marketplace-context.js';
import {
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
 * Only errors of the app's own functions go to `next`. Where a code came, the answer gets
 * `Cache-Control: private`, unless the app has set that header before; it always gets `Vary` with the
 * request headers that the code is read from.
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
  const headers = variesOn(given.code);
  return (req, res, next) => {
    const found = (verdict: Verdict, purchase?: Purchase): void => {
      const context = contextOf(req, res);
      context.verdict = verdict;
      if (purchase !== undefined) context.purchase = { ...purchase };
      // The page of a visitor without a code is the same for all of them.
      if (verdict === 'absent') varyOn(res, headers);
      else keepPrivate(res, headers);
      next();
    };
    (async () => lookUp(req, res))().then(
      (lookup) => found(lookup.verdict, lookup.verdict === 'valid' ? lookup.purchase : undefined),
      (error: unknown) => {
        const verdict = verdictOf(error);
        if (verdict === undefined) next(asError(error));
        else found(verdict);
      },
    );
  };
}

/** What is known when the lookup failed; `undefined`: an error of the app's own functions. */
function verdictOf(error: unknown): Verdict | undefined {
  if (error instanceof CannotFindOut) return 'unknown';
  if (!isMarketgateError(error)) return undefined;
  if (error.code === 'item_id_invalid') return 'invalid';
  return error.code === 'too_many_attempts' ? 'unknown' : undefined;
}
