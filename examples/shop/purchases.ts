import type { Request } from 'express';
import {
  type CodeSource,
  firstOf,
  fromBody,
  fromHeader,
  type Item,
  type Purchase,
} from 'marketgate';

/** A redeemed purchase, as it lies in the session. */
export interface OwnPurchase {
  code: string;
  itemId: number;
  itemName: string;
  version?: string;
  thumbnail?: string;
  licence?: string;
  /** ISO 8601. */
  bought?: string;
  /** ISO 8601; absent when support was not bought. */
  supportedUntil?: string;
}

declare module 'express-session' {
  interface SessionData {
    /** Newest first. A shop with a database keeps them there, by the customer's id. */
    purchases?: OwnPurchase[];
    /** The name of an item that was redeemed a moment ago. */
    justAdded?: string;
  }
}

/** A session is no warehouse. */
const MOST = 50;

/** An item inside a purchase may have lost everything but its id. */
export const nameOfItem = ({ id, name }: Item): string => name ?? `Item ${id}`;

/** The customer's redeemed purchases. */
export const ownPurchases = (req: Request): OwnPurchase[] => req.session.purchases ?? [];

/** Keeps a purchase that the marketplace has just confirmed. */
export function remember(req: Request, purchase: Purchase): void {
  const { item, purchase_code: code } = purchase;
  const own: OwnPurchase = {
    code,
    itemId: item.id,
    itemName: nameOfItem(item),
    version: item.version,
    thumbnail: item.media.thumbnail,
    licence: purchase.license_type,
    bought: purchase.date,
    supportedUntil: purchase.supported_until,
  };
  const others = ownPurchases(req).filter((other) => other.code !== code);
  req.session.purchases = [own, ...others].slice(0, MOST);
}

/** Drops what the marketplace has since called invalid, as after a refund. */
export function forget(req: Request, code: string): void {
  req.session.purchases = ownPurchases(req).filter((own) => own.code !== code);
}

/** The customer's purchase of an item: of several, the one whose support lasts longest. */
export function purchaseOf(req: Request, itemId: number): OwnPurchase | undefined {
  const end = ({ supportedUntil }: OwnPurchase) => Date.parse(supportedUntil ?? '') || 0;
  return ownPurchases(req)
    .filter((own) => own.itemId === itemId)
    .sort((a, b) => end(b) - end(a))[0];
}

/**
 * Where a code for the item in the route is looked for: a header (programs), a form field, or what
 * the customer redeemed before. It is only found here; what it is worth the marketplace is asked.
 */
export const codeForItem: CodeSource = firstOf(
  fromHeader('x-purchase-code'),
  fromBody('purchase_code'),
  (req) => purchaseOf(req, Number(req.params.id))?.code,
);
