import type { SandboxData } from './sandbox-data.js';
import type { SeedItem, SeedPurchase } from './schema.js';

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

/** What the service answers under the first workspace's key, as the records are now. */
function describe(purchase: SeedPurchase, item: SeedItem | undefined, first: string, now: number) {
  const { void: reason, supported_until: until } = purchase;
  if (reason) return `Was ${reason}: the service calls it invalid.`;
  if (item?.workspace !== first) return 'Of another workspace: invalid under the first one’s key.';
  const end = item.deleted ? '; its item has left the catalogue.' : '.';
  if (until === undefined) return `Valid, without support${end}`;
  const isOver = Date.parse(until) <= now;
  return `Valid${isOver ? '; support ended on' : ', with support until'} ${until.slice(0, 10)}${end}`;
}

/** Lists all purchase codes for printing. */
export const listCodes = (data: SandboxData, now: number): SandboxCode[] =>
  data.purchases.map((purchase) => {
    const item = data.items.find(({ id }) => id === purchase.item_id);
    return {
      code: purchase.purchase_code,
      kind: purchase.kind,
      item_id: purchase.item_id,
      item_name: item?.name ?? '',
      license_type: purchase.license_type,
      description: describe(purchase, item, data.workspaces[0]?.id ?? '', now),
    };
  });
