import type { UserInfo } from '../model/user-info.js';

/** A user in passport's own form (its "contact schema"). Absent fields are left out. */
export interface MarketplaceProfile {
  /** The same for all: the strategy's name. */
  provider: 'marketplace';
  /** `user_id`: the one to key your accounts by. */
  id: string;
  /** `user_name`. */
  username?: string;
  /** First and last name, or else the user name. */
  displayName?: string;
  /** First and last name, where there is one of them. */
  name?: {
    /** `user_firstname`. */
    givenName?: string;
    /** `user_lastname`. */
    familyName?: string;
  };
  /** Not verified by the service. */
  emails?: {
    /** `user_email`. */
    value: string;
  }[];
  /** `user_picture`, as an absolute URL. */
  photos?: {
    /** http or https. */
    value: string;
  }[];
  /** `user_verified`. */
  verified?: boolean;
  /** The user info as JSON text. */
  _raw: string;
  /** The user info as the service gave it. */
  _json: UserInfo;
}

/**
 * The profile of a user.
 * @param site the address of the login service, that relative pictures are relative to.
 */
export function profileOf(user: UserInfo, site: string): MarketplaceProfile {
  const { user_firstname: givenName, user_lastname: familyName } = user;
  const fullName = [givenName, familyName].filter(Boolean).join(' ');
  const displayName = fullName || user.user_name;
  const picture = absolute(user.user_picture, site);
  return {
    provider: 'marketplace',
    id: user.user_id,
    ...(user.user_name && { username: user.user_name }),
    ...(displayName && { displayName }),
    ...(fullName && {
      name: { ...(givenName && { givenName }), ...(familyName && { familyName }) },
    }),
    ...(user.user_email && { emails: [{ value: user.user_email }] }),
    ...(picture && { photos: [{ value: picture }] }),
    ...(user.user_verified !== undefined && { verified: user.user_verified === '1' }),
    _raw: asText(user),
    _json: user,
  };
}

/** Only http and https: the value ends up in the `src` of a picture. */
function absolute(url: string | undefined, site: string): string | undefined {
  if (!url) return undefined;
  try {
    const { href, protocol } = new URL(url, site);
    return protocol === 'https:' || protocol === 'http:' ? href : undefined;
  } catch {
    // Parsed once: nearly all can be.
    return undefined;
  }
}

/** Unknown fields can be nested deeper than the stack is; the known ones never are. */
function asText(user: UserInfo): string {
  try {
    return JSON.stringify(user);
  } catch {
    const known = Object.entries(user).filter(([, value]) => typeof value !== 'object');
    return JSON.stringify(Object.fromEntries(known));
  }
}
