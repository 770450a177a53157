import type { RequestHandler } from 'express';
import type { SandboxContext } from '../context.js';
import { originOf } from '../origin.js';
import { bodyParameters, queryParameters } from '../parameters.js';
import { isSameSecret } from '../same-secret.js';
import { driftedPurchase } from './drift.js';
import { sendError, sendRefusal, sendSuccess } from './errors.js';
import { requiredString } from './key-parameters.js';
import { purchaseResource } from './purchase-resource.js';
import { workspaceOfKey } from './workspace-of-key.js';

/**
 * POST /api/purchases/validation → `{status, data: {purchase: Purchase}}` (spec, "Endpoints"). The
 * encoding is "not shown": parameters are read from a form, a JSON object or the query (field notes).
 * "Invalid purchase code" is also the answer to a wrong api_key, another author's code, and a refunded
 * or cancelled purchase.
 */
export function purchasesValidation({ data, dialect, clock }: SandboxContext): RequestHandler {
  return (req, res) => {
    const parameters = new Map([...queryParameters(req), ...bodyParameters(req)]);
    const apiKey = requiredString(parameters, 'api_key', dialect);
    if ('refusal' in apiKey) return sendRefusal(res, dialect, 400, apiKey.refusal);
    const code = requiredString(parameters, 'purchase_code', dialect);
    if ('refusal' in code) return sendRefusal(res, dialect, 400, code.refusal);

    const workspace = workspaceOfKey(data, apiKey.value);
    const purchase = data.purchases.find((candidate) =>
      isSameSecret(code.value, candidate.purchase_code),
    );
    const item = data.items.find((candidate) => candidate.id === purchase?.item_id);
    if (!workspace || !purchase || purchase.void || !item || item.workspace !== workspace.id) {
      return sendError(res, dialect, 'purchases-validation');
    }
    const resource = purchaseResource(
      purchase,
      item,
      originOf(req),
      clock.now(),
      dialect.supportedUntilPast,
    );
    const answer = driftedPurchase(resource, dialect);
    sendSuccess(
      res,
      dialect,
      dialect.validationEnvelope === 'item' ? { item: answer } : { data: { purchase: answer } },
    );
  };
}
