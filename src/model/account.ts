import { z } from 'zod';
import { timestamp } from './fields.js';

/**
 * The account that an api_key belongs to (specification: interface A, "Account"). Names are as on the
 * wire. Fields that deployments send as `null` are absent.
 */
export interface Account {
  /** Who owns the account. */
  name: {
    /** As the owner wrote it. */
    firstname: string;
    /** As the owner wrote it. */
    lastname: string;
    /** Both of them, as the service puts them together. */
    full_name: string;
  };
  /** The name in the account's address on the marketplace. */
  username: string;
  /** Where the marketplace writes to. Personal data: not for pages of the shop. */
  email: string;
  /** Money on the account, in units of `currency`. */
  balance: number;
  /** A currency code, as in "USD". */
  currency: string;
  /** What the account shows of itself. */
  profile: AccountProfile;
  /** ISO 8601, UTC. */
  registered_at: string;
}

/** How the account presents itself. */
export interface AccountProfile {
  /** One line above the profile. */
  heading?: string;
  /** Text of the profile; may hold HTML. */
  description?: string;
  /** How to write to the author. */
  contact: {
    /** Where the author wants to be written to; absent when not told. */
    email?: string;
  };
  /** From the name of a network ("facebook", "x", …: an open list) to a link. */
  social_links?: Record<string, string>;
  /** URLs. */
  media: {
    /** A small square picture. */
    avatar: string;
    /** A wide picture. */
    cover: string;
  };
}

const text = z.string().optional();

/**
 * Only `username` must be there, for no route depends on more; the types promise what the
 * specification does, and what is missing from that counts as drift, not as an outage.
 */
export const accountSchema = z.looseObject({
  name: z.looseObject({ firstname: text, lastname: text, full_name: text }),
  username: z.string().min(1),
  email: text,
  balance: z.number().optional(),
  currency: text,
  profile: z.looseObject({
    heading: text,
    description: text,
    contact: z.looseObject({ email: text }),
    social_links: z.record(z.string(), z.string()).optional(),
    media: z.looseObject({ avatar: text, cover: text }),
  }),
  registered_at: timestamp,
});
