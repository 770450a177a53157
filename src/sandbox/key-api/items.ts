import type { SeedItem } from '../data/schema.js';
import type { SandboxDialect } from '../dialect.js';
import { Refused } from '../request.js';
import { amountOf, timeOf } from './answers.js';
import type { Endpoint } from './call.js';

/**
 * GET /api/items/all → `{status, items: Item[]}` (spec, "Endpoints"). All items of the workspace that are
 * in the catalogue, newest first, without pages (field notes).
 */
export const itemsAll: Endpoint = ({ workspace, data, dialect, origin }) => {
  const items = data.items
    .filter((item) => item.workspace === workspace?.id && !item.deleted)
    .sort((a, b) => Date.parse(b.published_at) - Date.parse(a.published_at));
  const isNone = items.length === 0 || (items.length === 1 && dialect.singleItemBug);
  return isNone ? undefined : { items: items.map((item) => itemOf(item, origin, dialect)) };
};

/** GET /api/items/item → `{status, item: Item}` (spec, "Endpoints"). */
export const itemsItem: Endpoint = ({ workspace, data, dialect, origin, required }) => {
  const wanted = required('item_id');
  if (!/^\d{1,15}$/.test(wanted)) throw new Refused(400, 'The item id must be an integer.');
  const item = data.items.find(({ id }) => id === Number(wanted));
  const isTheirs = item && !item.deleted && item.workspace === workspace?.id;
  return isTheirs ? { item: itemOf(item, origin, dialect) } : undefined;
};

export function itemOf(seed: Readonly<SeedItem>, origin: string, dialect: SandboxDialect): object {
  const { workspace, kind, screenshots, deleted, ...item } = seed;
  const media = mediaOf(seed, origin);
  return {
    ...item,
    demo_link: item.demo_link ?? `${origin}/preview/${item.id}`,
    ...(dialect.nulls && { options: null, version: null, demo_link: null, sub_category: null }),
    tags: dialect.tagsAsString ? item.tags.join(',') : item.tags,
    media: {
      ...media,
      // Spreading an array numbers its entries: {"0": url, "1": url}.
      ...(dialect.screenshotsAsObject && {
        screenshots: media.screenshots ? { ...media.screenshots } : null,
      }),
    },
    price: {
      regular: amountOf(item.price.regular, dialect),
      extended: amountOf(item.price.extended, dialect),
    },
    published_at: timeOf(item.published_at, dialect),
  };
}

/** The URLs of an item's media: each kind of item has other previews (spec, "media fields"). */
export function mediaOf({ id, kind, screenshots }: Readonly<SeedItem>, origin: string) {
  const url = (file: string) => `${origin}/media/items/${id}/${file}`;
  return {
    thumbnail: url('thumbnail.svg'),
    ...(kind !== 'audio' && { preview_image: url('preview.svg') }),
    ...(kind === 'video' && { preview_video: url('preview.webm') }),
    ...(kind === 'audio' && { preview_audio: url('preview.wav') }),
    ...(screenshots > 0 && {
      screenshots: Array.from({ length: screenshots }, (_, n) => url(`screenshot-${n + 1}.svg`)),
    }),
  };
}
