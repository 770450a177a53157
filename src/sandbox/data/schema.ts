import { z } from 'zod';

/**
 * A person who can log in with an app: the User info of the login API (spec, "User info"). What is left
 * out is sent as an empty string, because all fields are strings.
 */
export interface SeedUser {
  /** A number in the default seed, as text. */
  user_id: string;
  /** The name to log in with. */
  user_name: string;
  /** An address; not verified. */
  user_email: string;
  /** First name. */
  user_firstname?: string;
  /** Last name. */
  user_lastname?: string;
  /** Any word. */
  user_gender?: string;
  /** `YYYY-MM-DD`. */
  user_birthdate?: string;
  /** URL; by default a picture that the sandbox draws. */
  user_picture?: string;
  /** URL; by default a picture that the sandbox draws. */
  user_cover?: string;
  /** `YYYY-MM-DD`. */
  user_registered: string;
  /** `"1"` means verified. */
  user_verified: string;
  /** Any word. */
  user_relationship?: string;
  /** Any text. */
  user_biography?: string;
  /** URL. */
  user_website?: string;
}

/** A workspace with its API key and the account that owns it (spec, "Account"). */
export interface SeedWorkspace {
  /** The sandbox's own name for it; items point here. Not on the wire. */
  id: string;
  /** The one key of the key API, 64 hex characters in the default seed. Absent: it was revoked. */
  api_key?: string;
  /** Who owns the account. */
  name: {
    /** First name. */
    firstname: string;
    /** Last name. */
    lastname: string;
    /** Both, as shown. */
    full_name: string;
  };
  /** The name on the marketplace. */
  username: string;
  /** Where the marketplace writes to. */
  email: string;
  /** In units of `currency`. */
  balance: number;
  /** A currency code, as in "USD". */
  currency: string;
  /** What the account shows of itself. */
  profile: {
    /** One line above the profile. */
    heading: string;
    /** Text of the profile. */
    description: string;
    /** How to write to the author. */
    contact: {
      /** An address. */
      email: string;
    };
    /** From the name of a network to a link. */
    social_links: Record<string, string>;
    /** URLs; by default pictures that the sandbox draws. */
    media?: {
      /** A small square picture. */
      avatar?: string;
      /** A wide picture. */
      cover?: string;
    };
  };
  /** ISO 8601, UTC. */
  registered_at: string;
}

/** An app of the login API (spec, "App credentials"). */
export interface SeedApp {
  /** What the app calls itself, in public. */
  app_id: string;
  /** What the app proves itself by. */
  app_secret: string;
  /** Shown on the consent page. */
  name: string;
  /** Where accepted logins go. Absent: `/callback` on the loopback origin that sent the browser. */
  redirect_url?: string;
}

/** Which previews an item has (spec, "media fields"). */
export type MediaKind = 'image' | 'video' | 'audio';

/** An item of the catalogue (spec, "Item"). Its media URLs are the sandbox's own. */
export interface SeedItem {
  /** A positive integer. */
  id: number;
  /** The `id` of the workspace that sells it. Not on the wire. */
  workspace: string;
  /** Decides which of the media fields exist. Not on the wire. */
  kind: MediaKind;
  /** What it is sold as. */
  name: string;
  /** What it is. */
  description: string;
  /** Name of its category. */
  category: string;
  /** Name of the category below that. */
  sub_category: string;
  /** What comes with it. */
  options: string[];
  /** Three numeric parts. */
  version: string;
  /** By default the sandbox's own page of the item. */
  demo_link?: string;
  /** Words to find it by. */
  tags: string[];
  /** How many screenshots it has; 0 leaves the field out. */
  screenshots: number;
  /** In units of `currency`. */
  price: {
    /** With the regular licence. */
    regular: number;
    /** With the extended licence. */
    extended: number;
  };
  /** A currency code, as in "USD". */
  currency: string;
  /** ISO 8601, UTC. */
  published_at: string;
  /** Removed from the catalogue: only purchases still show it. Not on the wire. */
  deleted?: boolean;
}

/** A purchase of an item (spec, "Purchase"). It belongs to the workspace that sells the item. */
export interface SeedPurchase {
  /** A UUID in the default seed. */
  purchase_code: string;
  /** A label for tests and for the list of codes to try, such as `supported`. Not on the wire. */
  kind: string;
  /** The item it is for. */
  item_id: number;
  /** A label for the kind of licence, as in "Regular". */
  license_type: string;
  /** What was paid, in units of `currency`. */
  price: number;
  /** A currency code, as in "USD". */
  currency: string;
  /** ISO 8601, UTC. Absent: support is disabled or the purchase is not supported. */
  supported_until?: string;
  /** Whether it was downloaded from the marketplace. */
  downloaded: boolean;
  /** ISO 8601, UTC. */
  date: string;
  /** Validation then answers "Invalid purchase code". Not on the wire. */
  void?: 'refunded' | 'cancelled';
}

/** Everything that a sandbox starts with. */
export interface SandboxSeed {
  /** Who can log in. */
  users: SeedUser[];
  /** Accounts with their keys; the first one's is the `apiKey` that `listen` gives. */
  workspaces: SeedWorkspace[];
  /** Apps that users can log in with; `listen` gives the credentials of the first. */
  apps: SeedApp[];
  /** The catalogues of all workspaces. */
  items: SeedItem[];
  /** Codes, also refunded ones. */
  purchases: SeedPurchase[];
}

const text = z.string();
const filled = z.string().min(1);
const price = z.number().min(0);
const instant = z.iso.datetime();
const day = z.union([z.iso.date(), z.literal('')]);

/** A URL is kept as it was written: `?auth_key=` is appended to it literally, so it must fit a header. */
export const redirectUrl = z
  .string()
  .refine((url) => URL.canParse(url) && /^[\x21-\x7e]+$/.test(url), 'expected an absolute URL');

const user: z.ZodType<SeedUser> = z.strictObject({
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

const workspace: z.ZodType<SeedWorkspace> = z.strictObject({
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

const app: z.ZodType<SeedApp> = z.strictObject({
  app_id: filled,
  app_secret: filled,
  name: filled,
  redirect_url: redirectUrl.optional(),
});

const item: z.ZodType<SeedItem> = z.strictObject({
  id: z.int().positive(),
  workspace: filled,
  kind: z.enum(['image', 'video', 'audio']),
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

/** Also checks what tests add while the sandbox runs. */
export const purchase: z.ZodType<SeedPurchase> = z.strictObject({
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

/** The parts of a seed that a caller can give, each complete in itself. */
export const seedParts: z.ZodType<Partial<SandboxSeed>> = z.strictObject({
  users: z.array(user).optional(),
  workspaces: z.array(workspace).min(1).optional(),
  apps: z.array(app).min(1).optional(),
  items: z.array(item).optional(),
  purchases: z.array(purchase).optional(),
});

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
