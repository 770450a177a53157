import { z } from 'zod';
import { timestamp } from './fields.js';
import { type Item, purchasedItemSchema } from './item.js';

/** A purchase (specification: interface A, "Purchase"). Names are as on the wire. */
export interface Purchase {
  /**
   * A secret of the customer: whoever has it is let in. Some deployments mask it, as in `****-1c2d`: to ask
   * again later, keep what the customer has sent.
   */
  purchase_code: string;
  /** A label for the kind of licence, as in "Regular" or "Extended"; the list of values is open. */
  license_type: string;
  /** What was paid, in units of `currency`. */
  price: number;
  /** A currency code, as in "USD". */
  currency: string;
  /** What was bought, also when it has left the catalogue since. */
  item: Item;
  /**
   * ISO 8601, UTC. Absent when support is disabled or was not bought. Some deployments send it also
   * when it is past: compare it with the present.
   */
  supported_until?: string;
  /** Whether the customer has downloaded it from the marketplace. */
  downloaded: boolean;
  /** When it was bought: ISO 8601, UTC. */
  date: string;
}

const text = z.string().optional();

/** Only what guards rest on must be there: the code and the item's `id`. */
export const purchaseSchema = z.looseObject({
  purchase_code: z.string().min(1),
  license_type: text,
  price: z.number().optional(),
  currency: text,
  item: purchasedItemSchema,
  supported_until: timestamp,
  downloaded: z.boolean().optional(),
  date: timestamp,
});

/** Zero-width characters, soft hyphen, joiners, marks of direction, byte order mark: all of \p{Cf}. */
const INVISIBLE = /\p{Cf}/gu;
const SHAPE = /^[A-Za-z0-9-]{8,128}$/;

/**
 * A purchase code as it was pasted, made into what the service knows: compatibility forms (full-width
 * letters, ligatures) become plain ones (NFKC), invisible characters go, and blanks around it.
 */
export function normalizePurchaseCode(pasted: string): string {
  // Most need nothing.
  if (SHAPE.test(pasted)) return pasted;
  return pasted.normalize('NFKC').replace(INVISIBLE, '').trim();
}

/** Whether a normalised code can be one at all: 8 to 128 letters, digits and dashes. */
export const hasPurchaseCodeShape = (code: string): boolean => SHAPE.test(code);

/**
 * What all spellings of one code have in common: services may ignore letter case, so that hundreds of
 * spellings are one purchase.
 */
export const canonicalCode = (code: string): string => code.toLowerCase();
