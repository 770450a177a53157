import type { Request } from 'express';
import type { Profile } from 'passport';
import { schedule } from '../deadline.js';
import type { AccessToken } from '../model/access-token.js';
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
  /** `user_firstname` and `user_lastname`: one of them, or both. */
  name?: Partial<NonNullable<Profile['name']>>;
  /** `user_email`, which the service does not verify. */
  emails?: NonNullable<Profile['emails']>;
  /** `user_picture`, as an absolute http or https URL. */
  photos?: NonNullable<Profile['photos']>;
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
  if (!url || !URL.canParse(url, site)) return undefined;
  const { href, protocol } = new URL(url, site);
  return protocol === 'https:' || protocol === 'http:' ? href : undefined;
}

/** Leaves out nested fields that are too deep for `JSON.stringify`. The known fields have no nesting. */
function asText(user: UserInfo): string {
  try {
    return JSON.stringify(user);
  } catch {
    return JSON.stringify(user, (key, value) =>
      key && typeof value === 'object' ? undefined : value,
    );
  }
}

/** Ends a classic verify: `done(error)`, `done(null, false, info)` or `done(null, user, info)`. */
export type VerifyDone = (
  error?: unknown,
  user?: Express.User | false | null,
  info?: object,
) => void;

/** The `params` of a classic verify, in the form of an OAuth 2 token response. */
export interface TokenParams {
  /** The access_token, a secret. */
  access_token: string;
  /** Seconds that the token lives. */
  expires_in: number;
}

/** What an async verify is given. */
export interface VerifyInput {
  /** The user's profile. */
  profile: MarketplaceProfile;
  /** The user's access_token, which is in the token store already. */
  token: AccessToken;
  /** The request of the callback. */
  req: Request;
}

/**
 * A verify in async form. It gives the app's user, or false to refuse. A rejection is an error; so is
 * `undefined`, which usually means that a `return` is missing.
 */
export type AsyncVerify = (
  input: VerifyInput,
) => Promise<VerifiedUser | false | null> | VerifiedUser | false | null;

/** A verify that only refuses: TypeScript reads the `false` of `async () => false` as `boolean`. */
export type RefusingVerify = (input: VerifyInput) => Promise<boolean> | boolean;

/** The app's user. An `Express.User` that declares no field would be any text, number or promise. */
export type VerifiedUser = Express.User &
  object & {
    /** Of promises. */
    then?: never;
  };

/**
 * A verify that ends by `done`: what NestJS makes of `validate({ profile })` with
 * `PassportStrategy(MarketplaceStrategy, name, true)`. An inline one must declare the types of its arguments.
 */
export type VerifyWithDone = (input: VerifyInput, done: VerifyDone) => unknown;

/*
 * TypeScript types the parameters of an inline callback once, from the first overload that it tries. So the first
 * overload of the constructor takes the intersection of all forms: TypeScript drops those with too few parameters and
 * makes the union of the others at each position. The intersections below keep that union usable: `string & VerifyInput`
 * is a string in a verify of four arguments, and `VerifyInput` absorbs it in one of one. No value has these types.
 */

type Token = string & VerifyInput;
type Classic<Refresh, P = MarketplaceProfile> = [
  accessToken: Token,
  refreshToken: Refresh,
  profile: P,
  done: VerifyDone,
];
type WithParams<Refresh, P = MarketplaceProfile> = [
  accessToken: Token,
  refreshToken: Refresh,
  params: TokenParams & P,
  profile: P & VerifyDone,
  done: VerifyDone,
];
type Form<Args extends readonly unknown[]> = (...args: Args) => unknown;

/** What comes first with `passReqToCallback: true`. */
export type WithReq = [req: Request & VerifyInput];

/** An inline verify of any form. */
export type AnyInline<First extends unknown[] = []> = AsyncVerify &
  VerifyWithDone &
  Form<[...First, ...Classic<undefined>]> &
  Form<[...First, ...WithParams<undefined>]>;

/**
 * One of the classic forms that is not inline, or that declares types itself: for passport-oauth2 `refreshToken: string`, and
 * passport's own profile.
 */
type AnyClassic<First extends unknown[]> =
  | Form<[...First, ...Classic<never, MarketplaceProfile & Profile>]>
  | Form<[...First, ...WithParams<never, MarketplaceProfile & Profile>]>;

/**
 * What a verify of the type V must be. TypeScript takes a function of one argument for one of any form, so its result is
 * checked only where the number of arguments chooses the form. V is unknown in a subclass.
 */
export type Checked<V, First extends unknown[] = []> = unknown extends V
  ? AsyncVerify | VerifyWithDone | AnyClassic<First>
  : V extends Form<infer Args>
    ? Args['length'] extends 0 | 1
      ? AsyncVerify
      : VerifyWithDone | AnyClassic<First>
    : never;

/**
 * How long a verify that declares no arguments has for `done` after it has returned `undefined`, in milliseconds. Most
 * of them never call it, and the login would hang.
 */
const DONE_WITHIN = 3000;
const NOTHING = `MarketplaceStrategy: verify gave undefined; it must give the app's user, or false to refuse; to call done later than after ${DONE_WITHIN} ms, it must declare its arguments`;

const NO_USER =
  "MarketplaceStrategy: verify gave true; it must give the app's user, or false to refuse";

/**
 * Makes one function of any form of verify, which it tells apart by the number of declared arguments, as
 * passport-oauth2 does. It rejects when verify throws, rejects or gives an error to `done`.
 *
 * @throws TypeError for a number that fits no form: such a verify would never call `done`, and the login would hang.
 */
export function verifyRunner(verify: unknown, passReqToCallback: boolean) {
  if (typeof verify !== 'function') {
    throw new TypeError('MarketplaceStrategy: verify must be a function');
  }
  const { length } = verify;
  const takesInput = length === 1 || length === 2;
  const classicLength = passReqToCallback ? length - 1 : length;
  if (!takesInput && length !== 0 && classicLength !== 4 && classicLength !== 5) {
    throw new TypeError(
      `MarketplaceStrategy: verify takes ${length} arguments; it must take one ({ profile, token, req }), that and done, or ${passReqToCallback ? 'req, ' : ''}accessToken, refreshToken, [params,] profile, done`,
    );
  }
  return async (input: VerifyInput) => {
    const { profile, token, req } = input;
    const params: TokenParams = {
      access_token: token.value,
      expires_in: Math.round((token.expiresAt - token.issuedAt) / 1000),
    };
    const classic = [
      ...(passReqToCallback ? [req] : []),
      token.value,
      undefined,
      ...(classicLength === 5 ? [params] : []),
      profile,
    ];
    const [user, info] = await new Promise<[user?: unknown, info?: object]>((resolve, reject) => {
      const done: VerifyDone = (error, ...given) => (error ? reject(error) : resolve(given));
      if (length === 1) return resolve(Promise.resolve(verify(input)).then((it) => [it]));
      const returned: unknown = verify(...(takesInput ? [input] : classic), done);
      if (length === 0) {
        // NestJS passes `async (...args)`, which calls `done` before it ends, or returns the user.
        if (returned !== undefined) Promise.resolve(returned).then((it) => resolve([it]), reject);
        else schedule(DONE_WITHIN, () => resolve([]));
      } else if (returned instanceof Promise) {
        // An async function that fails before it calls `done` would hang the login. Not for all thenables,
        // because a database query can be one and would run a second time.
        returned.catch(reject);
      }
    });
    if (user === undefined && info === undefined) throw new TypeError(NOTHING);
    if (user === true) throw new TypeError(NO_USER);
    return { user: user ? (user as Express.User) : (false as const), info };
  };
}
