import type { RequestHandler } from 'express';
import type { SandboxContext } from '../context.js';
import type { SeedItem } from '../data/schema.js';
import type { SandboxDialect } from '../dialect.js';
import { originOf, queryParameters } from '../request.js';
import { amountOf, sendError, sendSuccess, timeOf } from './answers.js';
import { requiredInteger, requiredString, workspaceOfKey } from './parameters.js';

/**
 * GET /api/items/all → `{status, items: Item[]}` (spec, "Endpoints"). All items of the workspace that are
 * in the catalogue, newest first, without pages (field notes).
 */
export const itemsAll =
  ({ data, dialect }: SandboxContext): RequestHandler =>
  (req, res) => {
    const apiKey = requiredString(queryParameters(req), 'api_key', dialect);
    const workspace = workspaceOfKey(data, apiKey);
    const items = data.items
      .filter((item) => item.workspace === workspace?.id && !item.deleted)
      .sort((a, b) => Date.parse(b.published_at) - Date.parse(a.published_at));
    const isNone = items.length === 0 || (items.length === 1 && dialect.singleItemBug);
    if (isNone) return sendError(res, dialect, 'items-all');
    const origin = originOf(req);
    sendSuccess(res, dialect, { items: items.map((item) => itemOf(item, origin, dialect)) });
  };

/** GET /api/items/item → `{status, item: Item}` (spec, "Endpoints"). */
export const itemsItem =
  ({ data, dialect }: SandboxContext): RequestHandler =>
  (req, res) => {
    const parameters = queryParameters(req);
    const apiKey = requiredString(parameters, 'api_key', dialect);
    const itemId = requiredInteger(parameters, 'item_id', dialect);
    const workspace = workspaceOfKey(data, apiKey);
    const item = data.items.find(({ id }) => id === itemId);
    if (!workspace || !item || item.deleted || item.workspace !== workspace.id) {
      return sendError(res, dialect, 'items-item');
    }
    sendSuccess(res, dialect, { item: itemOf(item, originOf(req), dialect) });
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
