import type { SeedWorkspace } from '../seed/types.js';

/** Account as the specification writes it (spec, "Account"). */
export interface AccountResource {
  /** Who owns the account. */
  name: {
    /** The owner's first name. */
    firstname: string;
    /** The owner's last name. */
    lastname: string;
    /** Both, as shown. */
    full_name: string;
  };
  /** The account's name on the marketplace. */
  username: string;
  /** Where the marketplace writes to. */
  email: string;
  /** Money on the account, in units of `currency`. */
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
      /** Where the author wants to be written to. */
      email: string;
    };
    /** From the name of a network to a link. */
    social_links: Record<string, string>;
    /** URLs. */
    media: {
      /** A small square picture. */
      avatar: string;
      /** A wide picture. */
      cover: string;
    };
  };
  /** ISO 8601, UTC. */
  registered_at: string;
}

/** The account that owns a workspace; pictures it has none of are drawn by the sandbox. */
export function accountResource(
  workspace: Readonly<SeedWorkspace>,
  origin: string,
): AccountResource {
  const { profile } = workspace;
  const media = `${origin}/media/accounts/${encodeURIComponent(workspace.id)}`;
  return {
    name: { ...workspace.name },
    username: workspace.username,
    email: workspace.email,
    balance: workspace.balance,
    currency: workspace.currency,
    profile: {
      heading: profile.heading,
      description: profile.description,
      contact: { ...profile.contact },
      social_links: { ...profile.social_links },
      media: {
        avatar: profile.media?.avatar ?? `${media}/avatar.svg`,
        cover: profile.media?.cover ?? `${media}/cover.svg`,
      },
    },
    registered_at: workspace.registered_at,
  };
}
