import * as z from 'zod/mini';

/** A person who can log in with an app (spec, "User info"). What is left out is sent as an empty string. */
export interface SeedUser {
  /** A number in the default seed, as text. */ user_id: string;
  /** The name to log in with. */ user_name: string;
  /** An address; not verified. */ user_email: string;
  /** First name. */ user_firstname?: string | undefined;
  /** Last name. */ user_lastname?: string | undefined;
  /** Any word. */ user_gender?: string | undefined;
  /** `YYYY-MM-DD`. */ user_birthdate?: string | undefined;
  /** URL; by default a picture of the sandbox. */ user_picture?: string | undefined;
  /** URL; by default a picture of the sandbox. */ user_cover?: string | undefined;
  /** `YYYY-MM-DD`. */ user_registered: string;
  /** `"1"` means verified. */ user_verified: string;
  /** Any word. */ user_relationship?: string | undefined;
  /** Any text. */ user_biography?: string | undefined;
  /** URL. */ user_website?: string | undefined;
}

/** A workspace with its API key and the account that owns it (spec, "Account"). */
export interface SeedWorkspace {
  /** The sandbox's own name for it; items point here. Not on the wire. */ id: string;
  /** The key of the key API. */ api_key: string;
  /** Who owns the account. */ name: Record<'firstname' | 'lastname' | 'full_name', string>;
  /** The name on the marketplace. */ username: string;
  /** Where the marketplace writes to. */ email: string;
  /** In units of `currency`. */ balance: number;
  /** A currency code, as in "USD". */ currency: string;
  /** What the account shows of itself. */
  profile: {
    /** One line above the profile. */ heading: string;
    /** Text of the profile. */ description: string;
    /** Where customers write to. */ contact: Record<'email', string>;
    /** From the name of a network to a link. */ social_links: Record<string, string>;
    /** URLs; by default of pictures of the sandbox. */
    media?: Partial<Record<'avatar' | 'cover', string>> | undefined;
  };
  /** ISO 8601, UTC. */ registered_at: string;
}

/** An app of the login API (spec, "App credentials"). */
export interface SeedApp {
  /** What the app calls itself, in public. */ app_id: string;
  /** What the app proves itself by. */ app_secret: string;
  /** Shown on the consent page. */ name: string;
  /** Where accepted logins go. Absent: a page asks for it. */ redirect_url?: string | undefined;
}

/** An item of the catalogue (spec, "Item"). */
export interface SeedItem {
  /** A positive integer. */ id: number;
  /** The `id` of the workspace that sells it. Not on the wire. */ workspace: string;
  /** Decides which media fields exist. Not on the wire. */ kind: 'image' | 'video' | 'audio';
  /** What it is sold as. */ name: string;
  /** What it is. */ description: string;
  /** Name of its category. */ category: string;
  /** Name of the category below that. */ sub_category: string;
  /** What comes with it. */ options: string[];
  /** Three numeric parts. */ version: string;
  /** By default a picture of the sandbox. */ demo_link?: string | undefined;
  /** Words to find it by. */ tags: string[];
  /** How many screenshots it has; 0 leaves the field out. */ screenshots: number;
  /** URLs in place of the sandbox's own files, as the service sends them. */
  media?:
    | {
        /** Of the thumbnail. */ thumbnail: string;
        /** Of a large picture. */ preview_image?: string | undefined;
        /** Of a clip. */ preview_video?: string | undefined;
        /** Of a sound. */ preview_audio?: string | undefined;
        /** Of pictures. */ screenshots?: string[] | undefined;
      }
    | undefined;
  /** In units of `currency`, by license. */ price: Record<'regular' | 'extended', number>;
  /** A currency code, as in "USD". */ currency: string;
  /** ISO 8601, UTC. */ published_at: string;
  /** Out of the catalogue: only purchases still show it. Not on the wire. */
  deleted?: boolean | undefined;
}

/** A purchase of an item (spec, "Purchase"). It belongs to the workspace that sells the item. */
export interface SeedPurchase {
  /** A UUID in the default seed. */ purchase_code: string;
  /** A label for tests and for the list of codes, such as `supported`. Not on the wire. */ kind: string;
  /** The item it is for. */ item_id: number;
  /** A label for the kind of license, as in "Regular". */ license_type: string;
  /** What was paid, in units of `currency`. */ price: number;
  /** A currency code, as in "USD". */ currency: string;
  /** ISO 8601, UTC. Absent: without support. */ supported_until?: string | undefined;
  /** Whether it was downloaded from the marketplace. */ downloaded: boolean;
  /** ISO 8601, UTC. */ date: string;
  /** Validation then answers "Invalid purchase code". Not on the wire. */
  void?: 'refunded' | 'cancelled' | undefined;
}

/** Everything that a sandbox starts with. */
export interface SandboxSeed {
  /** Who can log in. */ users: SeedUser[];
  /** Accounts with their keys; `listen` gives the key of the first. */ workspaces: SeedWorkspace[];
  /** Apps that users can log in with; `listen` gives the credentials of the first. */ apps: SeedApp[];
  /** The catalogues of all workspaces. */ items: SeedItem[];
  /** Codes, also refunded ones. */ purchases: SeedPurchase[];
}

// Data of a file is printed, and written to `.env` and headers: names and keys have no control characters.
const textWithout = (control: RegExp) =>
  z
    .string()
    .check(z.refine((value) => !control.test(value), 'expected text without control characters'));

const text = textWithout(/\p{Cc}/u);
const nonEmpty = text.check(z.minLength(1, 'expected some text'));
/** Text of several lines. */
const prose = textWithout(/(?![\t\n\r])\p{Cc}/u);
const amount = z.number().check(z.minimum(0, 'expected an amount'));
const day = z.union([z.iso.date(), z.literal('')], 'expected a date');
const id = z.int().check(z.positive('expected a positive number'));

