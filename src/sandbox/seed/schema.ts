import { z } from 'zod';
import type {
  SandboxSeed,
  SeedApp,
  SeedItem,
  SeedPurchase,
  SeedUser,
  SeedWorkspace,
} from './types.js';

const text = z.string();
const filled = z.string().min(1);
const price = z.number().min(0);
const instant = z.iso.datetime();
const day = z.union([z.iso.date(), z.literal('')]);

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

/** A URL is kept as it was written: `?auth_key=` is appended to it literally, so it must fit a header. */
export const redirectUrl = z
  .string()
  .refine((url) => URL.canParse(url) && /^[\x21-\x7e]+$/.test(url), 'expected an absolute URL');

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

/** The parts of a seed a caller may give, each complete in itself. */
export const seedParts: z.ZodType<Partial<SandboxSeed>> = z.strictObject({
  users: z.array(user).optional(),
  workspaces: z.array(workspace).min(1).optional(),
  apps: z.array(app).min(1).optional(),
  items: z.array(item).optional(),
  purchases: z.array(purchase).optional(),
});
