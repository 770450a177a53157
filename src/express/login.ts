import { hash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { parseCookie } from 'cookie';
import type { Request } from 'express';
import { LRUCache } from 'lru-cache';
import type { LoginApi } from '../clients/login-api.js';
import { warnOnce } from '../diagnostics.js';
import { isMarketgateError, MarketgateError } from '../errors.js';
import type { AccessToken } from '../model/access-token.js';
import type { UserInfo } from '../model/user-info.js';
import { functionOption, knownOptions, shapedOption, textOption, wrongOption } from '../options.js';
import {
  checkTokenStore,
  DEFAULT_NAME,
  GuardedTokenStore,
  type TokenStore,
  tokenNameFor,
} from '../stores/token-store.js';
import { keepPrivate, type Middleware } from './context.js';
import { type Call, middleware } from './middleware.js';
import { isNavigation, pathOf, redirect, setCookie } from './plain-http.js';
import { safeReturnTo, saveReturnTo } from './return-to.js';
import { idOfUser, isLoggedIn, sessionOf } from './session.js';

/**
 * Gives the `user_id` of the logged-in user that the token is stored under, or a promise of it. Nothing
 * (`undefined`, `null`, `false`, an empty string) for a user without a marketplace account, who is then sent to the
 * login. So is a visitor who is not logged in, for whom `(req) => req.user.marketplaceId` throws a TypeError.
 */
export type UserIdSource = (
  req: Request,
) =>
  | string
  | number
  | false
  | null
  | undefined
  | Promise<string | number | false | null | undefined>;

/** Options of {@link requireLogin}. */
export interface RequireLoginOptions {
  /**
   * Path on this site that starts the login. Default: that of the app's `errorHandler({ loginPath })`, which then
   * redirects.
   */
  loginPath?: string | undefined;
}

/** Options of {@link loadUser}. */
export interface LoadUserOptions {
  /** Where the strategy puts the tokens. */
  tokenStore: TokenStore;
  /** The `user_id` of the logged-in user. Default `req.user.id`. */
  userId?: UserIdSource | undefined;
  /** The `name` of the strategy, where that is not "marketplace". */
  strategy?: string | undefined;
}

/** Options of {@link requireAccessToken}. */
export interface RequireAccessTokenOptions extends RequireLoginOptions, LoadUserOptions {
  /** The current time in epoch milliseconds, for tests. Default `Date.now`. */
  clock?: (() => number) | undefined;
}

/**
 * Lets only logged-in users into a route, by passport's `req.user`.
 *
 * A browser that navigates to a page is redirected to the login, and afterwards back to the page. Any other
 * request (scripts, forms, API clients) gets `login_required` (401) through `next`. Without a `loginPath`, every request
 * does, and the app's `errorHandler({ loginPath })` redirects.
 *
 * @throws TypeError that names the wrong option, when it is made.
 */
export function requireLogin(options: RequireLoginOptions = {}, ..._: never[]): Middleware {
  const given = knownOptions('requireLogin', options, ['loginPath']);
  const loginPath = pathOption('requireLogin', 'loginPath', given.loginPath);
  return middleware(async ({ req, res, next }) => {
    if (!isLoggedIn(req)) {
      warnIfNotRestored(req);
      throw loginRequired();
    }
    keepPrivate(res, ['Cookie']);
    next();
  }, redirectTo(loginPath));
}

/** Passport's session middleware deletes a user that it cannot restore, so such a user means that it has not run. */
function warnIfNotRestored(req: IncomingMessage): void {
  const { user } = Object(sessionOf(req)?.passport) as { user?: unknown };
  if (user !== undefined) warnOnce('MARKETGATE_NO_PASSPORT_SESSION');
}

/**
 * Lets only logged-in users with a live access_token into a route (specification: "Limits", 1 hour). Works
 * as {@link requireLogin}. Without a live token the user must log in again (`access_token_expired`, 401),
 * and an expired token is deleted. When the store cannot be asked, the error is `store_unavailable` (503). Where a user
 * has just logged in and there is no token all the same, it is a TypeError: the app looks for it under another id, or in
 * another store.
 *
 * @throws TypeError that names the wrong option, when it is made.
 */
export function requireAccessToken(options: RequireAccessTokenOptions, ..._: never[]): Middleware {
  const owner = 'requireAccessToken';
  const names = ['tokenStore', 'loginPath', 'userId', 'strategy', 'clock'] as const;
  const given = knownOptions(owner, options, names);
  const { tokens, userOfRequest } = userTokens(owner, given);
  const loginPath = pathOption(owner, 'loginPath', given.loginPath);
  const clock = functionOption(owner, 'clock', given.clock) ?? Date.now;

  return middleware(async ({ req, res, next }) => {
    const { tokenName } = await userOfRequest(req);
    const token = await tokens.get(tokenName);
    if (token === undefined) endLoginLoop(req, res);
    const isLive = token !== undefined && clock() < token.expiresAt;
    // The user must log in again even if the token cannot be deleted.
    if (token !== undefined && !isLive) await tokens.forget(tokenName, token).catch(() => {});
    if (!isLive) throw tokenExpired();
    keepPrivate(res, ['Cookie']);
    next();
  }, redirectTo(loginPath));
}

/** The session in which a user without a token was sent to the login, hashed. */
const NO_TOKEN = 'marketgate.no_token';

/**
 * A login changes the session. So when a browser without a token comes back in another session, the login has put the
 * token elsewhere, and the next login would do the same, without end where the marketplace shows no page.
 *
 * @throws TypeError
 */
function endLoginLoop(req: Request, res: ServerResponse): void {
  const { sessionID } = req as { sessionID?: unknown };
  // Other sessions than those of express-session have no id.
  if (typeof sessionID !== 'string' || res.headersSent) return;
  const mark = hash('sha256', sessionID, 'base64url').slice(0, 16);
  const before = parseCookie(req.headers.cookie ?? '')[NO_TOKEN];
  const isBack = before !== undefined && before !== '' && before !== mark;
  setCookie(req, res, NO_TOKEN, isBack ? '' : mark, isBack ? 0 : 60_000);
  if (!isBack) return;
  throw new TypeError(
    'requireAccessToken: this user has just logged in, but the token store has no token under the id that "userId" gives; it must give the marketplace\'s user_id (default: req.user.id), and all processes need one token store',
  );
}

/** How long {@link loadUser} serves an answer, in milliseconds, and how many of them it remembers. */
const USER_CACHE = { ttl: 60_000, max: 1000, perf: { now: () => performance.now() } };

/** What {@link loadUser} needs of a {@link LoginApi}. */
export type UserSource = Pick<LoginApi, 'getUser'>;

/** The answers of each LoginApi by access_token, and the requests in progress. */
const usersOf = new WeakMap<UserSource, LRUCache<string, Promise<UserInfo>>>();

/** The user of a token. Visitors share the request, so it does not end when one of them leaves. */
function getUser(loginApi: UserSource, token: AccessToken): Promise<UserInfo> {
  const users = usersOf.get(loginApi) ?? new LRUCache(USER_CACHE);
  usersOf.set(loginApi, users);
  const known = users.get(token.value);
  if (known !== undefined) return known;
  const user = (async () => loginApi.getUser(token))();
  users.set(token.value, user);
  user.catch(() => users.delete(token.value));
  return user;
}

/**
 * Asks the service for the logged-in user (specification: get_user_info), and puts the answer at
 * `req.marketplace.user`. An answer is served for a minute; users with several requests at once share one to the service.
 *
 * Passes to `next`: `login_required` and `access_token_expired` (401), for which
 * `errorHandler({ loginPath })` redirects to the login; `login_failed` (401), when the account is gone;
 * `store_unavailable`, and the error when the service cannot be asked. A token that the service no longer
 * accepts is deleted from the store.
 *
 * @throws TypeError that names the wrong option, when it is made.
 */
export function loadUser(loginApi: UserSource, options: LoadUserOptions): Middleware {
  const owner = 'loadUser';
  shapedOption<UserSource>(owner, 'loginApi', loginApi, ['getUser'], 'a LoginApi');
  const given = knownOptions(owner, options, ['tokenStore', 'userId', 'strategy']);
  const { tokens, userOfRequest } = userTokens(owner, given);

  return middleware(async ({ req, res, next, context }) => {
    const { id, tokenName } = await userOfRequest(req);
    const token = await tokens.get(tokenName);
    if (token === undefined) throw tokenExpired();
    try {
      const user = await getUser(loginApi, token);
      if (user.user_id !== id) {
        throw tokenExpired(
          'the stored access_token belongs to another user; check the option "userId" and the token store',
        );
      }
      context.user = { ...user };
    } catch (error) {
      if (isMarketgateError(error) && error.status === 401) {
        await tokens.forget(tokenName, token).catch(() => {});
      }
      throw error;
    }
    keepPrivate(res, ['Cookie']);
    next();
  });
}

/** The token store, and a function for the user of a request. */
function userTokens(owner: string, options: LoadUserOptions) {
  const tokens = new GuardedTokenStore(checkTokenStore(owner, options.tokenStore));
  const userIdOf = idOfUser(functionOption(owner, 'userId', options.userId) ?? userIdOfPassport);
  const tokenNameOf = tokenNameFor(textOption(owner, 'strategy', options.strategy ?? DEFAULT_NAME));
  /** @throws MarketgateError `login_required`; TypeError for a logged-in user without an id. */
  const userOfRequest = async (req: Request): Promise<{ id: string; tokenName: string }> => {
    const given: unknown = await userIdOf(req);
    const id = typeof given === 'number' ? String(given) : given;
    if (typeof id === 'string' && id !== '') return { id, tokenName: tokenNameOf(id) };
    // An app's own `userId` gives nothing for a user who has logged in without the marketplace.
    if ((options.userId !== undefined && !id) || !isLoggedIn(req)) throw loginRequired();
    // The app's mistake, not the visitor's.
    throw new TypeError(
      `${owner}: option "userId" found no id of the logged-in user; it must give the user_id that the token is stored under (default: req.user.id)`,
    );
  };
  return { tokens, userOfRequest };
}

const userIdOfPassport: UserIdSource = (req) => (req.user as { id?: string } | undefined)?.id;

const loginRequired = (): MarketgateError =>
  new MarketgateError(
    'login_required',
    'nobody is logged in, and this route needs somebody; log in first',
  );

const tokenExpired = (
  why = 'the access_token of this user has expired; the visitor must log in again',
): MarketgateError => new MarketgateError('access_token_expired', why);

/** @throws TypeError that names the option, unless it is a path on this site. */
export function pathOption(
  owner: string,
  name: string,
  value: string | undefined,
): string | undefined {
  if (value !== undefined && safeReturnTo(value) === undefined) {
    throw wrongOption(owner, name, 'must be a path on this site, as in "/login"');
  }
  return value;
}

/** What a guard does with its errors: to the login where a login helps and the guard has a path, otherwise to `next`. */
const redirectTo =
  (loginPath: string | undefined) =>
  async (error: object, { req, res, next }: Call): Promise<void> => {
    if (!(await redirectToLogin(error, loginPath, req, res))) next(error);
  };

const LOGIN_NEEDED = ['login_required', 'access_token_expired'];

/**
 * Redirects a navigation to the login, and afterwards back to its page.
 *
 * @returns whether it has responded. @throws when the session cannot be saved.
 */
export async function redirectToLogin(
  error: unknown,
  loginPath: string | undefined,
  req: IncomingMessage,
  res: ServerResponse,
): Promise<boolean> {
  if (!isMarketgateError(error) || !LOGIN_NEEDED.includes(error.code)) return false;
  // On the login path itself, the redirect would loop.
  const isLoginPath = pathOf(req).split('?')[0] === loginPath?.split('?')[0];
  if (loginPath === undefined || isLoginPath || !isNavigation(req)) return false;
  await saveReturnTo(req, res);
  redirect(res, loginPath);
  return true;
}
