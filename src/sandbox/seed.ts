import * as z from 'zod/mini';
import { DAY, timestamp } from './clock.js';
import { findOrThrow, newPurchase } from './data.js';
import { textFile } from './files.js';
import {
  parseOrThrow,
  refuseRepeats,
  type SandboxSeed,
  type SeedPurchase,
  seedSchema,
} from './schema.js';

type Sold = Pick<SeedPurchase, 'purchase_code' | 'item_id'> & {
  readonly sold: number;
  readonly support?: number;
};

/**
 * Two workspaces, to show that each key reads its own account only, and two apps, to try an auth_key of one with the other;
 * people to log in as (complete, unicode, unverified, and one who has given little but dates and addresses); items of
 * every kind, with everything that an item can have and lack; a purchase of every kind, under codes that never change.
 * `sold` and `support` of a purchase are days from the start.
 */
const DEFAULT: Omit<SandboxSeed, 'purchases'> & { readonly purchases: readonly Sold[] } =
  JSON.parse(textFile('default-seed.json'));

/**
 * What a sandbox starts with by default.
 *
 * @param now - The time from which the dates of purchases are counted, in epoch milliseconds: support that
 * is still ahead today is still ahead next year.
 */
function defaultSeed(now: number): SandboxSeed {
  const purchases = DEFAULT.purchases.map(({ sold, support, ...fields }) =>
    newPurchase(findOrThrow(DEFAULT.items, 'id', fields.item_id), now + sold * DAY, {
      ...fields,
      ...(support !== undefined && { supported_until: timestamp(now + support * DAY) }),
    }),
  );
  return structuredClone({ ...DEFAULT, purchases });
}

/**
 * Puts a caller's parts in place of the default ones. A default item or purchase that would point at
 * something replaced is left out; a caller's own that points nowhere throws a TypeError that names it.
 *
 * @param now - The time from which default support dates are counted, in epoch milliseconds.
 */
export function buildSeed(option: unknown, now: number): SandboxSeed {
  const parts = structuredClone(parseOrThrow(z.partial(seedSchema), option ?? {}, 'seed'));
  const present = Object.entries(parts).filter(([, part]) => part !== undefined);
  const seed: SandboxSeed = { ...defaultSeed(now), ...Object.fromEntries(present) };
  const workspaces = new Set(seed.workspaces.map(({ id }) => id));
  if (!parts.items) seed.items = seed.items.filter((item) => workspaces.has(item.workspace));
  const items = new Set(seed.items.map(({ id }) => id));
  if (!parts.purchases) seed.purchases = seed.purchases.filter(({ item_id }) => items.has(item_id));

  const lost = seed.items.findIndex(({ workspace }) => !workspaces.has(workspace));
  if (lost >= 0) throw new TypeError(`seed.items[${lost}].workspace: there is no such workspace`);
  const orphan = seed.purchases.findIndex(({ item_id }) => !items.has(item_id));
  if (orphan >= 0) throw new TypeError(`seed.purchases[${orphan}].item_id: there is no such item`);
  for (const part of Object.keys(seed) as (keyof SandboxSeed)[]) {
    refuseRepeats(part, seed[part], `seed.${part}`);
  }
  return seed;
}
