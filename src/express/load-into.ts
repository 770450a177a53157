import type { Request, RequestHandler } from 'express';
import { asError } from '../errors.js';
import { whileThere } from './leaving.js';
import { contextOf, type MarketplaceContext } from './marketplace-context.js';

/**
 * A middleware that puts one thing at its place in `req.marketplace`, or hands the error on; the
 * function that finds it may throw or reject.
 */
export function loadInto<K extends keyof MarketplaceContext>(
  place: K,
  find: (req: Request, signal: AbortSignal) => Promise<NonNullable<MarketplaceContext[K]>>,
): RequestHandler {
  return (req, res, next) => {
    whileThere(res, async (signal) => find(req, signal)).then(
      (found) => {
        contextOf(req, res)[place] = found;
        next();
      },
      (error: unknown) => next(asError(error)),
    );
  };
}
