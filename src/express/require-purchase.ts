import type { NextFunction, Request, RequestHandler, Response } from 'express';
import { type GuardMessage, guardChannel } from '../diagnostics.js';
import { asError, isMarketgateError, type MarketgateError } from '../errors.js';
import { choiceOption, functionOption, knownOptions } from '../options.js';
import { keepNowhere, keepPrivate, variesOn } from './cache-headers.js';
import { CannotFindOut } from './cannot-find-out.js';
import { isPromise } from './code-sources.js';
import { contextOf } from './marketplace-context.js';
import {
  LOOKUP_OPTION_NAMES,
  type PurchaseLookup,
  type PurchaseLookupOptions,
  type PurchaseValidator,
  purchaseLookup,
} from './purchase-lookup.js';

/** Options of {@link requirePurchase}. */
export interface RequirePurchaseOptions extends PurchaseLookupOptions {
  /**
   * What happens when the service cannot be asked about a well-formed code. `'deny'` (default): the error
   * goes to `next`. `'allow'`: the visitor is let in, with `req.marketplace.verdict` "unknown" and no
   * purchase. A failure of your own `code`, `item` or `accept` goes to `next` in any case.
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
 * `purchase_not_accepted` (403); `item_id_invalid` (400); `too_many_attempts` (429). When the
 * service cannot be asked: `service_unavailable` (503) and its like, never a refusal.
 *
 * What it lets through gets `Cache-Control: private`, unless the app has set that header before, and
 * `Vary` with the request headers that the code is read from. Refusals get `no-store`.
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
  const varyOn = variesOn(given.code);
  const onUnknown = choiceOption(owner, 'onUnknown', given.onUnknown, ['deny', 'allow'], 'deny');
  const onDenied = functionOption(owner, 'onDenied', given.onDenied);

  function refuse(denied: MarketgateError, req: Request, res: Response, next: NextFunction): void {
    report(false, denied);
    keepNowhere(res);
    if (onDenied === undefined) {
      next(denied);
      return;
    }
    const nextOnce = once(next);
    (async () => onDenied(denied, req, res, nextOnce))().catch((error: unknown) =>
      nextOnce(asError(error)),
    );
  }

  return (req, res, next) => {
    const found = (lookup: PurchaseLookup): void => {
      const context = contextOf(req, res);
      context.verdict = lookup.verdict;
      if (lookup.verdict === 'valid') {
        // A copy on top: Express's res.render writes into what it is given.
        context.purchase = { ...lookup.purchase };
        keepPrivate(res, varyOn);
        report(true, undefined);
        next();
      } else {
        refuse(lookup.denial, req, res, next);
      }
    };
    const failed = (error: unknown): void => {
      if (error instanceof CannotFindOut) {
        const isAllowed = error.isUnasked && onUnknown === 'allow';
        contextOf(req, res).verdict = 'unknown';
        report(isAllowed, error.error);
        if (isAllowed) {
          keepPrivate(res, varyOn);
          next();
        } else {
          keepNowhere(res);
          next(error.error);
        }
      } else if (isDenial(error)) {
        if (error.code === 'too_many_attempts') contextOf(req, res).verdict = 'unknown';
        refuse(error, req, res, next);
      } else {
        // From the app's own functions, or from what they asked: it says nothing about the code.
        next(asError(error));
      }
    };
    let lookup: PurchaseLookup | Promise<PurchaseLookup>;
    try {
      lookup = lookUp(req, res);
    } catch (error) {
      failed(error);
      return;
    }
    // What the cache knows goes on in the same turn: a promise would cost as much as the rest.
    if (isPromise(lookup)) lookup.then(found, failed);
    else found(lookup);
  };
}

/** Whether the guard itself refuses. Any other error is the app's, whatever its status. */
const isDenial = (error: unknown): error is MarketgateError =>
  isMarketgateError(error) &&
  (error.code === 'too_many_attempts' || error.code === 'item_id_invalid');

function report(allowed: boolean, error: MarketgateError | undefined): void {
  if (!guardChannel.hasSubscribers) return;
  const message: GuardMessage = { allowed, ...(error && { code: error.code }) };
  guardChannel.publish(message);
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
