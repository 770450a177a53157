import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Request } from 'express';
import type { LoginApi } from '../clients/login-api.js';
import { warnOnce } from '../diagnostics.js';
import { asError, isMarketgateError, MarketgateError } from '../errors.js';
import { functionOption, knownOptions, shapedOption, textOption, wrongOption } from '../options.js';
import {
  checkTokenStore,
  DEFAULT_NAME,
  GuardedTokenStore,
  type TokenStore,
  tokenNameFor,
} from '../stores/token-store.js';
import { contextOf, keepPrivate, type Middleware, safeNext } from './context.js';
import { abortOnLeave, loader } from './middleware.js';
import { handleThrown, isNavigation, noStore, pathOf, redirect } from './plain-http.js';
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
   * Path on this site that starts the login. Default: that of the app's `errorHandler({ loginPath })`, or else
   * `/login`.
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
 * request (scripts, forms, API clients) gets `login_required` (401) through `next`.
 *
 * @throws TypeError that names the wrong option, when it is made.
 */
export function requireLogin(options: RequireLoginOptions = {}, ..._: never[]): Middleware {
  const given = knownOptions('requireLogin', options, ['loginPath']);
  const loginPath = loginPathOption('requireLogin', given.loginPath);
  return (req, res, next) => {
    contextOf(req, res);
    const go = safeNext(req, res, next);
    if (!isLoggedIn(req)) {
      warnIfNotRestored(req);
      redirectToLogin(loginRequired(), loginPath ?? defaultLoginPath(req), req, res, go);
      return;
    }
    keepPrivate(res, ['Cookie']);
    go();
  };
}

/** Passport's session middleware deletes a user that it cannot restore, so such a user means that it has not run. */
function warnIfNotRestored(req: IncomingMessage): void {
  const { user } = Object(sessionOf(req)?.passport) as { user?: unknown };
  if (user !== undefined) warnOnce('MARKETGATE_NO_PASSPORT_SESSION');
}

/**
 * Lets only logged-in users with a live access_token into a route (specification: "Limits", 1 hour). Works
 * as {@link requireLogin}. Without a live token the user must log in again (`access_token_expired`, 401),
 * and an expired token is deleted. When the store cannot be asked, the error is `store_unavailable` (503).
 *
 * @throws TypeError that names the wrong option, when it is made.
 */
export function requireAccessToken(options: RequireAccessTokenOptions, ..._: never[]): Middleware {
  const owner = 'requireAccessToken';
  const names = ['tokenStore', 'loginPath', 'userId', 'strategy', 'clock'] as const;
  const given = knownOptions(owner, options, names);
  const { tokens, userOfRequest } = userTokens(owner, given);
  const loginPath = loginPathOption(owner, given.loginPath);
  const clock = functionOption(owner, 'clock', given.clock) ?? Date.now;

  return loader(
    async (req, res) => {
      const { tokenName } = await userOfRequest(req);
      const token = await tokens.get(tokenName);
      const isLive = token !== undefined && clock() < token.expiresAt;
      // The user must log in again even if the token cannot be deleted.
      if (token !== undefined && !isLive) await tokens.forget(tokenName, token).catch(() => {});
      if (!isLive) throw tokenExpired();
      keepPrivate(res, ['Cookie']);
    },
    (error, req, res, next) => {
      if (!isMarketgateError(error) || error.status !== 401) next(asError(error));
      else redirectToLogin(error, loginPath ?? defaultLoginPath(req), req, res, next);
    },
  );
}

/**
 * Asks the service for the logged-in user (specification: get_user_info), and puts the answer at
 * `req.marketplace.user`.
 *
 * Passes to `next`: `login_required` and `access_token_expired` (401), for which
 * `errorHandler({ loginPath })` redirects to the login; `login_failed` (401), when the account is gone;
 * `store_unavailable`, and the error when the service cannot be asked. A token that the service no longer
 * accepts is deleted from the store.
 *
 * @throws TypeError that names the wrong option, when it is made.
 */
export function loadUser(
  loginApi: Pick<LoginApi, 'getUser'>,
  options: LoadUserOptions,
): Middleware {
  const owner = 'loadUser';
  shapedOption<Pick<LoginApi, 'getUser'>>(owner, 'loginApi', loginApi, ['getUser'], 'a LoginApi');
  const given = knownOptions(owner, options, ['tokenStore', 'userId', 'strategy']);
  const { tokens, userOfRequest } = userTokens(owner, given);

  return loader(async (req, res, context) => {
    const { id, tokenName } = await userOfRequest(req);
    await abortOnLeave(res, async (signal) => {
      const token = await tokens.get(tokenName);
      if (token === undefined) throw tokenExpired();
      try {
        const user = await loginApi.getUser(token, { signal });
        if (user.user_id !== id) {
          throw tokenExpired(
            'the stored access_token belongs to another user; check the option "userId" and the token store',
          );
        }
        context.user = user;
        keepPrivate(res, ['Cookie']);
      } catch (error) {
        if (isMarketgateError(error) && error.status === 401) {
          await tokens.forget(tokenName, token).catch(() => {});
        }
        throw error;
      }
    });
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
export function loginPathOption(owner: string, value: string | undefined): string | undefined {
  if (value !== undefined && safeReturnTo(value) === undefined) {
    throw wrongOption(owner, 'loginPath', 'must be a path on this site, as in "/login"');
  }
  return value;
}

/** The error middleware that redirects to a login by itself. */
export const loginRedirects = new WeakSet<object>();

type Router = object & { readonly stack?: readonly { readonly handle: Router }[] };

/** Whether a router of Express runs an error middleware of {@link loginRedirects}. */
const hasLoginRedirect = (router: Router | undefined): boolean =>
  Array.isArray(router?.stack) &&
  router.stack.some(({ handle }) => loginRedirects.has(handle) || hasLoginRedirect(handle));

/** The login path of a guard that names none; `undefined` where an `errorHandler` of the app redirects. */
function defaultLoginPath(req: IncomingMessage): string | undefined {
  type App = { _router?: Router; router?: Router; parent?: App };
  let { app } = req as { app?: App };
  for (; app !== undefined; app = app.parent) {
    // Express 4 has `_router`; its `router` throws.
    if (hasLoginRedirect(app._router ?? app.router)) return undefined;
  }
  return '/login';
}

/** Redirects a navigation to the login, and afterwards back to its page. Any other request gets the error. */
export function redirectToLogin(
  error: MarketgateError,
  loginPath: string | undefined,
  req: IncomingMessage,
  res: ServerResponse,
  next: (error?: unknown) => void,
): void {
  noStore(res);
  // On the login path itself, the redirect would loop.
  const isLoginPath = pathOf(req).split('?')[0] === loginPath?.split('?')[0];
  if (loginPath === undefined || isLoginPath || !isNavigation(req)) {
    next(error);
    return;
  }
  saveReturnTo(req, res)
    .then(
      () => redirect(res, loginPath),
      (failure: unknown) => next(asError(failure)),
    )
    .catch((thrown: unknown) => handleThrown(req, res, thrown));
}
