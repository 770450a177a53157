import * as f from './fields.js';
import { type OnDrift, type Parsed, parse } from './fields.js';
import { type Item, purchasedItemRecord } from './item.js';

/**
 * A purchase (specification: "Purchase"). Field names are as on the wire. Only `purchase_code` and the `id` of
 * `item` are certain: any other field is absent, whatever its type says, when the service leaves it out or
 * sends what cannot be read.
 */
export interface Purchase {
  /**
   * The code. It is the customer's secret, because it opens what they bought. Some deployments mask it, as in
   * `****-1c2d`: to validate it again later, keep the code that the customer sent.
   */
  purchase_code: string;
  /** A label for the kind of licence, as in "Regular" or "Extended". Its allowed values are not shown. */
  license_type: string;
  /** What was paid, in units of `currency`. */
  price: number;
  /** A currency code, as in "USD". */
  currency: string;
  /** The item that was bought, even if it has left the catalogue since. */
  item: Item;
  /**
   * When support ends: ISO 8601, UTC. Absent when support is disabled or was not bought. It can be in the
   * past: compare it with the current time.
   */
  supported_until?: string;
  /** Whether the customer has downloaded it from the marketplace. */
  downloaded: boolean;
  /** When it was bought: ISO 8601, UTC. */
  date: string;
}

/** Only the code and the item's `id` are essential, because guards need no more. */
export const purchaseRecord = f.record<Purchase>({
  purchase_code: f.textId,
  license_type: f.text,
  price: f.number,
  currency: f.text,
  item: purchasedItemRecord,
  supported_until: f.timestamp,
  downloaded: f.boolean,
  date: f.timestamp,
});

/** Stands in a purchase for a "supported_until" that was sent and cannot be read. */
const UNREADABLE = 'unreadable';

/** Reads a purchase as it is cached; callers get it from {@link shownPurchase}. */
export function readPurchase(sent: unknown, at: string, onDrift: OnDrift): Parsed<Purchase> {
  const field = `${at}.supported_until`;
  let isUnreadable = false;
  const parsed = parse(purchaseRecord, sent, at, (drift) => {
    isUnreadable ||= drift.kind === 'dropped' && drift.path === field;
    onDrift(drift);
  });
  if (isUnreadable && parsed.ok) parsed.value.supported_until = UNREADABLE;
  return parsed;
}

/** A purchase whose "supported_until" was sent and could not be read, so that a guard must not take it for absent. */
interface UnreadablePurchase extends Purchase {
  readonly isSupportUnreadable?: boolean;
}

/** A purchase as callers get it: without what cannot be read. */
export function shownPurchase(purchase: Purchase): Purchase {
  if (purchase.supported_until !== UNREADABLE) return purchase;
  const { supported_until: _, ...shown } = purchase;
  // Not enumerable, because apps send the purchase as JSON.
  return Object.freeze(Object.defineProperty(shown, 'isSupportUnreadable', { value: true }));
}

export const isSupportUnreadable = ({ isSupportUnreadable }: UnreadablePurchase): boolean =>
  isSupportUnreadable === true;
