import type { RequestHandler } from 'express';
import type { SandboxContext } from '../context.js';
import type { SeedItem, SeedPurchase } from '../data/schema.js';
import { bodyParameters, isSameSecret, originOf, queryParameters } from '../request.js';
import { amountOf, localised, sendError, sendSuccess, timeOf } from './answers.js';
import { itemOf } from './items.js';
import { requiredString, workspaceOfKey } from './parameters.js';

/**
 * POST /api/purchases/validation → `{status, data: {purchase: Purchase}}` (spec, "Endpoints"). The
 * encoding is "not shown": parameters are read from a form, a JSON object or the query (field notes).
 * "Invalid purchase code" is also the answer to a wrong api_key, another author's code, and a refunded
 * or cancelled purchase.
 */
export const purchasesValidation =
  (context: SandboxContext): RequestHandler =>
  (req, res) => {
    const { data, dialect } = context;
    const parameters = new Map([...queryParameters(req), ...bodyParameters(req)]);
    const apiKey = requiredString(parameters, 'api_key', dialect);
    const code = requiredString(parameters, 'purchase_code', dialect);

    const workspace = workspaceOfKey(data, apiKey);
    const purchase = data.purchases.find((each) => isSameSecret(code, each.purchase_code));
    const item = data.items.find(({ id }) => id === purchase?.item_id);
    if (!workspace || !purchase || purchase.void || !item || item.workspace !== workspace.id) {
      return sendError(res, dialect, 'purchases-validation');
    }
    const answer = purchaseOf(purchase, item, originOf(req), context);
    const isInItem = dialect.validationEnvelope === 'item';
    sendSuccess(res, dialect, isInItem ? { item: answer } : { data: { purchase: answer } });
  };

/**
 * Purchase, with its full item record (spec, "Purchase"). `supported_until` is absent when support has
 * ended; only the `supportedUntilPast` dialect still shows it.
 */
function purchaseOf(
  seed: Readonly<SeedPurchase>,
  item: Readonly<SeedItem>,
  origin: string,
  { dialect, clock }: SandboxContext,
): object {
  const { kind, item_id, void: reason, supported_until: until, ...purchase } = seed;
  const isShown =
    until !== undefined && (dialect.supportedUntilPast || Date.parse(until) > clock.now());
  return {
    ...purchase,
    license_type: localised(purchase.license_type, dialect),
    price: amountOf(purchase.price, dialect),
    item: itemOf(item, origin, dialect),
    ...(isShown && { supported_until: timeOf(until, dialect) }),
    date: timeOf(purchase.date, dialect),
  };
}
