import type { SandboxDialect } from '../dialect.js';
import type { SeedUser } from '../seed/types.js';

/** User info as the specification writes it: all fields are strings (spec, "User info"). */
export interface UserInfoResource {
  /** A number in the default seed, as text. */
  user_id: string;
  /** The name to log in with. */
  user_name: string;
  /** An address; not verified. */
  user_email: string;
  /** First name. */
  user_firstname: string;
  /** Last name. */
  user_lastname: string;
  /** Any word. */
  user_gender: string;
  /** `YYYY-MM-DD`. */
  user_birthdate: string;
  /** URL. */
  user_picture: string;
  /** URL. */
  user_cover: string;
  /** `YYYY-MM-DD`. */
  user_registered: string;
  /** `"1"` means verified. */
  user_verified: string;
  /** Any word. */
  user_relationship: string;
  /** Any text. */
  user_biography: string;
  /** URL. */
  user_website: string;
}

/** A user's profile; what the user left blank is an empty string, pictures are drawn by the sandbox. */
export function userInfoResource(user: Readonly<SeedUser>, origin: string): UserInfoResource {
  const media = `${origin}/media/users/${encodeURIComponent(user.user_id)}`;
  return {
    user_id: user.user_id,
    user_name: user.user_name,
    user_email: user.user_email,
    user_firstname: user.user_firstname ?? '',
    user_lastname: user.user_lastname ?? '',
    user_gender: user.user_gender ?? '',
    user_birthdate: user.user_birthdate ?? '',
    user_picture: user.user_picture ?? `${media}/picture.svg`,
    user_cover: user.user_cover ?? `${media}/cover.svg`,
    user_registered: user.user_registered,
    user_verified: user.user_verified,
    user_relationship: user.user_relationship ?? '',
    user_biography: user.user_biography ?? '',
    user_website: user.user_website ?? '',
  };
}

/** A relative path of a URL: `media/users/3001/picture.svg`. */
const relative = (url: string): string =>
  URL.canParse(url) ? new URL(url).pathname.slice(1) : url;

/** A profile as a deployment of this dialect sends it. */
export function driftedUserInfo(user: UserInfoResource, dialect: SandboxDialect): object {
  const { user_id, user_name, user_email, ...others } = user;
  const pictures = dialect.relativePictures
    ? { user_picture: relative(user.user_picture), user_cover: relative(user.user_cover) }
    : {};
  const described = {
    ...others,
    ...pictures,
    ...(dialect.datetimes && { user_registered: `${user.user_registered} 09:14:55` }),
  };
  const nulls = Object.fromEntries(Object.keys(others).map((name) => [name, null]));
  return {
    user_id,
    user_name,
    user_email,
    ...(dialect.nulls ? nulls : described),
    ...(dialect.extraFields && {
      profile_picture: user.user_picture,
      profile_cover: user.user_cover,
      user_work_title: 'Not in the specification',
      user_followers: 12,
      user_is_pro: false,
    }),
  };
}
