import { readFileSync } from 'node:fs';
import * as z from 'zod/mini';
import { DAY, timestamp } from '../clock.js';
import { findOrThrow, newPurchase } from './sandbox-data.js';
import {
  parseOrThrow,
  refuseRepeats,
  type SandboxSeed,
  type SeedItem,
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
  JSON.parse(readFileSync(new URL('./default-seed.json', import.meta.url), 'utf8'));

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
  // Parsed, which copies it too.
  return parseOrThrow(seedSchema, { ...DEFAULT, purchases }, 'default seed');
}

/** The text of a field, unless the deployment sends null or nothing. */
const textOf = (value: unknown, otherwise = ''): string =>
  typeof value === 'string' || typeof value === 'number' ? String(value) : otherwise;

/** A list that some deployments send as an object (`{"0": …}`), as text with commas or as JSON text. */
function listOf(value: unknown): string[] {
  const entries = typeof value === 'string' ? entriesOf(value) : Object.values(Object(value));
  return entries.map((each) => textOf(each).trim()).filter(Boolean);
}

function entriesOf(text: string): unknown[] {
  try {
    if (/^\s*[[{]/.test(text)) return Object.values(JSON.parse(text));
  } catch {
    // It only begins like JSON.
  }
  return text.split(',');
}

/** The time of a text, which without a zone is UTC, whatever the zone of this machine. */
function timeOf(text: string): number {
  const time = Date.parse(`${text}Z`);
  return Number.isNaN(time) ? Date.parse(text) : time;
}

/** An item as items/all of the service sends it, also in the dialects that the field notes list. */
function itemOfAnswer(answered: unknown, workspace: string, now: number): SeedItem {
  const item: Record<string, unknown> = Object(answered);
  const { regular, extended }: Record<string, unknown> = Object(item.price);
  const { thumbnail, screenshots, ...others }: Record<string, unknown> = Object(item.media);
  const previews = Object.entries(others).filter(([, url]) => typeof url === 'string');
  const has = (name: string) => previews.some(([each]) => each === name);
  const shown = listOf(screenshots);
  const version = textOf(item.version);
  const published = timeOf(textOf(item.published_at));
  return {
    ...{ id: Number(item.id), workspace, name: textOf(item.name) },
    kind: has('preview_audio') ? 'audio' : has('preview_video') ? 'video' : 'image',
    ...{ description: textOf(item.description), category: textOf(item.category, 'Other') },
    ...{ sub_category: textOf(item.sub_category), options: listOf(item.options) },
    version: /^\d+\.\d+\.\d+$/.test(version) ? version : '1.0.0',
    demo_link: textOf(item.demo_link) || undefined,
    ...{ tags: listOf(item.tags), screenshots: 0 },
    media: thumbnail
      ? {
          thumbnail: textOf(thumbnail),
          ...Object.fromEntries(previews),
          ...(shown.length > 0 && { screenshots: shown }),
        }
      : undefined,
    price: { regular: Number(regular), extended: Number(extended) },
    currency: textOf(item.currency, 'USD'),
    published_at: timestamp(Number.isNaN(published) ? now : published),
  };
}

/**
 * A seed of an answer of items/all: the items belong to the first workspace, and purchases of every state are made
 * for them. `undefined` for what is no such answer.
 */
function seedOfAnswer(option: unknown, now: number): Partial<SandboxSeed> | undefined {
  const { status, items: answered }: Record<string, unknown> = Object(option);
  if (status === undefined || !Array.isArray(answered)) return undefined;
  const { workspaces, purchases } = defaultSeed(now);
  const parsed = answered.map((each) => itemOfAnswer(each, workspaces[0]?.id ?? '', now));
  const byId = new Map<number, SeedItem>();
  // Some deployments list an item twice, the newest first.
  for (const item of parseOrThrow(seedSchema.shape.items, parsed, 'seed.items')) {
    if (!byId.has(item.id)) byId.set(item.id, item);
  }
  const items = [...byId.values()];
  // Some kinds say which item they are of.
  const sold = purchases.filter(({ kind }) => !/-(item|workspace)$/.test(kind));
  return {
    items,
    purchases: sold.flatMap(({ item_id: _, price: __, currency: ___, ...fields }, index) => {
      const item = items[index % items.length];
      return item ? [newPurchase(item, now, fields)] : [];
    }),
  };
}

/**
 * Puts a caller's parts in place of the default ones. A default item or purchase that would point at
 * something replaced is left out; a caller's own that points nowhere throws a TypeError that names it.
 *
 * @param option - The `seed` option, or an answer of items/all.
 * @param now - The time from which default support dates are counted, in epoch milliseconds.
 */
export function buildSeed(option: unknown, now: number): SandboxSeed {
  const given = seedOfAnswer(option, now) ?? option ?? {};
  const parts = structuredClone(parseOrThrow(z.partial(seedSchema), given, 'seed'));
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
