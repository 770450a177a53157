import type { SeedPurchase } from '../seed/types.js';
import type { SandboxData } from './sandbox-data.js';

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
  /** One sentence: what the service makes of this code. */
  description: string;
}

const day = (iso: string): string => iso.slice(0, 10);

function describe(purchase: Readonly<SeedPurchase>, now: number): string {
  if (purchase.void) return `Was ${purchase.void}: the service calls it invalid.`;
  const until = purchase.supported_until;
  if (until === undefined) return 'Valid, without support.';
  if (Date.parse(until) <= now) return `Valid; support ended on ${day(until)}.`;
  return `Valid, with support until ${day(until)}.`;
}

const OWN_WORDS: Readonly<Record<string, string>> = {
  'other-workspace': 'Belongs to the second workspace: invalid under the first one’s key.',
  'deleted-item': 'Valid, though its item has left the catalogue.',
};

/** Lists all purchase codes for printing. */
export function listCodes(data: SandboxData, now: number): SandboxCode[] {
  return data.purchases.map((purchase) => ({
    code: purchase.purchase_code,
    kind: purchase.kind,
    item_id: purchase.item_id,
    item_name: data.items.find((item) => item.id === purchase.item_id)?.name ?? '',
    license_type: purchase.license_type,
    description: OWN_WORDS[purchase.kind] ?? describe(purchase, now),
  }));
}
