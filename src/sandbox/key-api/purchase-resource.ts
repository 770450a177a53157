import type { SeedItem, SeedPurchase } from '../seed/types.js';
import { type ItemResource, itemResource } from './item-resource.js';

/** Purchase as the specification writes it (spec, "Purchase"). */
export interface PurchaseResource {
  /** A UUID in the default seed. */
  purchase_code: string;
  /** A label for the kind of licence, as in "Regular". */
  license_type: string;
  /** What was paid, in units of `currency`. */
  price: number;
  /** A currency code, as in "USD". */
  currency: string;
  /** What was bought. */
  item: ItemResource;
  /** ISO 8601, UTC; absent when it is not supported. */
  supported_until?: string;
  /** Whether it was downloaded from the marketplace. */
  downloaded: boolean;
  /** When it was bought: ISO 8601, UTC. */
  date: string;
}

/**
 * A purchase with its full item record.
 *
 * @param showsPast - Whether `supported_until` is sent when it is already past. By the specification it
 * is absent when the purchase is not supported, so only the `supportedUntilPast` dialect shows it.
 */
export function purchaseResource(
  purchase: Readonly<SeedPurchase>,
  item: Readonly<SeedItem>,
  origin: string,
  now: number,
  showsPast: boolean,
): PurchaseResource {
  const until = purchase.supported_until;
  const isShown = until !== undefined && (showsPast || Date.parse(until) > now);
  return {
    purchase_code: purchase.purchase_code,
    license_type: purchase.license_type,
    price: purchase.price,
    currency: purchase.currency,
    item: itemResource(item, origin),
    ...(isShown && { supported_until: until }),
    downloaded: purchase.downloaded,
    date: purchase.date,
  };
}
