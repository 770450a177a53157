import { MarketgateError } from '../errors.js';
import * as f from './fields.js';

/**
 * An item of the account's catalogue (specification: "Item"). Field names are as on the wire. The
 * specification does not show which fields are required; all but `id`, `name` and `media` are optional.
 */
export interface Item {
  /** The id of the item: a whole number. A guard compares its option `item` with it. */
  id: number;
  /** The name that it is sold under. */
  name: string;
  /** The description: HTML on many deployments. Do not trust it. */
  description?: string;
  /** The category. */
  category?: string;
  /** The category below that. */
  sub_category?: string;
  /** The options that the marketplace lists, as in "JPG". */
  options?: readonly string[];
  /** The item's own version: three numbers with dots. */
  version?: string;
  /** URL of a demonstration. */
  demo_link?: string;
  /** Tags to find it by. */
  tags?: readonly string[];
  /** Pictures and previews. */
  media: ItemMedia;
  /** Prices by kind of licence, in units of `currency`. */
  price?: ItemPrice;
  /** A currency code, as in "USD". */
  currency?: string;
  /** When it was published: ISO 8601, UTC. */
  published_at?: string;
}

/** Pictures and previews of an item, as URLs. */
export interface ItemMedia {
  /** A small picture; every item has one. */
  thumbnail: string;
  /** Absent for audio items. */
  preview_image?: string;
  /** Only for video items. */
  preview_video?: string;
  /** Only for audio items. */
  preview_audio?: string;
  /** Only if the item has screenshots. */
  screenshots?: readonly string[];
}

/** Prices by kind of licence, in units of the item's `currency`. */
export interface ItemPrice {
  /** Of the regular licence. */
  regular?: number;
  /** Of the extended licence. */
  extended?: number;
}

const fields = {
  id: f.integerId(1042),
  name: f.requiredText('Fjord Light'),
  description: f.optional(f.text()),
  category: f.optional(f.text('Photos')),
  sub_category: f.optional(f.text()),
  options: f.optional(f.texts(['JPG'])),
  version: f.optional(f.version('2.3.1')),
  demo_link: f.optional(f.url()),
  tags: f.optional(f.texts(['light', 'winter'])),
  media: f.section<ItemMedia>({
    thumbnail: f.url(),
    preview_image: f.optional(f.url()),
    preview_video: f.optional(f.url()),
    preview_audio: f.optional(f.url()),
    screenshots: f.optional(f.urls()),
  }),
  price: f.optional(
    f.optionalObject<ItemPrice>({
      regular: f.optional(f.number(24)),
      extended: f.optional(f.number(180)),
    }),
  ),
  currency: f.optional(f.text('USD')),
  published_at: f.optional(f.timestamp()),
};

/** An item of the catalogue. Its `name` is essential too, because an item without one cannot be shown. */
export const itemSchema = f.record<Item>(fields);

/**
 * An item inside a purchase. Only its `id` is essential, because guards compare it; a missing name must not
 * cost a customer the download.
 */
export const purchasedItemSchema = f.record<Item>({ ...fields, name: f.text() });

/**
 * Parses an item's id: a whole number, or its digits as in a route parameter.
 * @throws MarketgateError `item_id_invalid`, without the value.
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
