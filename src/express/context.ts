import type { IncomingMessage, ServerResponse } from 'node:http';
import vary from 'vary';
import type { Decision, Denial } from '../check/decision.js';
import type { Account } from '../model/account.js';
import type { Item } from '../model/item.js';
import type { Purchase } from '../model/purchase.js';
import type { UserInfo } from '../model/user-info.js';
import { takesHeaders } from '../web/response.js';

/**
 * A middleware for Express, Connect and every other framework that passes Node's request and response. It
 * does not change the types of a route: `req.params.id` keeps its type.
 */
export type Middleware = (
  req: IncomingMessage,
  res: ServerResponse,
  next: (error?: unknown) => void,
) => void;

/**
 * What the visitor's code is worth: `unknown` when the service or the holder store gave no usable answer, or after too
 * many failed attempts.
 */
export type Verdict = Decision['verdict'];

/** What the middleware found: at `req.marketplace`, and for templates at `res.locals.marketplace`. */
export interface MarketplaceContext {
  /** The visitor's purchase, from `requirePurchase` or `loadPurchase`; only with the verdict `valid`. */
  purchase?: Purchase;
  /** What the visitor's code is worth, from `requirePurchase` or `loadPurchase`. */
  verdict?: Verdict;
  /** Why the verdict is not `valid`: the refusal, or the error that left the verdict `unknown`. */
  denial?: Denial;
  /** From `loadItem`. */
  item?: Item;
  /** From `loadItems`. */
  items?: readonly Item[];
  /** From `loadAccount`. */
  account?: Account;
  /** From `loadUser`. */
  user?: UserInfo;
}

declare global {
  namespace Express {
    interface Request {
      /** What marketgate's middleware found; absent where none has run. */
      marketplace?: MarketplaceContext;
    }
    interface Locals {
      /** The same object as `req.marketplace`. */
      marketplace?: MarketplaceContext;
    }
  }
}

class Context implements MarketplaceContext {
  declare verdict?: Verdict;
  declare denial?: Denial;

  /** Apps send the context to visitors, but the error of an outage is for the operator. */
  toJSON(): MarketplaceContext {
    const { denial, ...shown } = this;
    return denial?.expose === true ? { ...shown, denial } : shown;
  }
}

/** Gives the context of a request. The first middleware that runs makes it. */
export function contextOf(req: IncomingMessage, res: ServerResponse): MarketplaceContext {
  const { locals } = res as { locals?: Express.Locals };
  const request = req as { marketplace?: MarketplaceContext };
  const context: MarketplaceContext = request.marketplace ?? new Context();
  request.marketplace = context;
  if (locals !== undefined) locals.marketplace = context;
  return context;
}

/** Adds request headers to `Vary`. */
export function varyOn(res: ServerResponse, headers: readonly string[]): void {
  if (headers.length > 0 && takesHeaders(res)) vary(res, [...headers]);
}

/**
 * Keeps what a guard lets through out of shared caches, because a proxy would give the customer's file to
 * the next visitor. A browser asks again before it uses its copy: without an expiry, it would keep a file that has not changed
 * for long, and serve the old version after an update. A `Cache-Control` that the app has set before stays.
 *
 * @param headers the request headers that the response depends on.
 */
export function keepPrivate(res: ServerResponse, headers: readonly string[]): void {
  if (takesHeaders(res) && res.getHeader('Cache-Control') === undefined) {
    res.setHeader('Cache-Control', 'private');
    res.setHeader('Expires', '0');
  }
  varyOn(res, headers);
}

/** Gives a value of the context. @throws Error that names the middleware that must run before. */
function found<K extends keyof MarketplaceContext>(
  req: object,
  key: K,
  middleware: string,
): NonNullable<MarketplaceContext[K]> {
  const { marketplace } = req as { marketplace?: MarketplaceContext };
  const value = marketplace?.[key];
  if (value !== undefined) return value;
  const verdict = key === 'purchase' && marketplace?.verdict;
  const advice = verdict
    ? ` (verdict "${verdict}"); check req.marketplace.verdict first`
    : `; put ${middleware} before this handler`;
  throw new Error(`${key}Of: this request has no ${key}${advice}`);
}

/** The purchase of a request behind `requirePurchase`. @throws Error when there is none. */
export const purchaseOf = (req: object): Purchase =>
  found(req, 'purchase', 'requirePurchase(keyApi)');

/** The item of a request behind `loadItem`. @throws Error when there is none. */
export const itemOf = (req: object): Item => found(req, 'item', 'loadItem(keyApi)');

/** The items of a request behind `loadItems`. @throws Error when there are none. */
export const itemsOf = (req: object): readonly Item[] => found(req, 'items', 'loadItems(keyApi)');

/** The account of a request behind `loadAccount`. @throws Error when there is none. */
export const accountOf = (req: object): Account => found(req, 'account', 'loadAccount(keyApi)');

/** The user of a request behind `loadUser`. @throws Error when there is none. */
export const userOf = (req: object): UserInfo => found(req, 'user', 'loadUser(loginApi, …)');
