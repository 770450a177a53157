import { amountOf, localised, timeOf } from './answers.js';
import type { Endpoint } from './call.js';
import { itemOf } from './items.js';

/**
 * POST /api/purchases/validation → `{status, data: {purchase: Purchase}}` (spec, "Endpoints", "Purchase").
 * "Invalid purchase code" is also the answer to a wrong api_key, another author's code, and a refunded or
 * cancelled purchase. `supported_until` is absent when support has ended; only the `supportedUntilPast`
 * dialect still shows it.
 */
export const purchasesValidation: Endpoint = (call) => {
  const { data, dialect, clock, workspace, origin } = call;
  const code = call.required('purchase_code');
  const found = data.purchases.find(({ purchase_code }) => purchase_code === code);
  const item = data.items.find(({ id }) => id === found?.item_id);
  if (!found || found.void || !item || item.workspace !== workspace?.id) return undefined;
  const { kind, item_id, void: reason, supported_until: until, ...fields } = found;
  const isShown = until && (dialect.supportedUntilPast || Date.parse(until) > clock.now());
  const purchase = {
    ...fields,
    license_type: localised(fields.license_type, dialect),
    price: amountOf(fields.price, dialect),
    item: itemOf(item, origin, dialect),
    ...(isShown && { supported_until: timeOf(until, dialect) }),
    date: timeOf(fields.date, dialect),
  };
  return dialect.validationEnvelope === 'item' ? { item: purchase } : { data: { purchase } };
};
