import * as z from 'zod';

// Data of a file is printed, and written to `.env` and headers: names and keys have no control characters.
const text = z.string().regex(/^\P{Cc}*$/u, 'expected text without control characters');
const nonEmpty = text.min(1, 'expected some text');
/** Text of several lines. */
const prose = z.string().regex(/^[\P{Cc}\t\n\r]*$/u, 'expected text without control characters');
const amount = z.number().min(0);
const instant = z.iso.datetime();
const dayOrEmpty = z.union([z.iso.date(), z.literal('')]);

/** A URL is kept as it was written: `?auth_key=` is appended to it literally, so it must fit a header. */
export const redirectUrl = z
  .string()
  .refine(
    (url) => URL.canParse(url) && /^https?:\/\/[^/][\x21-\x7e]*$/i.test(url),
    'expected an absolute http or https URL',
  );

type RecordOf<Fields extends z.ZodRawShape> = z.infer<z.ZodObject<Fields>>;

const user = {
  /** A number in the default seed, as text. */ user_id: nonEmpty,
  /** The name to log in with. */ user_name: nonEmpty,
  /** An address; not verified. */ user_email: nonEmpty,
  /** First name. */ user_firstname: text.optional(),
  /** Last name. */ user_lastname: text.optional(),
  /** Any word. */ user_gender: text.optional(),
  /** `YYYY-MM-DD`. */ user_birthdate: dayOrEmpty.optional(),
  /** URL; by default a picture that the sandbox draws. */ user_picture: text.optional(),
  /** URL; by default a picture that the sandbox draws. */ user_cover: text.optional(),
  /** `YYYY-MM-DD`. */ user_registered: dayOrEmpty,
  /** `"1"` means verified. */ user_verified: text,
  /** Any word. */ user_relationship: text.optional(),
  /** Any text. */ user_biography: prose.optional(),
  /** URL. */ user_website: text.optional(),
};

/**
 * A person who can log in with an app (spec, "User info"). What is left out is sent as an empty string,
 * because all fields are strings.
 */
export interface SeedUser extends RecordOf<typeof user> {}

/** The fields of User info, in the order of the specification. */
export const USER_FIELDS = Object.keys(user) as (keyof SeedUser)[];

const workspace = {
  /** The sandbox's own name for it; items point here. Not on the wire. */ id: nonEmpty,
  /** The one key of the key API, 64 hex characters in the default seed. Absent: it was revoked. */
  api_key: nonEmpty.optional(),
  /** Who owns the account. */
  name: z.strictObject({
    /** First name. */ firstname: text,
    /** Last name. */ lastname: text,
    /** Both, as shown. */ full_name: text,
  }),
  /** The name on the marketplace. */ username: nonEmpty,
  /** Where the marketplace writes to. */ email: nonEmpty,
  /** In units of `currency`. */ balance: z.number(),
  /** A currency code, as in "USD". */ currency: nonEmpty,
  /** What the account shows of itself. */
  profile: z.strictObject({
    /** One line above the profile. */ heading: text,
    /** Text of the profile. */ description: prose,
    /** Where customers write to. */
    contact: z.strictObject({
      /** An address. */ email: text,
    }),
    /** From the name of a network to a link. */ social_links: z.record(text, text),
    /** URLs, `avatar` and `cover`; by default pictures that the sandbox draws. */
    media: z.partialRecord(z.enum(['avatar', 'cover']), text).optional(),
  }),
  /** ISO 8601, UTC. */ registered_at: instant,
};

/** A workspace with its API key and the account that owns it (spec, "Account"). */
export interface SeedWorkspace extends RecordOf<typeof workspace> {}

const app = {
  /** What the app calls itself, in public. */ app_id: nonEmpty,
  /** What the app proves itself by. */ app_secret: nonEmpty,
  /** Shown on the consent page. */ name: nonEmpty,
  /** Where accepted logins go. Absent: a page asks for it. */ redirect_url: redirectUrl.optional(),
};

/** An app of the login API (spec, "App credentials"). */
export interface SeedApp extends RecordOf<typeof app> {}

