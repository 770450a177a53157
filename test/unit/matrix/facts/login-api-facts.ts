import { asSpecified, type Documented, type Fact } from './fact.js';

/** A URL without its origin and first slash. */
const relative = (url: unknown): string => new URL(String(url)).pathname.slice(1);

/**
 * The login API, switch by switch: the notes about deployments, and what the contract makes of each. The
 * first fact of a switch is where it stands by itself.
 */
export const LOGIN_API_FACTS: readonly Fact[] = [
  {
    ...asSpecified('errors', 'ok'),
    seen: 'errors are HTTP 200 {"error": true, "message": "Bad Request, invalid app_id"}',
    caller: 'which of the three it was: the auth_key, the app, or the access_token',
  },
  {
    name: 'errors',
    value: 'http',
    seen: 'the same with an HTTP status',
    caller: 'the same',
  },
  {
    name: 'errors',
    value: 'localised',
    seen: 'or a translated sentence',
    caller: 'the same',
  },

  asSpecified('authorizeMethod', 'post'),
  {
    name: 'authorizeMethod',
    value: 'get',
    seen: 'older deployments take the exchange as GET with a query',
    caller: 'the same, with authorizeMethod: "get"',
  },

  asSpecified('tokenMinutes', 60),
  {
    name: 'tokenMinutes',
    value: 1,
    seen: 'tokens live one minute, not one hour',
    caller: 'that the token is over, as soon as the service says so',
    ends: { 'getUser, token half an hour old': 'access_token_expired' },
  },

  asSpecified('tokenReuse', false),
  {
    name: 'tokenReuse',
    value: true,
    seen: 'authorising again while a token lives returns the same token; a token that lapsed and was replaced reads "invalid", not "expired"',
    caller: 'a token all the same; one that lapsed is over, whatever it is called',
  },

  asSpecified('datetimes', false),
  {
    name: 'datetimes',
    value: true,
    seen: 'user_registered is YYYY-MM-DD HH:MM:SS',
    caller: 'that, with the same day in front',
    changes: { user: (user) => ({ ...user, user_registered: `${user.user_registered} TIME` }) },
  },

  asSpecified('relativePictures', false),
  {
    name: 'relativePictures',
    value: true,
    seen: 'user_picture and user_cover are relative paths',
    caller: 'the paths as they are',
    changes: {
      user: (user) => ({
        ...user,
        user_picture: relative(user.user_picture),
        user_cover: relative(user.user_cover),
      }),
    },
  },

  asSpecified('extraFields', false),
  {
    name: 'extraFields',
    value: true,
    seen: 'profile_picture, profile_cover and others',
    caller: 'them too: unknown fields never break anything',
    changes: { user: (user) => ({ ...user, profile_picture: 'URL', profile_cover: 'URL' }) },
  },

  asSpecified('nulls', false),
  {
    name: 'nulls',
    value: true,
    seen: 'any field but user_id, user_name and user_email may be null',
    caller: 'absent where null was sent: these fields are optional in the types',
    changes: {
      user: (user): Documented =>
        Object.fromEntries(
          Object.entries(user).filter(
            ([name]) => !name.startsWith('user_') || ALWAYS_THERE.includes(name),
          ),
        ),
    },
    hides: true,
  },

  asSpecified('vanishedUser', false),
  {
    name: 'vanishedUser',
    value: true,
    seen: '[] with HTTP 200 instead of user_info',
    caller: 'that there is no such user any more',
    ends: {
      'getUser, good': 'login_failed',
      'getUser, blank profile': 'login_failed',
      'getUser, token half an hour old': 'login_failed',
    },
    hides: true,
  },

  asSpecified('htmlOutage', false),
  {
    name: 'htmlOutage',
    value: true,
    seen: 'database down, maintenance, blocked IP: an HTML page with HTTP 200',
    caller: 'that it could not be found out',
    outage: 'unexpected_response',
  },

  asSpecified('warnings', false),
  {
    name: 'warnings',
    value: 'text',
    seen: 'warning text ahead of the JSON, content type text/html',
    caller: 'that it could not be found out: what a warning precedes may have been cut as well',
    outage: 'unexpected_response',
  },
  {
    name: 'warnings',
    value: 'bom',
    seen: 'a BOM ahead of the JSON, content type text/html',
    caller: 'nothing: a byte order mark is skipped',
  },
];

const ALWAYS_THERE = ['user_id', 'user_name', 'user_email'];
