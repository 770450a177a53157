import * as f from './fields.js';

/**
 * The account that an api_key belongs to (specification: "Account"). Field names are as on the wire. Only
 * `username` and the objects are certain: any other field is absent, whatever its type says, when the service
 * leaves it out, or sends `null` or what cannot be read.
 */
export interface Account {
  /** The owner's name. */
  name: {
    /** First name. */
    firstname: string;
    /** Last name. */
    lastname: string;
    /** Both together, as the service writes them. */
    full_name: string;
  };
  /** The user name: part of the account's address on the marketplace. */
  username: string;
  /** The owner's e-mail address. Personal data: not for pages of the shop. */
  email: string;
  /** The balance, in units of `currency`. */
  balance: number;
  /** A currency code, as in "USD". */
  currency: string;
  /** How the account presents itself. */
  profile: AccountProfile;
  /** When the account was made: ISO 8601, UTC. */
  registered_at: string;
}

/** How the account presents itself. */
export interface AccountProfile {
  /** One line above the profile. */
  heading?: string;
  /** Text of the profile; can be HTML. */
  description?: string;
  /** How to reach the author. */
  contact: {
    /** An e-mail address. */
    email?: string;
  };
  /** From the name of a network ("facebook", "x", …: an open list) to a link. */
  social_links?: Record<string, string>;
  /** Pictures of the account. */
  media: {
    /** URL of a small square picture. */
    avatar: string;
    /** URL of a wide picture. */
    cover: string;
  };
}

/** Only `username` is essential: no route depends on more. */
export const accountRecord = f.record<Account>({
  name: f.section<Account['name']>({
    firstname: f.text,
    lastname: f.text,
    full_name: f.text,
  }),
  username: f.textId,
  email: f.text,
  balance: f.number,
  currency: f.text,
  profile: f.section<AccountProfile>({
    heading: f.text,
    description: f.text,
    contact: f.section<AccountProfile['contact']>({
      email: f.text,
    }),
    social_links: f.textMap,
    media: f.section<AccountProfile['media']>({ avatar: f.text, cover: f.text }),
  }),
  registered_at: f.timestamp,
});
