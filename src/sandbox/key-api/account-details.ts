import { amountOf, timeOf } from './answers.js';
import type { Endpoint } from './call.js';

/**
 * GET /api/account/details → `{status, data: Account}` (spec, "Endpoints", "Account"). Without pictures in the
 * seed, the sandbox draws them.
 */
export const accountDetails: Endpoint = ({ workspace, data, dialect, origin }) => {
  if (!workspace) return undefined;
  const { id, api_key, profile, ...account } = workspace;
  const media = `${origin}/media/accounts/${encodeURIComponent(id)}`;
  const names = Object.keys(profile.social_links);
  const nulls = {
    heading: null,
    description: null,
    contact: { email: null },
    // Both have been seen: no object at all, and an object of nulls.
    social_links:
      workspace === data.workspaces[0]
        ? null
        : Object.fromEntries(names.map((name) => [name, null])),
  };
  return {
    data: {
      ...account,
      balance: amountOf(account.balance, dialect),
      profile: {
        ...profile,
        ...(dialect.nulls && nulls),
        media: { avatar: `${media}/avatar.svg`, cover: `${media}/cover.svg`, ...profile.media },
      },
      registered_at: timeOf(account.registered_at, dialect),
    },
  };
};
