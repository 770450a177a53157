import { MarketgateError } from '../errors.js';
import {
  number,
  numberId,
  optionalPart,
  part,
  record,
  requiredText,
  text,
  texts,
  timestamp,
  url,
} from './fields.js';

/**
 * An item of the account's catalogue (specification: interface A, "Item"). Names are as on the wire.
 * Which fields other than `id`, `name` and `media` are always there is "not shown", so they are optional.
 */
export interface Item {
  /** The id of the item: a whole number, which `item` of a guard is compared with. */
  id: number;
  /** The name that it is sold under. */
  name: string;
  /** What it is: HTML on many deployments, and not to be trusted. */
  description?: string;
  /** The category. */
  category?: string;
  /** The category below that. */
  sub_category?: string;
  /** What it comes as, in the marketplace's words. */
  options?: string[];
  /** The item's own version: three numbers with dots. */
  version?: string;
  /** URL of a demonstration. */
  demo_link?: string;
  /** Tags to find it by. */
  tags?: string[];
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
  screenshots?: string[];
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
  media: part<ItemMedia>({
    thumbnail: url,
    preview_image: url,
    preview_video: url,
    preview_audio: url,
    screenshots: texts,
  }),
  price: optionalPart<ItemPrice>({
    regular: number.meta({ examples: [24] }),
    extended: number.meta({ examples: [180] }),
  }),
  currency: text.meta({ examples: ['USD'] }),
  published_at: timestamp,
};

/**
 * An item inside a purchase. Only its `id` is required: that is what a guard compares, and a missing
 * name must not cost a customer the download.
 */
export const purchasedItemSchema = record<Item>(fields);

/** An item of the catalogue: one without a name cannot be shown, and counts as broken. */
export const itemSchema = record<Item>({
  ...fields,
  name: requiredText.meta({ examples: ['Fjord Light'] }),
});

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
