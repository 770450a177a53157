import type { SandboxData } from './sandbox-data.js';
import type { SeedPurchase } from './schema.js';

/** One purchase code to try, with what to expect of it. */
export interface SandboxCode {
  /** The purchase code. */
  code: string;
  /** A label, such as `supported` or `refunded`. */
  kind: string;
  /** The item it is for. */
  item_id: number;
  /** That item's name. */
  item_name: string;
  /** As validation shows it. */
  license_type: string;
  /** One sentence: what the service answers for this code. */
  description: string;
}

function describe(purchase: Readonly<SeedPurchase>, now: number): string {
  const { kind, void: reason, supported_until: until } = purchase;
  if (kind === 'other-workspace') {
    return 'Belongs to the second workspace: invalid under the first one’s key.';
  }
  if (kind === 'deleted-item') return 'Valid, though its item has left the catalogue.';
  if (reason) return `Was ${reason}: the service calls it invalid.`;
  if (until === undefined) return 'Valid, without support.';
  const day = until.slice(0, 10);
  return Date.parse(until) <= now
    ? `Valid; support ended on ${day}.`
    : `Valid, with support until ${day}.`;
}

/** Lists all purchase codes for printing. */
export const listCodes = (data: SandboxData, now: number): SandboxCode[] =>
  data.purchases.map((purchase) => ({
    code: purchase.purchase_code,
    kind: purchase.kind,
    item_id: purchase.item_id,
    item_name: data.items.find((item) => item.id === purchase.item_id)?.name ?? '',
    license_type: purchase.license_type,
    description: describe(purchase, now),
  }));
