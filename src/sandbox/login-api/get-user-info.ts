import type { SandboxContext } from '../context.js';
import type { SeedUser } from '../data/schema.js';
import type { SandboxDialect } from '../dialect.js';
import type { LoginProblem } from './answers.js';

/**
 * GET /api/get_user_info?access_token → `{user_info}` (spec, "Interface B"). A token that ran out says
 * "expired access_token"; a user who is gone is an empty array (field notes).
 */
export function getUserInfo(
  { data, dialect, credentials }: SandboxContext,
  accessToken: string,
  origin: string,
): object | LoginProblem {
  const token = credentials.inspect(accessToken);
  if (token.state !== 'valid') return `${token.state} access_token`;
  const user = data.users.find(({ user_id }) => user_id === token.userId);
  return user && !dialect.vanishedUser ? { user_info: userInfoOf(user, origin, dialect) } : [];
}

/** A relative path of a URL: `media/users/3001/picture.svg`. */
const relative = (url: string): string =>
  URL.canParse(url) ? new URL(url).pathname.slice(1) : url;

/** User info: all fields are strings (spec, "User info"). Without pictures in the seed, the sandbox draws them. */
function userInfoOf(user: Readonly<SeedUser>, origin: string, dialect: SandboxDialect): object {
  const media = `${origin}/media/users/${encodeURIComponent(user.user_id)}`;
  const picture = user.user_picture ?? `${media}/picture.svg`;
  const cover = user.user_cover ?? `${media}/cover.svg`;
  const described = {
    user_firstname: user.user_firstname ?? '',
    user_lastname: user.user_lastname ?? '',
    user_gender: user.user_gender ?? '',
    user_birthdate: user.user_birthdate ?? '',
    user_picture: dialect.relativePictures ? relative(picture) : picture,
    user_cover: dialect.relativePictures ? relative(cover) : cover,
    user_registered: `${user.user_registered}${dialect.datetimes ? ' 09:14:55' : ''}`,
    user_verified: user.user_verified,
    user_relationship: user.user_relationship ?? '',
    user_biography: user.user_biography ?? '',
    user_website: user.user_website ?? '',
  };
  const nulls = Object.fromEntries(Object.keys(described).map((name) => [name, null]));
  return {
    user_id: user.user_id,
    user_name: user.user_name,
    user_email: user.user_email,
    ...(dialect.nulls ? nulls : described),
    ...(dialect.extraFields && {
      profile_picture: picture,
      profile_cover: cover,
      user_work_title: 'Not in the specification',
      user_followers: 12,
      user_is_pro: false,
    }),
  };
}
