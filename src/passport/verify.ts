import type { Request } from 'express';
import type { AccessToken } from '../model/access-token.js';
import type { MarketplaceProfile } from './profile.js';

/** Ends a classic verify: `done(error)`, `done(null, false, info)` or `done(null, user, info)`. */
export type VerifyDone = (
  error?: unknown,
  user?: Express.User | false | null,
  info?: object,
) => void;

/** The fourth thing a classic verify can ask for, in the form of an OAuth 2 token answer. */
export interface TokenParams {
  /** A secret. */
  access_token: string;
  /** Seconds that the token lives. */
  expires_in: number;
}

/** What an async verify is given. */
export interface VerifyInput {
  /** Who has logged in. */
  profile: MarketplaceProfile;
  /** Their access_token, which is in the token store already. */
  token: AccessToken;
  /** The request of the callback. */
  req: Request;
}

/** A verify in async form: gives the app's user, or false to refuse; a rejection is an error. */
export type AsyncVerify = (
  input: VerifyInput,
) => Promise<Express.User | false | null | undefined> | Express.User | false | null | undefined;

/** A verify as in passport-oauth2. `refreshToken` is always undefined: the service has none. */
export type ClassicVerify = (
  accessToken: string,
  refreshToken: undefined,
  profile: MarketplaceProfile,
  done: VerifyDone,
) => unknown;

/** {@link ClassicVerify} with the token's parameters. */
export type ClassicVerifyWithParams = (
  accessToken: string,
  refreshToken: undefined,
  params: TokenParams,
  profile: MarketplaceProfile,
  done: VerifyDone,
) => unknown;

/** {@link ClassicVerify} with `passReqToCallback: true`. */
export type ClassicVerifyWithRequest = (
  req: Request,
  accessToken: string,
  refreshToken: undefined,
  profile: MarketplaceProfile,
  done: VerifyDone,
) => unknown;

/** {@link ClassicVerifyWithParams} with `passReqToCallback: true`. */
export type ClassicVerifyWithRequestAndParams = (
  req: Request,
  accessToken: string,
  refreshToken: undefined,
  params: TokenParams,
  profile: MarketplaceProfile,
  done: VerifyDone,
) => unknown;

/** Every form of verify. */
export type Verify = (...args: never[]) => unknown;

/** What verify decided. */
export interface Verified {
  readonly user: Express.User | false;
  readonly info: object | undefined;
}

/** Any form of verify behind one signature; a throw or a rejection rejects. */
export type RunVerify = (input: VerifyInput) => Promise<Verified>;

/**
 * Tells the form by the number of arguments, as passport-oauth2 does. A number that fits no form is
 * refused here: such a function would never call `done`, and the login would hang.
 * @throws TypeError
 */
export function verifyRunner(verify: unknown, passReqToCallback: boolean): RunVerify {
  if (typeof verify !== 'function') {
    throw new TypeError('MarketplaceStrategy: verify must be a function');
  }
  if (verify.length <= 1) return async (input) => decided(await verify(input));
  const classic = passReqToCallback ? verify.length - 1 : verify.length;
  if (classic !== 4 && classic !== 5) {
    throw new TypeError(
      `MarketplaceStrategy: verify takes ${verify.length} arguments; it must take one ({ profile, token, req }), or ${passReqToCallback ? 'req, ' : ''}accessToken, refreshToken, [params,] profile, done`,
    );
  }
  return ({ profile, token, req }) =>
    new Promise((resolve, reject) => {
      const done: VerifyDone = (error, user, info) => {
        if (error) reject(error);
        else resolve(decided(user, info));
      };
      const params: TokenParams = {
        access_token: token.value,
        expires_in: Math.round((token.expiresAt - token.issuedAt) / 1000),
      };
      const result: unknown = verify(
        ...(passReqToCallback ? [req] : []),
        token.value,
        undefined,
        ...(classic === 5 ? [params] : []),
        profile,
        done,
      );
      // An async function that fails before it calls `done` would hang the login. Only real promises:
      // a database query can be thenable, and would run a second time.
      if (result instanceof Promise) result.catch(reject);
    });
}

const decided = (user: unknown, info?: object): Verified => ({
  user: user ? (user as Express.User) : false,
  info,
});
