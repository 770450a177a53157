import type { SeedItem, SeedPurchase } from '../seed/types.js';
import { type ItemResource, itemResource } from './item-resource.js';

/** Purchase as the specification writes it (spec, "Purchase"). */
export interface PurchaseResource {
  purchase_code: string;
  license_type: string;
  price: number;
  currency: string;
  item: ItemResource;
  supported_until?: string;
  downloaded: boolean;
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
