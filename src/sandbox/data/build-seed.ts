import { defaultSeed } from './default-seed.js';
import { parsed, type SandboxSeed, seedParts } from './schema.js';

/** Throws a TypeError that names the first record whose `key` another record of `part` has already. */
function refuseRepeats<P extends keyof SandboxSeed>(
  seed: SandboxSeed,
  part: P,
  key: keyof SandboxSeed[P][number],
): void {
  const seen = new Set<unknown>();
  seed[part].forEach((record: SandboxSeed[P][number], index) => {
    const value = record[key];
    if (value !== undefined && seen.has(value)) {
      throw new TypeError(`seed.${part}[${index}].${String(key)}: given twice`);
    }
    seen.add(value);
  });
}

/**
 * Puts a caller's parts in place of the default ones. A default item or purchase that would point at
 * something replaced is left out; a caller's own that points nowhere throws a TypeError that names it.
 *
 * @param option - The `seed` option.
 * @param now - The time from which default support dates are counted, in epoch milliseconds.
 */
export function buildSeed(option: unknown, now: number): SandboxSeed {
  const parts = structuredClone(parsed(seedParts, option ?? {}, 'seed'));
  const given = Object.entries(parts).filter(([, part]) => part !== undefined);
  const seed: SandboxSeed = { ...defaultSeed(now), ...Object.fromEntries(given) };
  const workspaces = new Set(seed.workspaces.map(({ id }) => id));
  if (!parts.items) seed.items = seed.items.filter((item) => workspaces.has(item.workspace));
  const items = new Set(seed.items.map(({ id }) => id));
  if (!parts.purchases) seed.purchases = seed.purchases.filter(({ item_id }) => items.has(item_id));

  seed.items.forEach((item, index) => {
    if (!workspaces.has(item.workspace)) {
      throw new TypeError(`seed.items[${index}].workspace: there is no such workspace`);
    }
  });
  seed.purchases.forEach((purchase, index) => {
    if (!items.has(purchase.item_id)) {
      throw new TypeError(`seed.purchases[${index}].item_id: there is no such item`);
    }
  });
  refuseRepeats(seed, 'users', 'user_id');
  refuseRepeats(seed, 'workspaces', 'id');
  refuseRepeats(seed, 'workspaces', 'api_key');
  refuseRepeats(seed, 'apps', 'app_id');
  refuseRepeats(seed, 'items', 'id');
  refuseRepeats(seed, 'purchases', 'purchase_code');
  return seed;
}