const item = {
  /** A positive integer. */ id: z.int().positive(),
  /** The `id` of the workspace that sells it. Not on the wire. */ workspace: nonEmpty,
  /** Decides which of the media fields exist (spec, "media fields"). Not on the wire. */
  kind: z.enum(['image', 'video', 'audio']),
  /** What it is sold as. */ name: nonEmpty,
  /** What it is. */ description: prose,
  /** Name of its category. */ category: nonEmpty,
  /** Name of the category below that. */ sub_category: text,
  /** What comes with it. */ options: z.array(text),
  /** Three numeric parts. */
  version: z.string().regex(/^\d+\.\d+\.\d+$/, 'expected three numeric parts, such as 1.0.0'),
  /** By default the sandbox's own page of the item. */ demo_link: text.optional(),
  /** Words to find it by. */ tags: z.array(text),
  /** How many screenshots the sandbox draws; 0 leaves the field out. */ screenshots: z
    .int()
    .min(0)
    .max(50),
  /** URLs in place of what the sandbox draws, as the service sends them. */
  media: z
    .strictObject({
      /** Of the thumbnail. */ thumbnail: text,
      /** Of a large picture. */ preview_image: text.optional(),
      /** Of a clip. */ preview_video: text.optional(),
      /** Of a sound. */ preview_audio: text.optional(),
      /** Of pictures. */ screenshots: z.array(text).optional(),
    })
    .optional(),
  /** In units of `currency`. */
  price: z.strictObject({
    /** Of a Regular licence. */ regular: amount,
    /** Of an Extended licence. */ extended: amount,
  }),
  /** A currency code, as in "USD". */ currency: nonEmpty,
  /** ISO 8601, UTC. */ published_at: instant,
  /** Removed from the catalogue: only purchases still show it. Not on the wire. */
  deleted: z.boolean().optional(),
};

/** An item of the catalogue (spec, "Item"). */
export interface SeedItem extends RecordOf<typeof item> {}

const purchase = {
  /** A UUID in the default seed. */ purchase_code: nonEmpty,
  /** A label for tests and for the list of codes to try, such as `supported`. Not on the wire. */
  kind: nonEmpty,
  /** The item it is for. */ item_id: z.int().positive(),
  /** A label for the kind of licence, as in "Regular". */ license_type: text,
  /** What was paid, in units of `currency`. */ price: amount,
  /** A currency code, as in "USD". */ currency: nonEmpty,
  /** ISO 8601, UTC. Absent: support is disabled or the purchase is not supported. */
  supported_until: instant.optional(),
  /** Whether it was downloaded from the marketplace. */ downloaded: z.boolean(),
  /** ISO 8601, UTC. */ date: instant,
  /** Validation then answers "Invalid purchase code". Not on the wire. */
  void: z.enum(['refunded', 'cancelled']).optional(),
};

/** A purchase of an item (spec, "Purchase"). It belongs to the workspace that sells the item. */
export interface SeedPurchase extends RecordOf<typeof purchase> {}

const seed = {
  /** Who can log in. */ users: z.array<z.ZodType<SeedUser>>(z.strictObject(user)),
  /** Accounts with their keys; the first one's is the `apiKey` that `listen` gives. */
  workspaces: z.array<z.ZodType<SeedWorkspace>>(z.strictObject(workspace)).min(1),
  /** Apps that users can log in with; `listen` gives the credentials of the first. */
  apps: z.array<z.ZodType<SeedApp>>(z.strictObject(app)).min(1),
  /** The catalogues of all workspaces. */
  items: z.array<z.ZodType<SeedItem>>(z.strictObject(item)),
  /** Codes, also refunded ones. */ purchases: z.array<z.ZodType<SeedPurchase>>(
    z.strictObject(purchase),
  ),
};

/** Everything that a sandbox starts with. */
export interface SandboxSeed extends RecordOf<typeof seed> {}

/** A seed. A caller can give some parts of one, each complete in itself. */
export const seedSchema = z.strictObject(seed);

/** The fields of the records of each part. */
export const RECORDS = {
  users: user,
  workspaces: workspace,
  apps: app,
  items: item,
  purchases: purchase,
};

/** The fields that no two records of a part share. */
export const UNIQUE = [
  ['users', 'user_id'],
  ['workspaces', 'id'],
  ['workspaces', 'api_key'],
  ['apps', 'app_id'],
  ['items', 'id'],
  ['purchases', 'purchase_code'],
] as const;

/** `['items', 0, 'price']` as `.items[0].price`. */
const pathOf = (path: readonly PropertyKey[]): string =>
  path.map((part) => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`)).join('');

/** Parses `value`, or throws a TypeError that names the field under `name`. Values are never quoted. */
export function parseOrThrow<T>(schema: z.ZodType<T>, value: unknown, name: string): T {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const issue = result.error.issues[0];
  const extra = issue?.code === 'unrecognized_keys' ? issue.keys.slice(0, 1) : [];
  const field = `${name}${pathOf([...(issue?.path ?? []), ...extra])}`;
  throw new TypeError(`${field}: ${extra.length ? 'there is no such field' : issue?.message}`);
}
