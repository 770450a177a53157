import { type Documented, type Fact, fact, facts } from './fact.js';

/** A URL without its origin and first slash. */
const relative = (url: unknown): string => new URL(String(url)).pathname.slice(1);

const ALWAYS_THERE = ['user_id', 'user_name', 'user_email'];

const withoutNulls = (user: Documented): Documented =>
  Object.fromEntries(
    Object.entries(user).filter(
      ([name]) => !name.startsWith('user_') || ALWAYS_THERE.includes(name),
    ),
  );

/** The login API, switch by switch: the notes about deployments, and what the contract makes of each. */
export const LOGIN_API_FACTS: readonly Fact[] = [
  ...facts('errors', 'ok', 'http', 'localised'),
  ...facts('authorizeMethod', 'post', 'get'),
  fact('tokenMinutes', 60),
  fact('tokenMinutes', 1, { ends: { 'getUser, token half an hour old': 'access_token_expired' } }),
  // One that lapsed and was replaced reads "invalid", not "expired": it has expired all the same.
  ...facts('tokenReuse', false, true),
  fact('datetimes', false),
  fact('datetimes', true, {
    changes: { user: (user) => ({ ...user, user_registered: `${user.user_registered} TIME` }) },
  }),
  fact('relativePictures', false),
  fact('relativePictures', true, {
    changes: {
      user: (user) => ({
        ...user,
        user_picture: relative(user.user_picture),
        user_cover: relative(user.user_cover),
      }),
    },
  }),
  fact('extraFields', false),
  fact('extraFields', true, {
    changes: { user: (user) => ({ ...user, profile_picture: 'URL', profile_cover: 'URL' }) },
  }),
  fact('nulls', false),
  fact('nulls', true, { changes: { user: withoutNulls }, hides: true }),
  fact('vanishedUser', false),
  fact('vanishedUser', true, {
    ends: {
      'getUser, good': 'login_failed',
      'getUser, blank profile': 'login_failed',
      'getUser, token half an hour old': 'login_failed',
    },
    hides: true,
  }),
  fact('htmlOutage', false),
  fact('htmlOutage', true, { outage: 'unexpected_response' }),
  fact('warnings', false),
  // What a warning precedes can have been cut as well.
  fact('warnings', 'text', { outage: 'unexpected_response' }),
  // A byte order mark is skipped.
  fact('warnings', 'bom'),
];
