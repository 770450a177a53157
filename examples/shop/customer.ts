import type { Request } from 'express';
import type { MarketplaceProfile, UserInfo } from 'marketgate';

/** Who is logged in, as it lies in the session. */
export interface Customer {
  /** The marketplace's `user_id`: the one to key your own records by, never the e-mail. */
  id: string;
  name: string;
  username?: string;
  email?: string;
  picture?: string;
  verified: boolean;
  /** YYYY-MM-DD, in front of a time on some deployments. */
  registered?: string;
}

/** As much of a profile as the shop has a use for: what is not kept cannot leak. */
export const customerOf = (profile: MarketplaceProfile): Customer => ({
  id: profile.id,
  name: profile.displayName ?? profile.username ?? `Customer ${profile.id}`,
  username: profile.username,
  email: profile.emails?.[0]?.value,
  picture: profile.photos?.[0]?.value,
  verified: profile.verified ?? false,
  registered: profile._json.user_registered,
});

/** The same customer, with what the marketplace says of them today. */
export const refreshed = (customer: Customer, user: UserInfo): Customer => ({
  ...customer,
  name: [user.user_firstname, user.user_lastname].filter(Boolean).join(' ') || user.user_name,
  username: user.user_name,
  email: user.user_email,
  verified: user.user_verified === '1',
});

/** The customer that passport put on the request. */
export const loggedIn = (req: Request): Customer | undefined => req.user as Customer | undefined;
