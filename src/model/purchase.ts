import { boolean, number, record, text, textId, timestamp } from './fields.js';
import { type Item, purchasedItemSchema } from './item.js';

/** A purchase (specification: interface A, "Purchase"). Names are as on the wire. */
export interface Purchase {
  /**
   * The code. A secret of the customer: it opens what was bought. Some deployments mask it, as in
   * `****-1c2d`: to ask again later, keep the code that the customer sent.
   */
  purchase_code: string;
  /** A label for the kind of licence, as in "Regular" or "Extended"; its allowed values are not shown. */
  license_type: string;
  /** What was paid, in units of `currency`. */
  price: number;
  /** A currency code, as in "USD". */
  currency: string;
  /** The item that was bought, also when it has left the catalogue since. */
  item: Item;
  /**
   * When support ends: ISO 8601, UTC. Absent when support is disabled or was not bought. Some
   * deployments send it also when it is past: compare it with the present.
   */
  supported_until?: string;
  /** Whether the customer has downloaded it from the marketplace. */
  downloaded: boolean;
  /** When it was bought: ISO 8601, UTC. */
  date: string;
}

/** Only what guards rest on is required: the code and the item's `id`. */
export const purchaseSchema = record<Purchase>({
  purchase_code: textId.meta({ examples: ['6f1c2a54-9d0e-4b7a-8c35-0e2f4a6b8d10'] }),
  license_type: text.meta({ examples: ['Regular', 'Extended'] }),
  price: number.meta({ examples: [24] }),
  currency: text.meta({ examples: ['USD'] }),
  item: purchasedItemSchema,
  supported_until: timestamp,
  downloaded: boolean,
  date: timestamp.meta({ examples: ['2026-01-14T10:22:05Z'] }),
});

/** Zero-width characters, soft hyphen, joiners, marks of direction, byte order mark: all of \p{Cf}. */
const INVISIBLE = /\p{Cf}/gu;

/** The shape of every normalised purchase code: 8 to 128 letters, digits and dashes. */
export const PURCHASE_CODE = /^[A-Za-z0-9-]{8,128}$/;

/**
 * A purchase code as it was pasted, made into what the service knows: compatibility forms (full-width
 * letters, ligatures) become plain ones (NFKC), invisible characters go, and blanks around it.
 */
export function normalizePurchaseCode(pasted: string): string {
  return pasted.normalize('NFKC').replace(INVISIBLE, '').trim();
}
