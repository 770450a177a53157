import type { z } from 'zod';
import { defaultSeed } from './default-seed.js';
import { seedParts } from './schema.js';
import type { SandboxSeed } from './types.js';

/** `['items', 0, 'price']` as `.items[0].price`. */
const pathOf = (path: readonly PropertyKey[]): string =>
  path.map((part) => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`)).join('');

/** Parses `value`, or throws a TypeError that names the field under `name`. Values are never quoted. */
export function parsed<T>(schema: z.ZodType<T>, value: unknown, name: string): T {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const issue = result.error.issues[0];
  const extra = issue?.code === 'unrecognized_keys' ? issue.keys.slice(0, 1) : [];
  const field = `${name}${pathOf([...(issue?.path ?? []), ...extra])}`;
  throw new TypeError(`${field}: ${extra.length ? 'there is no such field' : issue?.message}`);
}

function refuseRepeats(values: readonly unknown[], field: (index: number) => string): void {
  const seen = new Set<unknown>();
  values.forEach((value, index) => {
    if (value !== undefined && seen.has(value)) {
      throw new TypeError(`${field(index)}: given twice`);
    }
    seen.add(value);
  });
}

/**
 * Puts a caller's parts in place of the default ones. A default item or purchase that would point at
 * something replaced is left out; a caller's own that points nowhere throws a TypeError that names it.
 *
 * @param given - The `seed` option.
 * @param now - The time the default support dates are counted from, in epoch milliseconds.
 */
export function buildSeed(given: unknown, now: number): SandboxSeed {
  const parts = structuredClone(parsed(seedParts, given ?? {}, 'seed'));
  const defaults = defaultSeed(now);
  const users = parts.users ?? defaults.users;
  const workspaces = parts.workspaces ?? defaults.workspaces;
  const apps = parts.apps ?? defaults.apps;
  const hasWorkspace = (id: string) => workspaces.some((workspace) => workspace.id === id);
  const items = parts.items ?? defaults.items.filter((item) => hasWorkspace(item.workspace));
  const hasItem = (id: number) => items.some((item) => item.id === id);
  const purchases =
    parts.purchases ?? defaults.purchases.filter((purchase) => hasItem(purchase.item_id));

  items.forEach((item, index) => {
    if (!hasWorkspace(item.workspace)) {
      throw new TypeError(`seed.items[${index}].workspace: there is no such workspace`);
    }
  });
  purchases.forEach((purchase, index) => {
    if (!hasItem(purchase.item_id)) {
      throw new TypeError(`seed.purchases[${index}].item_id: there is no such item`);
    }
  });
  const unique = (part: string, key: string, values: readonly unknown[]) =>
    refuseRepeats(values, (index) => `seed.${part}[${index}].${key}`);
  unique(
    'users',
    'user_id',
    users.map((user) => user.user_id),
  );
  unique(
    'workspaces',
    'id',
    workspaces.map((workspace) => workspace.id),
  );
  unique(
    'workspaces',
    'api_key',
    workspaces.map((workspace) => workspace.api_key),
  );
  unique(
    'apps',
    'app_id',
    apps.map((app) => app.app_id),
  );
  unique(
    'items',
    'id',
    items.map((item) => item.id),
  );
  unique(
    'purchases',
    'purchase_code',
    purchases.map((purchase) => purchase.purchase_code),
  );
  return { users, workspaces, apps, items, purchases };
}
