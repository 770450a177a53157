import type { Request } from 'express';
import type { MarketplaceProfile } from 'marketgate';

/** Who is logged in. All of it travels in the login cookie, so it is kept small. */
export interface Visitor {
  /** The marketplace's `user_id`: the one to key your own records by, never the e-mail. */
  id: string;
  name: string;
}

export const visitorFrom = (profile: MarketplaceProfile): Visitor => ({
  id: profile.id,
  name: profile.displayName ?? profile.username ?? `Customer ${profile.id}`,
});

/** The visitor that `readLogin` put on the request, where `requireLogin` looks for it. */
export const visitorOf = (req: Request): Visitor | undefined => req.user as Visitor | undefined;