/** A URL is kept as it was written: `?auth_key=` is appended to it literally, so it must fit a header. */
export const redirectUrl = z
  .string()
  .check(
    z.refine(
      (url) => URL.canParse(url) && /^https?:\/\/[^/][\x21-\x7e]*$/i.test(url),
      'expected an absolute http or https URL',
    ),
  );

/** The records of each part. */
export const RECORDS = {
  users: z.strictObject({
    user_id: nonEmpty,
    user_name: nonEmpty,
    user_email: nonEmpty,
    user_firstname: z.optional(text),
    user_lastname: z.optional(text),
    user_gender: z.optional(text),
    user_birthdate: z.optional(day),
    user_picture: z.optional(text),
    user_cover: z.optional(text),
    user_registered: day,
    user_verified: text,
    user_relationship: z.optional(text),
    user_biography: z.optional(prose),
    user_website: z.optional(text),
  }),
  workspaces: z.strictObject({
    id: nonEmpty,
    api_key: nonEmpty,
    name: z.strictObject({ firstname: text, lastname: text, full_name: text }),
    username: nonEmpty,
    email: nonEmpty,
    balance: z.number(),
    currency: nonEmpty,
    profile: z.strictObject({
      heading: text,
      description: prose,
      contact: z.strictObject({ email: text }),
      social_links: z.record(text, text),
      media: z.optional(z.strictObject({ avatar: z.optional(text), cover: z.optional(text) })),
    }),
    registered_at: z.iso.datetime(),
  }),
  apps: z.strictObject({
    app_id: nonEmpty,
    app_secret: nonEmpty,
    name: nonEmpty,
    redirect_url: z.optional(redirectUrl),
  }),
  items: z.strictObject({
    id,
    workspace: nonEmpty,
    kind: z.enum(['image', 'video', 'audio']),
    name: nonEmpty,
    description: prose,
    category: nonEmpty,
    sub_category: text,
    options: z.array(text),
    version: z
      .string()
      .check(z.regex(/^\d+\.\d+\.\d+$/, 'expected three numeric parts, such as 1.0.0')),
    demo_link: z.optional(text),
    tags: z.array(text),
    screenshots: z.int().check(z.minimum(0), z.maximum(50)),
    media: z.optional(
      z.strictObject({
        thumbnail: text,
        preview_image: z.optional(text),
        preview_video: z.optional(text),
        preview_audio: z.optional(text),
        screenshots: z.optional(z.array(text)),
      }),
    ),
    price: z.strictObject({ regular: amount, extended: amount }),
    currency: nonEmpty,
    published_at: z.iso.datetime(),
    deleted: z.optional(z.boolean()),
  }),
  purchases: z.strictObject({
    purchase_code: nonEmpty,
    kind: nonEmpty,
    item_id: id,
    license_type: text,
    price: amount,
    currency: nonEmpty,
    supported_until: z.optional(z.iso.datetime()),
    downloaded: z.boolean(),
    date: z.iso.datetime(),
    void: z.optional(z.enum(['refunded', 'cancelled'])),
  }),
} satisfies { [Part in keyof SandboxSeed]: z.ZodMiniType<SandboxSeed[Part][number]> };

/** The fields of User info, in the order of the specification. */
export const USER_FIELDS = Object.keys(RECORDS.users.shape) as (keyof SeedUser)[];

/** A seed. A caller can give some parts of one, each complete in itself. */
export const seedSchema = z.strictObject({
  users: z.array(RECORDS.users),
  workspaces: z.array(RECORDS.workspaces).check(z.minLength(1, 'expected at least one')),
  apps: z.array(RECORDS.apps).check(z.minLength(1, 'expected at least one')),
  items: z.array(RECORDS.items),
  purchases: z.array(RECORDS.purchases),
}) satisfies z.ZodMiniType<SandboxSeed>;

/** The fields that no two records of a part share. */
const UNIQUE: Record<keyof SandboxSeed, readonly string[]> = {
  users: ['user_id'],
  workspaces: ['id', 'api_key'],
  apps: ['app_id'],
  items: ['id'],
  purchases: ['purchase_code'],
};

/** @throws TypeError when two records of a part share what must be their own. */
export function refuseRepeats(
  part: keyof SandboxSeed,
  records: readonly object[],
  name: string,
): void {
  for (const field of UNIQUE[part]) {
    const values = records.map((record) => Reflect.get(record, field)).filter(Boolean);
    if (new Set(values).size < values.length) throw new TypeError(`${name}.${field}: given twice`);
  }
}

/** `['items', 0, 'price']` as `.items[0].price`. A name can hold anything, and the path is printed. */
const pathOf = (path: readonly PropertyKey[]): string =>
  path
    .map((part) => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`))
    .join('')
    .replace(/\p{Cc}/gu, '?');

/** Parses `value`, or throws a TypeError that names the field under `name`. Values are never quoted. */
export function parseOrThrow<T>(schema: z.ZodMiniType<T>, value: unknown, name: string): T {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  // What is wrong with a name of a record is in an issue of its own.
  const {
    keys = [],
    expected,
    values,
    format,
    message,
  } = Object(issue?.code === 'invalid_key' ? issue.issues[0] : issue);
  const field = `${name}${pathOf([...(issue?.path ?? []), ...keys.slice(0, 1)])}`;
  const shape = format === 'datetime' ? 'a time, as in 2030-01-31T12:00:00Z' : format;
  const wanted = `expected ${expected ?? values?.join(' or ') ?? shape ?? 'something else'}`;
  const problem = message === 'Invalid input' ? wanted : message;
  throw new TypeError(`${field}: ${keys.length > 0 ? 'there is no such field' : problem}`);
}
