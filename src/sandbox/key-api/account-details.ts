import type { RequestHandler } from 'express';
import type { SandboxContext } from '../context.js';
import type { SeedWorkspace } from '../data/schema.js';
import type { SandboxDialect } from '../dialect.js';
import { originOf, queryParameters } from '../request.js';
import { amountOf, sendError, sendSuccess, timeOf } from './answers.js';
import { requiredString, workspaceOfKey } from './parameters.js';

/** GET /api/account/details → `{status, data: Account}` (spec, "Endpoints"). */
export const accountDetails =
  ({ data, dialect }: SandboxContext): RequestHandler =>
  (req, res) => {
    const apiKey = requiredString(queryParameters(req), 'api_key', dialect);
    const workspace = workspaceOfKey(data, apiKey);
    if (!workspace) return sendError(res, dialect, 'account-details');
    const isFirst = workspace === data.workspaces[0];
    sendSuccess(res, dialect, { data: accountOf(workspace, originOf(req), dialect, isFirst) });
  };

/** Account (spec, "Account"). Without pictures in the seed, the sandbox draws them. */
function accountOf(
  { id, api_key, profile, ...account }: Readonly<SeedWorkspace>,
  origin: string,
  dialect: SandboxDialect,
  isFirst: boolean,
): object {
  const media = `${origin}/media/accounts/${encodeURIComponent(id)}`;
  const names = Object.keys(profile.social_links);
  const nulls = {
    heading: null,
    description: null,
    contact: { email: null },
    // Both have been seen: no object at all, and an object of nulls.
    social_links: isFirst ? null : Object.fromEntries(names.map((name) => [name, null])),
  };
  return {
    ...account,
    balance: amountOf(account.balance, dialect),
    profile: {
      ...profile,
      ...(dialect.nulls && nulls),
      media: {
        avatar: profile.media?.avatar ?? `${media}/avatar.svg`,
        cover: profile.media?.cover ?? `${media}/cover.svg`,
      },
    },
    registered_at: timeOf(account.registered_at, dialect),
  };
}
