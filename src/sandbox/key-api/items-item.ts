import type { RequestHandler } from 'express';
import type { SandboxContext } from '../context.js';
import { originOf } from '../origin.js';
import { queryParameters } from '../parameters.js';
import { driftedItem } from './drift.js';
import { sendError, sendRefusal, sendSuccess } from './errors.js';
import { itemResource } from './item-resource.js';
import { requiredInteger, requiredString } from './key-parameters.js';
import { workspaceOfKey } from './workspace-of-key.js';

/** GET /api/items/item → `{status, item: Item}` (spec, "Endpoints"). */
export function itemsItem({ data, dialect }: SandboxContext): RequestHandler {
  return (req, res) => {
    const parameters = queryParameters(req);
    const apiKey = requiredString(parameters, 'api_key', dialect);
    if ('refusal' in apiKey) return sendRefusal(res, dialect, 400, apiKey.refusal);
    const itemId = requiredInteger(parameters, 'item_id', dialect);
    if ('refusal' in itemId) return sendRefusal(res, dialect, 400, itemId.refusal);

    const workspace = workspaceOfKey(data, apiKey.value);
    const item = data.items.find((candidate) => candidate.id === itemId.value);
    if (!workspace || !item || item.deleted || item.workspace !== workspace.id) {
      return sendError(res, dialect, 'items-item');
    }
    sendSuccess(res, dialect, { item: driftedItem(itemResource(item, originOf(req)), dialect) });
  };
}
