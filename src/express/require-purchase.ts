import type { NextFunction, Request, RequestHandler, Response } from 'express';
import { isMarketgateError, type MarketgateError } from '../errors/marketgate-error.js';
import { choiceOption, functionOption, knownOptions } from '../options/check-options.js';
import { contextOf } from './marketplace-context.js';
import {
  LOOKUP_OPTION_NAMES,
  type PurchaseLookupOptions,
  type PurchaseValidator,
  purchaseLookup,
} from './purchase-lookup.js';

/** Options of {@link requirePurchase}. */
export interface RequirePurchaseOptions extends PurchaseLookupOptions {
  /**
   * What happens when the service cannot be asked. `'deny'` (default): the error goes to `next`.
   * `'allow'`: the visitor is let in, with `req.marketplace.verdict` "unknown" and no purchase.
   */
  onUnknown?: 'deny' | 'allow' | undefined;
  /**
   * What happens to a visitor who is refused. Default: `next(denial)`. It is not called when the
   * service could not be asked: that is an error, and no fault of the visitor's.
   */
  onDenied?:
    | ((denial: MarketgateError, req: Request, res: Response, next: NextFunction) => unknown)
    | undefined;
}

/**
 * Opens a route to those who hold a valid purchase code (specification: purchases/validation).
 *
 * The purchase is at `req.marketplace.purchase` afterwards. Refusals: `purchase_required` (402);
 * `purchase_code_invalid`, `purchase_item_mismatch`, `license_type_mismatch`, `support_expired`,
 * `purchase_not_accepted` (403); `item_id_invalid` (400). When the service cannot be asked:
 * `service_unavailable` (503) and its like, never a refusal.
 *
 * @throws TypeError that names the wrong option, when it is made.
 */
export function requirePurchase(
  keyApi: PurchaseValidator,
  options: RequirePurchaseOptions = {},
): RequestHandler {
  const owner = 'requirePurchase';
  const given = knownOptions(owner, options, [...LOOKUP_OPTION_NAMES, 'onUnknown', 'onDenied']);
  const lookUp = purchaseLookup(owner, keyApi, given);
  const onUnknown = choiceOption(owner, 'onUnknown', given.onUnknown, ['deny', 'allow'], 'deny');
  const onDenied = functionOption(owner, 'onDenied', given.onDenied);

  const guard = async (req: Request, res: Response): Promise<MarketgateError | undefined> => {
    const context = contextOf(req, res);
    try {
      const found = await lookUp(req);
      context.verdict = found.verdict;
      if (found.verdict !== 'valid') return found.denial;
      context.purchase = found.purchase;
    } catch (error) {
      if (!isMarketgateError(error) || error.status < 500) throw error;
      context.verdict = 'unknown';
      if (onUnknown === 'deny') throw error;
    }
    return undefined;
  };

  return (req, res, next) => {
    guard(req, res).then((denied) => {
      if (denied === undefined) return next();
      if (onDenied === undefined) return next(denied);
      const nextOnce = once(next);
      (async () => onDenied(denied, req, res, nextOnce))().catch(nextOnce);
    }, next);
  };
}

/** For a handler of the app's own, which could call `next` and fail afterwards. */
function once(next: NextFunction): NextFunction {
  let called = false;
  return (error?: unknown) => {
    if (called) return;
    called = true;
    next(error);
  };
}
