import type { RequestHandler } from 'express';
import type { SandboxContext } from '../context.js';
import { originOf } from '../origin.js';
import { queryParameters } from '../parameters.js';
import { driftedItem } from './drift.js';
import { sendError, sendRefusal, sendSuccess } from './errors.js';
import { itemResource } from './item-resource.js';
import { requiredString } from './key-parameters.js';
import { workspaceOfKey } from './workspace-of-key.js';

/**
 * GET /api/items/all → `{status, items: Item[]}` (spec, "Endpoints"). All items of the workspace that are
 * in the catalogue, newest first, without pages (field notes).
 */
export function itemsAll({ data, dialect }: SandboxContext): RequestHandler {
  return (req, res) => {
    const apiKey = requiredString(queryParameters(req), 'api_key', dialect);
    if ('refusal' in apiKey) return sendRefusal(res, dialect, 400, apiKey.refusal);

    const workspace = workspaceOfKey(data, apiKey.value);
    const items = data.items
      .filter((item) => item.workspace === workspace?.id && !item.deleted)
      .sort((a, b) => Date.parse(b.published_at) - Date.parse(a.published_at));
    const isNone = items.length === 0 || (items.length === 1 && dialect.singleItemBug);
    if (isNone) return sendError(res, dialect, 'items-all');

    const origin = originOf(req);
    sendSuccess(res, dialect, {
      items: items.map((item) => driftedItem(itemResource(item, origin), dialect)),
    });
  };
}
