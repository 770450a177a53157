import * as f from './fields.js';
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
   * past: compare it with the current time. A date that cannot be read stays as the text that was sent.
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
  supported_until: f.timestampOrText,
  downloaded: f.boolean,
  date: f.timestamp,
});
