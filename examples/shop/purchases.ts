import type { Request } from 'express';
import type { Purchase } from 'marketgate';
import { CODE_PATTERN } from './errors.js';
import { nameOf } from './layout.js';

/** A redeemed purchase, as stored in the session. */
export interface OwnPurchase {
  code: string;
  itemId: number;
  itemName: string;
  version?: string;
  thumbnail?: string;
  licence?: string;
  /** ISO 8601. Tells two purchases of one item apart. */
  boughtOn?: string;
  /** ISO 8601; absent without support. */
  supportedUntil?: string;
}

declare module 'express-session' {
  interface SessionData {
    /** Newest first. A shop with a database stores them there, by the customer's id. */
    purchases?: OwnPurchase[];
    /** The name of the item that was just redeemed. */
    justAdded?: string;
  }
}

const MAX_PURCHASES = 50;

export const ownPurchases = (req: Request): OwnPurchase[] => req.session.purchases ?? [];

/** Stores a valid purchase. */
export function remember(req: Request, { item, ...purchase }: Purchase): void {
  const { purchase_code: named } = purchase;
  const own: OwnPurchase = {
    // As the marketplace names it, whatever was pasted. Some deployments mask the code in their answer.
    code: CODE_PATTERN.test(named) ? named : String(req.body.purchase_code),
    itemId: item.id,
    itemName: nameOf(item),
    version: item.version,
    thumbnail: item.media.thumbnail,
    licence: purchase.license_type,
    boughtOn: purchase.date,
    supportedUntil: purchase.supported_until,
  };
  const others = ownPurchases(req).filter((other) => other.code !== own.code);
  req.session.purchases = [own, ...others].slice(0, MAX_PURCHASES);
  req.session.justAdded = own.itemName;
}

/** Removes a purchase that is no longer valid, for example after a refund. */
export function forget(req: Request, { code }: OwnPurchase): void {
  req.session.purchases = ownPurchases(req).filter((own) => own.code !== code);
}

/** The customer's purchase of an item; of several, the one with the longest support. */
export function ownPurchaseOf(req: Request, itemId: number): OwnPurchase | undefined {
  const end = ({ supportedUntil }: OwnPurchase) => Date.parse(supportedUntil ?? '') || 0;
  const own = ownPurchases(req).filter((each) => each.itemId === itemId);
  return own.sort((a, b) => end(b) - end(a))[0];
}

/** The customer's code for the item in the URL. */
export const ownCode = (req: Request): string | undefined =>
  ownPurchaseOf(req, Number(req.params.id))?.code;
