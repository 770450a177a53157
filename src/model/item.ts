import { MarketgateError } from '../errors.js';
import {
  number,
  numberId,
  objectOrEmpty,
  optionalObject,
  record,
  requiredText,
  text,
  texts,
  timestamp,
  url,
} from './fields.js';

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
  id: numberId.meta({ examples: [1042] }),
  name: text.meta({ examples: ['Fjord Light'] }),
  description: text,
  category: text.meta({ examples: ['Photos'] }),
  sub_category: text,
  options: texts.meta({ examples: [['JPG']] }),
  version: text.meta({ examples: ['2.3.1'] }),
  demo_link: url,
  tags: texts.meta({ examples: [['light', 'winter']] }),
  media: objectOrEmpty<ItemMedia>({
    thumbnail: url,
    preview_image: url,
    preview_video: url,
    preview_audio: url,
    screenshots: texts,
  }),
  price: optionalObject<ItemPrice>({
    regular: number.meta({ examples: [24] }),
    extended: number.meta({ examples: [180] }),
  }),
  currency: text.meta({ examples: ['USD'] }),
  published_at: timestamp,
};

/**
 * An item inside a purchase. Only its `id` is required, because guards compare it; a missing name must not
 * cost a customer the download.
 */
export const purchasedItemSchema = record<Item>(fields);

/** An item of the catalogue. Its `name` is required too, because an item without one cannot be shown. */
export const itemSchema = record<Item>({
  ...fields,
  name: requiredText.meta({ examples: ['Fjord Light'] }),
});

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
