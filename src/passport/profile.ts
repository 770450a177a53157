import type { UserInfo } from '../model/user-info.js';

/** A user in passport's profile format (its "contact schema"). Absent fields are left out. */
export interface MarketplaceProfile {
  /** Always "marketplace", also for a strategy with another name. */
  provider: 'marketplace';
  /** `user_id`: the key for your accounts. */
  id: string;
  /** `user_name`. */
  username?: string;
  /** First and last name, or else the user name. */
  displayName?: string;
  /** Present when there is a first or a last name. */
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
 * Makes the profile of a user.
 * @param site the address of the login service, the base of relative picture URLs.
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

/** The absolute URL. Only http and https, because an app puts it into the `src` of an image. */
function absolute(url: string | undefined, site: string): string | undefined {
  if (!url) return undefined;
  try {
    const { href, protocol } = new URL(url, site);
    return protocol === 'https:' || protocol === 'http:' ? href : undefined;
  } catch {
    return undefined;
  }
}

/** Leaves out nested fields when they are too deep for `JSON.stringify`. The known fields have no nesting. */
function asText(user: UserInfo): string {
  try {
    return JSON.stringify(user);
  } catch {
    const known = Object.entries(user).filter(([, value]) => typeof value !== 'object');
    return JSON.stringify(Object.fromEntries(known));
  }
}
