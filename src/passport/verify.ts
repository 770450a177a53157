import type { Request } from 'express';
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
  if (!url || !URL.canParse(url, site)) return undefined;
  const { href, protocol } = new URL(url, site);
  return protocol === 'https:' || protocol === 'http:' ? href : undefined;
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
) => Promise<Express.User | false | null> | Express.User | false | null;

/**
 * A verify that ends by `done`: what NestJS makes of `validate({ profile })` with
 * `PassportStrategy(MarketplaceStrategy, name, true)`. An inline one must declare the types of its arguments.
 */
export type VerifyWithDone = (input: VerifyInput, done: VerifyDone) => unknown;

type Classic<First = string, Second = undefined> = [
  accessToken: First,
  refreshToken: Second,
  profile: MarketplaceProfile,
  done: VerifyDone,
];

type WithParams<
  First = string,
  Third = TokenParams,
  Fourth = MarketplaceProfile,
  Second = undefined,
> = [accessToken: First, refreshToken: Second, params: Third, profile: Fourth, done: VerifyDone];

/** A verify as in passport-oauth2. `refreshToken` is always undefined: the service has none. */
export type ClassicVerify = (...args: Classic) => unknown;

/** {@link ClassicVerify} with the token's parameters. */
export type ClassicVerifyWithParams = (...args: WithParams) => unknown;

/** {@link ClassicVerify} with `passReqToCallback: true`. */
export type ClassicVerifyWithRequest = (req: Request, ...args: Classic) => unknown;

/** {@link ClassicVerifyWithParams} with `passReqToCallback: true`. */
export type ClassicVerifyWithRequestAndParams = (req: Request, ...args: WithParams) => unknown;

/*
 * TypeScript types the parameters of an inline callback once, from the first overload that it tries. So
 * the first overload of the constructor takes the intersection of all forms: TypeScript drops those with
 * too few parameters and makes the union of the others at each position. The types below keep that union
 * usable. In a verify of four arguments, `string & VerifyInput` is a string; in one of one argument it is
 * absorbed by `VerifyInput`. No value ever has these types.
 */

type FirstArgument = string & VerifyInput;
type FirstRequest = Request & VerifyInput;
type Third = TokenParams & MarketplaceProfile;
type Fourth = MarketplaceProfile & VerifyDone;

type Form4<Second> = (...args: Classic<FirstArgument, Second>) => unknown;
type Form5<Second> = (...args: WithParams<FirstArgument, Third, Fourth, Second>) => unknown;
type FormWithRequest5<Second> = (req: FirstRequest, ...args: Classic<string, Second>) => unknown;
type FormWithRequest6<Second> = (
  req: FirstRequest,
  ...args: WithParams<string, Third, Fourth, Second>
) => unknown;

/** The first overload, without the request. */
export type AnyInline = AsyncVerify & VerifyWithDone & Form4<undefined> & Form5<undefined>;
/** The first overload, with `passReqToCallback: true`. */
export type AnyInlineWithRequest = AsyncVerify &
  VerifyWithDone &
  FormWithRequest5<undefined> &
  FormWithRequest6<undefined>;

// `never`, because a verify that was written for passport-oauth2 declares `refreshToken: string`.

/** A function that is not an inline callback, or that declares types itself. */
export type AnyClassic = Form4<never> | Form5<never>;
/** Such a function, with `passReqToCallback: true`. */
export type AnyClassicWithRequest = FormWithRequest5<never> | FormWithRequest6<never>;

/** Every form of verify. */
export type Verify = (...args: never[]) => unknown;

/**
 * How long a verify that declares no arguments has for `done` after it has returned `undefined`, in
 * milliseconds. Most of them never call it, and the login would hang.
 */
const DONE_WITHIN = 3000;
const NOT_DONE = `MarketplaceStrategy: verify gave undefined and did not call done within ${DONE_WITHIN} ms; it must give the app's user, or false to refuse, or declare its arguments to have more time for done`;

/**
 * Makes one function of any form of verify. It rejects when verify throws, rejects or gives an error to `done`.
 *
 * Tells the forms apart by the number of declared arguments, as passport-oauth2 does. Refuses a number
 * that fits no form, because such a function would never call `done` and the login would hang.
 * @throws TypeError
 */
export function verifyRunner(verify: unknown, passReqToCallback: boolean) {
  if (typeof verify !== 'function') {
    throw new TypeError('MarketplaceStrategy: verify must be a function');
  }
  if (verify.length === 1) return async (input: VerifyInput) => verifyResult(await verify(input));
  const takesInput = verify.length === 2;
  const classicLength = passReqToCallback && verify.length > 0 ? verify.length - 1 : verify.length;
  if (!takesInput && ![0, 4, 5].includes(classicLength)) {
    throw new TypeError(
      `MarketplaceStrategy: verify takes ${verify.length} arguments; it must take one ({ profile, token, req }), that and done, or ${passReqToCallback ? 'req, ' : ''}accessToken, refreshToken, [params,] profile, done`,
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
      const returned: unknown = verify(...(takesInput ? [input] : classic), done);
      if (verify.length === 0) {
        // NestJS passes `async (...args)`, which calls `done` before it ends, or returns the user.
        if (returned !== undefined) Promise.resolve(returned).then((it) => resolve([it]), reject);
        else schedule(DONE_WITHIN, () => reject(new TypeError(NOT_DONE)));
      } else if (returned instanceof Promise) {
        // An async function that fails before it calls `done` would hang the login. Not for all thenables,
        // because a database query can be one and would run a second time.
        returned.catch(reject);
      }
    });
    return verifyResult(user, info);
  };
}

function verifyResult(user: unknown, info?: object) {
  if (user === undefined && info === undefined) {
    throw new TypeError(
      "MarketplaceStrategy: verify gave undefined; it must give the app's user, or false to refuse",
    );
  }
  return { user: user ? (user as Express.User) : (false as const), info };
}
