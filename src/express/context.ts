import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Denial } from '../check/purchase-check.js';
import type { Account } from '../model/account.js';
import type { Item } from '../model/item.js';
import type { Purchase } from '../model/purchase.js';
import type { UserInfo } from '../model/user-info.js';

/**
 * A middleware for Express, Connect and everything else that passes Node's own request and response. It
 * changes the type of no route: `req.params.id` stays what it was.
 */
export type Middleware = (
  req: IncomingMessage,
  res: ServerResponse,
  next: (error?: unknown) => void,
) => void;

/** What is known of the visitor's code: `unknown` when the service could not be asked. */
export type Verdict = 'valid' | 'invalid' | 'unknown' | 'absent';

/** What the middleware found: at `req.marketplace`, and for templates at `res.locals.marketplace`. */
export interface MarketplaceContext {
  /** The visitor's purchase, from `requirePurchase` or `loadPurchase`; only with the verdict `valid`. */
  purchase?: Purchase;
  /** What the visitor's code is worth, from `requirePurchase` or `loadPurchase`. */
  verdict?: Verdict;
  /** Why the verdict is not `valid`: the refusal, or the error of a service that could not be asked. */
  denial?: Denial;
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
      /** What marketgate's middleware found; absent where none has run. */
      marketplace?: MarketplaceContext;
    }
    interface Locals {
      /** The same object as `req.marketplace`. */
      marketplace?: MarketplaceContext;
    }
  }
}

/** The context of a request, made by the first middleware that runs. */
export function contextOf(req: IncomingMessage, res: ServerResponse): MarketplaceContext {
  const { locals } = res as { locals?: Express.Locals };
  const request = req as { marketplace?: MarketplaceContext };
  request.marketplace ??= {};
  if (locals !== undefined) locals.marketplace = request.marketplace;
  return request.marketplace;
}

/** Adds request headers to `Vary`. */
export function varyOn(res: ServerResponse, headers: readonly string[]): void {
  if (headers.length === 0 || res.headersSent) return;
  const vary = [res.getHeader('Vary') ?? []].flat().map(String).join(', ');
  const known = vary.toLowerCase().split(/\s*,\s*/);
  const more = headers.filter((name) => !known.includes(name.toLowerCase()));
  if (known.includes('*') || more.length === 0) return;
  res.setHeader('Vary', [vary, ...more].filter(Boolean).join(', '));
}

/** Keeps a refusal out of every cache: the visitor may come back with a code, or logged in. */
export function noStore(res: ServerResponse): void {
  // Something else may have answered meanwhile, such as a timeout of the app.
  if (!res.headersSent) res.setHeader('Cache-Control', 'no-store');
}

/** @throws Error that names the middleware that has to run before. */
function found<K extends keyof MarketplaceContext>(
  req: object,
  key: K,
  middleware: string,
): NonNullable<MarketplaceContext[K]> {
  const { marketplace } = req as { marketplace?: MarketplaceContext };
  const value = marketplace?.[key];
  if (value !== undefined) return value;
  const verdict = key === 'purchase' && marketplace?.verdict;
  throw new Error(
    `${key}Of: this request has no ${key}${verdict ? ` (verdict "${verdict}")` : ''}; put ${middleware} before this handler`,
  );
}

/** The purchase of a request behind `requirePurchase`. @throws Error when there is none. */
export const purchaseOf = (req: object): Purchase =>
  found(req, 'purchase', 'requirePurchase(keyApi)');

/** The item of a request behind `loadItem`. @throws Error when there is none. */
export const itemOf = (req: object): Item => found(req, 'item', 'loadItem(keyApi)');

/** The items of a request behind `loadItems`. @throws Error when there are none. */
export const itemsOf = (req: object): Item[] => found(req, 'items', 'loadItems(keyApi)');

/** The account of a request behind `loadAccount`. @throws Error when there is none. */
export const accountOf = (req: object): Account => found(req, 'account', 'loadAccount(keyApi)');

/** The user of a request behind `loadUser`. @throws Error when there is none. */
export const userOf = (req: object): UserInfo => found(req, 'user', 'loadUser(loginApi, …)');

/**
 * What a guard lets through is not for shared caches: a proxy would give the customer's file to the next
 * visitor. An app that has set `Cache-Control` before knows better.
 */
export function keepPrivate(res: ServerResponse, headers: readonly string[]): void {
  if (!res.headersSent && res.getHeader('Cache-Control') === undefined) {
    res.setHeader('Cache-Control', 'private');
  }
  varyOn(res, headers);
}
