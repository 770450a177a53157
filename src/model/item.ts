import { z } from 'zod';
import { MarketgateError } from '../errors.js';
import { timestamp } from './fields.js';

/**
 * An item of the account's catalogue (specification: interface A, "Item"). Names are as on the wire.
 * Which fields beside `id`, `name` and `media` are always there is "not shown", so they are optional.
 */
export interface Item {
  /** A whole number; what `item` of a guard is compared with. */
  id: number;
  /** What it is sold as. */
  name: string;
  /** What it is; HTML on many deployments, and then not to be trusted. */
  description?: string;
  /** Name of its category. */
  category?: string;
  /** Name of the category below that. */
  sub_category?: string;
  /** What comes with it, in the marketplace's words. */
  options?: string[];
  /** The item's own version: three numbers with dots. */
  version?: string;
  /** URL. */
  demo_link?: string;
  /** Words to find it by. */
  tags?: string[];
  /** Its pictures and previews. */
  media: ItemMedia;
  /** What it costs. */
  price?: ItemPrice;
  /** A currency code, as in "USD". */
  currency?: string;
  /** ISO 8601, UTC. */
  published_at?: string;
}

/** Pictures and previews of an item, as URLs. */
export interface ItemMedia {
  /** A small picture; all items have one. */
  thumbnail: string;
  /** Absent for audio items. */
  preview_image?: string;
  /** Only for video items. */
  preview_video?: string;
  /** Only for audio items. */
  preview_audio?: string;
  /** Only if the item has any. */
  screenshots?: string[];
}

/** Prices by kind of licence, in units of the item's `currency`. */
export interface ItemPrice {
  /** With the regular licence. */
  regular?: number;
  /** With the extended licence. */
  extended?: number;
}

const text = z.string().optional();
const texts = z.array(z.string()).optional();

/**
 * An item as it stands inside a purchase. Only its `id` must be there: that is what a guard compares,
 * and a missing picture must not cost a customer the download.
 */
export const purchasedItemSchema = z.looseObject({
  id: z.int(),
  name: text,
  description: text,
  category: text,
  sub_category: text,
  options: texts,
  version: text,
  demo_link: text,
  tags: texts,
  media: z.looseObject({
    thumbnail: text,
    preview_image: text,
    preview_video: text,
    preview_audio: text,
    screenshots: texts,
  }),
  price: z
    .looseObject({ regular: z.number().optional(), extended: z.number().optional() })
    .optional(),
  currency: text,
  published_at: timestamp,
});

/** An item of the catalogue: one without a name cannot be shown, and counts as broken. */
export const itemSchema = purchasedItemSchema.extend({ name: z.string() });

/**
 * An item's id out of what a program or a route parameter gives: a whole number, or its digits.
 * @throws MarketgateError `item_id_invalid`. The value is not repeated: it can be anything.
 */
export function itemId(value: unknown): number {
  const id = typeof value === 'string' && /^\d{1,16}$/.test(value) ? Number(value) : value;
  if (typeof id !== 'number' || !Number.isSafeInteger(id) || id < 0) {
    throw new MarketgateError(
      'item_id_invalid',
      'item_id must be a whole number, as in 1042; check the link or the value that was passed',
    );
  }
  return id;
}
