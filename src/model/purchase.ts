import { boolean, number, record, text, textId, timestamp } from './fields.js';
import { type Item, purchasedItemSchema } from './item.js';

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

/** Only the code and the item's `id` are required, because guards need no more. */
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

/** Zero-width characters, soft hyphens, joiners, direction marks, byte order marks. */
const INVISIBLE = /\p{Cf}/gu;

/** The shape of every normalised purchase code: 8 to 128 letters, digits and dashes. */
export const PURCHASE_CODE = /^[A-Za-z0-9-]{8,128}$/;

/**
 * Normalises a pasted purchase code. Compatibility forms (full-width letters, ligatures) become plain
 * letters (NFKC); invisible characters and surrounding blanks are removed.
 */
export function normalizePurchaseCode(pasted: string): string {
  return pasted.normalize('NFKC').replace(INVISIBLE, '').trim();
}

/**
 * A code that an app passes in, normalised.
 * @param what - it is, for the error, as in "KeyApi: purchase_code".
 * @throws TypeError when it is blank or not a string.
 */
export function requiredCode(what: string, code: unknown): string {
  const plain = typeof code === 'string' ? normalizePurchaseCode(code) : '';
  if (plain !== '') return plain;
  throw new TypeError(`${what} must be a string that is not blank`);
}
