import { defaultSeed } from './default-seed.js';
import { parsed, type SandboxSeed, seedParts } from './schema.js';

/** The fields that no two records of a part share. */
const UNIQUE = [
  ['users', 'user_id'],
  ['workspaces', 'id'],
  ['workspaces', 'api_key'],
  ['apps', 'app_id'],
  ['items', 'id'],
  ['purchases', 'purchase_code'],
] as const;

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

  const refuse = (index: number, part: string, field: string, problem: string): void => {
    if (index >= 0) throw new TypeError(`seed.${part}[${index}].${field}: ${problem}`);
  };
  const homeless = seed.items.findIndex(({ workspace }) => !workspaces.has(workspace));
  refuse(homeless, 'items', 'workspace', 'there is no such workspace');
  const empty = seed.purchases.findIndex(({ item_id }) => !items.has(item_id));
  refuse(empty, 'purchases', 'item_id', 'there is no such item');
  for (const [part, field] of UNIQUE) {
    const values = seed[part].map((record): unknown => Reflect.get(record, field));
    const isRepeat = (value: unknown, at: number) => value && values.indexOf(value) < at;
    refuse(values.findIndex(isRepeat), part, field, 'given twice');
  }
  return seed;
}
