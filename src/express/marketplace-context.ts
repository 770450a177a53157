import type { Request, Response } from 'express';
import type { Account } from '../model/account.js';
import type { Item } from '../model/item.js';
import type { Purchase } from '../model/purchase.js';
import type { UserInfo } from '../model/user-info.js';

/** What is known of the visitor's code: `unknown` when the service could not be asked. */
export type Verdict = 'valid' | 'invalid' | 'unknown' | 'absent';

/** What the middleware found out: at `req.marketplace`, and for templates at `res.locals.marketplace`. */
export interface MarketplaceContext {
  /** The visitor's purchase, from `requirePurchase` or `loadPurchase`. */
  purchase?: Purchase;
  /** What the service said of the visitor's code. */
  verdict?: Verdict;
  /** From `loadItem`. */
  item?: Item;
  /** From `loadItems`. */
  items?: Item[];
  /** From `loadAccount`. */
  account?: Account;
  /** From `loadUser`. */
  user?: UserInfo;
}

declare global {
  namespace Express {
    interface Request {
      /** What marketgate's middleware found out; absent where none has run. */
      marketplace?: MarketplaceContext;
    }
    interface Locals {
      /** The same object as `req.marketplace`. */
      marketplace?: MarketplaceContext;
    }
  }
}

/** The context of a request, made with the first middleware that has something to say. */
export function contextOf(req: Request, res: Response): MarketplaceContext {
  req.marketplace ??= {};
  res.locals.marketplace = req.marketplace;
  return req.marketplace;
}
