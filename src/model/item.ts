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
  id: f.integerId,
  name: f.requiredText,
  description: f.text,
  category: f.text,
  sub_category: f.text,
  options: f.texts,
  version: f.text,
  demo_link: f.text,
  tags: f.texts,
  media: f.section<ItemMedia>({
    thumbnail: f.text,
    preview_image: f.text,
    preview_video: f.text,
    preview_audio: f.text,
    screenshots: f.urls,
  }),
  price: f.optionalObject<ItemPrice>({
    regular: f.number,
    extended: f.number,
  }),
  currency: f.text,
  published_at: f.timestamp,
};

/** An item of the catalogue. Its `name` is essential too, because an item without one cannot be shown. */
export const itemRecord = f.record<Item>(fields);

/**
 * An item inside a purchase. Only its `id` is essential, because guards compare it; a missing name must not
 * cost a customer the download.
 */
export const purchasedItemRecord = f.record<Item>({ ...fields, name: f.text });

/** The items of a list. */
export interface ItemList {
  readonly items: readonly Item[];
  /** Whether all could be read. If not, the list does not say which items there are not. */
  readonly isWhole: boolean;
}

/**
 * Reads a list of items. One that cannot be read is left out and reported; if that is true of all, the list is unusable.
 * Of an item that appears twice, the first counts. `undefined`: it is no list.
 */
export function readItems(
  sent: unknown,
  at: string,
  onDrift: f.OnDrift,
): f.Parsed<ItemList> | undefined {
  const elements = f.elementsOf(sent);
  const isList = typeof sent === 'string' ? /^\s*\[/.test(sent) : Array.isArray(sent);
  // `{}` is an empty map, not a list.
  if (elements === undefined || (elements.length === 0 && !isList)) return undefined;
  const items = new Map<number, Item>();
  let problem: (f.Parsed<ItemList> & { ok: false }) | undefined;
  for (const [i, element] of elements.entries()) {
    const item = f.parse(itemRecord, element, `${at}[${i}]`, onDrift);
    if (!item.ok) {
      problem ??= item;
      onDrift({ kind: 'dropped', path: item.path, expected: item.expected });
    } else if (items.has(item.value.id)) {
      onDrift({ kind: 'dropped', path: `${at}[${i}].id`, expected: 'another id' });
    } else items.set(item.value.id, item.value);
  }
  if (problem !== undefined && items.size === 0) return problem;
  return { ok: true, value: { items: [...items.values()], isWhole: problem === undefined } };
}

/**
 * Parses an item's id: a whole number, or its digits as in a route parameter.
 * @throws MarketgateError `item_id_invalid`, without the value.
 */
export function itemId(value: unknown): number {
  const id = typeof value === 'string' && /^\d{1,16}$/.test(value) ? Number(value) : value;
  if (typeof id !== 'number' || !Number.isSafeInteger(id) || id < 0) {
    throw new MarketgateError(
      'item_id_invalid',
      'item_id must be a whole number, as in 1042; check the link, and that the route has that parameter: there is none in router.use, nor in a child router without mergeParams',
    );
  }
  return id;
}
