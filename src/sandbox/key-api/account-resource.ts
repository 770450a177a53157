import type { SeedWorkspace } from '../seed/types.js';

/** Account as the specification writes it (spec, "Account"). */
export interface AccountResource {
  name: { firstname: string; lastname: string; full_name: string };
  username: string;
  email: string;
  balance: number;
  currency: string;
  profile: {
    heading: string;
    description: string;
    contact: { email: string };
    social_links: Record<string, string>;
    media: { avatar: string; cover: string };
  };
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
