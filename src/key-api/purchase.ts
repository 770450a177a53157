import { z } from 'zod';
import { timestamp } from '../shape/timestamp-schema.js';
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
