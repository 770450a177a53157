import { z } from 'zod';

const text = z.string();
const filled = z.string().min(1);
const price = z.number().min(0);
const instant = z.iso.datetime();
const day = z.union([z.iso.date(), z.literal('')]);

/** A URL is kept as it was written: `?auth_key=` is appended to it literally, so it must fit a header. */
export const redirectUrl = z
  .string()
  .refine((url) => URL.canParse(url) && /^[\x21-\x7e]+$/.test(url), 'expected an absolute URL');

const user = z.strictObject({
  user_id: filled,
  user_name: filled,
  user_email: filled,
  user_firstname: text.optional(),
  user_lastname: text.optional(),
  user_gender: text.optional(),
  user_birthdate: day.optional(),
  user_picture: text.optional(),
  user_cover: text.optional(),
  user_registered: day,
  user_verified: text,
  user_relationship: text.optional(),
  user_biography: text.optional(),
  user_website: text.optional(),
});

/**
 * A person who can log in with an app: the User info of the login API (spec, "User info"). What is left out
 * is sent as an empty string, because all fields are strings; pictures that are left out are drawn by the
 * sandbox. Dates are `YYYY-MM-DD`; a `user_verified` of `"1"` means verified.
 */
export type SeedUser = z.infer<typeof user>;

const workspace = z.strictObject({
  id: filled,
  api_key: filled.optional(),
  name: z.strictObject({ firstname: text, lastname: text, full_name: text }),
  username: filled,
  email: filled,
  balance: z.number(),
  currency: filled,
  profile: z.strictObject({
    heading: text,
    description: text,
    contact: z.strictObject({ email: text }),
    social_links: z.record(z.string(), text),
    media: z.strictObject({ avatar: text.optional(), cover: text.optional() }).optional(),
  }),
  registered_at: instant,
});

/**
 * A workspace with the account that owns it (spec, "Account"). Not on the wire: `id`, the sandbox's own name
 * for it, and `api_key`, the one key of the key API (64 hex characters in the default seed); without one, it
 * was revoked. `registered_at` is ISO 8601, UTC. Pictures that are left out are drawn by the sandbox.
 */
export type SeedWorkspace = z.infer<typeof workspace>;

const app = z.strictObject({
  app_id: filled,
  app_secret: filled,
  name: filled,
  redirect_url: redirectUrl.optional(),
});

/**
 * An app of the login API (spec, "App credentials"), with the name that its consent page shows. Accepted
 * logins go to `redirect_url`; without one, to `/callback` on the loopback origin that sent the browser.
 */
export type SeedApp = z.infer<typeof app>;

const mediaKind = z.enum(['image', 'video', 'audio']);

/** Which previews an item has (spec, "media fields"). */
export type MediaKind = z.infer<typeof mediaKind>;

const item = z.strictObject({
  id: z.int().positive(),
  workspace: filled,
  kind: mediaKind,
  name: filled,
  description: text,
  category: filled,
  sub_category: text,
  options: z.array(text),
  version: z.string().regex(/^\d+\.\d+\.\d+$/, 'expected three numeric parts, such as 1.0.0'),
  demo_link: text.optional(),
  tags: z.array(text),
  screenshots: z.int().min(0).max(50),
  price: z.strictObject({ regular: price, extended: price }),
  currency: filled,
  published_at: instant,
  deleted: z.boolean().optional(),
});

/**
 * An item of the catalogue (spec, "Item"). Not on the wire: `workspace`, the `id` of the workspace that sells
 * it; `kind`, which decides about the media fields, whose URLs are the sandbox's own; `deleted`, for one that
 * only purchases still show. `screenshots` is how many it has, `demo_link` by default the sandbox's own page of
 * the item, `published_at` ISO 8601, UTC.
 */
export type SeedItem = z.infer<typeof item>;

/** Also checks what tests add while the sandbox runs. */
export const purchase = z.strictObject({
  purchase_code: filled,
  kind: filled,
  item_id: z.int().positive(),
  license_type: text,
  price,
  currency: filled,
  supported_until: instant.optional(),
  downloaded: z.boolean(),
  date: instant,
  void: z.enum(['refunded', 'cancelled']).optional(),
});

/**
 * A purchase of an item (spec, "Purchase"). It belongs to the workspace that sells the item. Not on the wire:
 * `kind`, a label for tests and for the list of codes to try, such as `supported`; `void`, with which validation
 * answers "Invalid purchase code". Dates are ISO 8601, UTC; without `supported_until`, it is not supported.
 */
export type SeedPurchase = z.infer<typeof purchase>;

const seed = z.strictObject({
  users: z.array(user),
  workspaces: z.array(workspace).min(1),
  apps: z.array(app).min(1),
  items: z.array(item),
  purchases: z.array(purchase),
});

/**
 * Everything that a sandbox starts with: who can log in, the accounts with their keys, the apps, the
 * catalogues of all workspaces, and purchases, also refunded ones. `listen` gives the credentials of the
 * first workspace and of the first app.
 */
export type SandboxSeed = z.infer<typeof seed>;

/** The parts of a seed that a caller can give, each complete in itself. */
export const seedParts = seed.partial();

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
