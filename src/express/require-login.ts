import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Request } from 'express';
import { LRUCache } from 'lru-cache';
import type { LoginApi } from '../clients/login-api.js';
import { warnOnce } from '../diagnostics.js';
import { isMarketgateError, MarketgateError } from '../errors.js';
import type { AccessToken } from '../model/access-token.js';
import type { UserInfo } from '../model/user-info.js';
import {
  type AppId,
  functionOf,
  idText,
  machineClock,
  readOptions,
  shaped,
  type Table,
  text,
  type Values,
  wrongOption,
} from '../options.js';
import {
  checkTokenStore,
  DEFAULT_NAME,
  GuardedTokenStore,
  type TokenStore,
  tokenNameFor,
} from '../stores/token-store.js';
import { isLoginRequest } from '../web/login-request.js';
import { isNavigation, pathnameOf, withoutQuery } from '../web/request.js';
import { noStore, redirect } from '../web/response.js';
import { keepPage, safeReturnTo } from '../web/return-to.js';
import { idOfUser, isLoggedIn, serializedUser, userOfApp } from '../web/user.js';
import { keepPrivate, type Middleware } from './context.js';
import { middleware, type Visit } from './middleware.js';

/**
 * Gives the `user_id` that the token of the logged-in user is stored under, or a promise of it. Where it gives nothing
 * (`undefined`, `null`, `false`, an empty string), or throws a TypeError because nobody is logged in, the visitor is
 * sent to the login.
 */
export type UserIdSource = (req: Request) => AppId | Promise<AppId>;

/** Options of {@link requireLogin}. */
export interface RequireLoginOptions {
  /** Path on this site that starts the login. Default: that of the app's `errorHandler`. */
  loginPath?: string | undefined;
}

const LOGIN_OPTIONS = { loginPath: pathOption } satisfies Table<RequireLoginOptions>;

/** Options of {@link loadUser}. */
export interface LoadUserOptions {
  /** Where the strategy puts the tokens. */
  tokenStore: TokenStore;
  /** The marketplace's `user_id` of the logged-in user. Default `req.user.id`. */
  userId?: UserIdSource | undefined;
  /** The `name` of the strategy, where that is not "marketplace". */
  strategy?: string | undefined;
}

/** Options of {@link requireAccessToken}. */
export interface RequireAccessTokenOptions extends RequireLoginOptions, LoadUserOptions {
  /** The current time in epoch milliseconds, for tests. Default `Date.now`. */
  clock?: (() => number) | undefined;
}

const TOKEN_OPTIONS = {
  tokenStore: (owner, _name, value) => new GuardedTokenStore(checkTokenStore(owner, value)),
  userId: functionOf<UserIdSource>(),
  strategy: text(DEFAULT_NAME),
} satisfies Table<LoadUserOptions>;

const ACCESS_OPTIONS = {
  ...LOGIN_OPTIONS,
  ...TOKEN_OPTIONS,
  clock: functionOf<() => number>(),
} satisfies Table<RequireAccessTokenOptions>;

/**
 * Lets only logged-in users into a route, by passport's `req.user`.
 *
 * A browser that navigates to a page is redirected to the login, and afterwards back to the page. Any other request
 * (scripts, forms, API clients) gets `login_required` (401) through `next`. Without a `loginPath`, all of them do, and
 * the app's `errorHandler` redirects to its own.
 *
 * @throws TypeError that names the wrong option, when it is made.
 *
 * @example
 * app.get('/account', requireLogin({ loginPath: '/login' }), (req, res) => res.json(req.user));
 */
export function requireLogin(options: RequireLoginOptions = {}): Middleware {
  const { loginPath } = readOptions('requireLogin', LOGIN_OPTIONS, options);
  return guard(loginPath, async ({ req, res, next }) => {
    if (!isLoggedIn(req)) throw loginRequired(req);
    keepPrivate(res, ['Cookie']);
    next();
  });
}

/**
 * Lets only logged-in users with a live access_token into a route (specification: "Limits", 1 hour). Works as
 * {@link requireLogin}; without a live token the error is `access_token_expired` (401), and `store_unavailable` (503)
 * when the store cannot be asked.
 *
 * @throws TypeError that names the wrong option, when it is made.
 */
export function requireAccessToken(options: RequireAccessTokenOptions): Middleware {
  const owner = 'requireAccessToken';
  const { loginPath, clock = machineClock, ...given } = readOptions(owner, ACCESS_OPTIONS, options);
  const loadToken = tokenLoader(owner, given);
  return guard(loginPath, async ({ req, res, next }) => {
    const { token } = await loadToken(req);
    if (clock() >= token.expiresAt) throw tokenExpired('the access_token of this user has expired');
    keepPrivate(res, ['Cookie']);
    next();
  });
}

/** What {@link loadUser} needs of a {@link LoginApi}. */
export type UserSource = Pick<LoginApi, 'getUser'>;

/**
 * Asks the service for the logged-in user (specification: get_user_info), and puts the answer at
 * `req.marketplace.user`. An answer is served for a minute; concurrent requests of one user share a request.
 *
 * Passes to `next`: `login_required` and `access_token_expired` (401), for which `errorHandler` redirects to the login;
 * `login_failed` (401), when the account is gone; `store_unavailable`, and the error when the service cannot be asked.
 * A token that the service no longer accepts is deleted from the store.
 *
 * @throws TypeError that names the wrong option, when it is made.
 */
export function loadUser(loginApi: UserSource, options: LoadUserOptions): Middleware {
  const owner = 'loadUser';
  shaped<UserSource>(['getUser'], 'a LoginApi')(owner, 'loginApi', loginApi);
  const loadToken = tokenLoader(owner, readOptions(owner, TOKEN_OPTIONS, options));
  // Visitors share a request, so it does not end when one of them leaves.
  const users = new LRUCache<string, UserInfo, AccessToken>({
    max: 1000,
    ttl: 60_000,
    perf: { now: () => performance.now() },
    fetchMethod: (_value, _stale, { context: token }) => loginApi.getUser(token),
    ignoreFetchAbort: true,
  });

  return guard(undefined, async ({ req, res, next, context }) => {
    const { id, token, forget } = await loadToken(req);
    const answer = users.forceFetch(token.value, { context: token });
    const user = await answer.catch(async (error: unknown) => {
      if (isMarketgateError(error) && error.status === 401) await forget().catch(() => {});
      throw error;
    });
    if (user.user_id !== id) {
      throw tokenExpired('"userId" gave an id that is not the user_id of the stored access_token');
    }
    context.user = { ...user };
    keepPrivate(res, ['Cookie']);
    next();
  });
}

/** Makes the function that finds the stored token of the logged-in user. */
function tokenLoader(
  owner: string,
  { tokenStore: tokens, userId, strategy }: Values<typeof TOKEN_OPTIONS>,
) {
  const userIdOf = idOfUser<Request, AppId>(
    userId ?? ((req) => (userOfApp(req) as { id?: string } | undefined)?.id),
  );
  const tokenNameOf = tokenNameFor(strategy);
  return async (req: Request) => {
    const id = idText(owner, 'userId', await userIdOf(req));
    if (id === undefined) {
      // An app's own `userId` gives nothing for a user who has logged in without the marketplace.
      if (userId !== undefined || !isLoggedIn(req)) throw loginRequired(req);
      throw new TypeError(
        `${owner}: option "userId" found no id of the logged-in user; it must give the user_id that the token is stored under (default: req.user.id)`,
      );
    }
    const tokenName = tokenNameOf(id);
    const token = await tokens.get(tokenName);
    if (token === undefined) {
      throw tokenExpired('no access_token is stored under the id that "userId" gives');
    }
    return { id, token, forget: () => tokens.forget(tokenName, token) };
  };
}

function loginRequired(req: Request): MarketgateError {
  if (!isLoggedIn(req) && serializedUser(req) !== undefined) {
    warnOnce('MARKETGATE_NO_PASSPORT_SESSION');
  }
  const message = 'nobody is logged in, and this route needs somebody; log in first';
  return new MarketgateError('login_required', message);
}

const tokenExpired = (why: string): MarketgateError =>
  new MarketgateError('access_token_expired', `${why}; the visitor must log in again`);

/** @throws TypeError that names the option, unless it is a path on this site. */
export function pathOption(owner: string, name: string, value: unknown): string | undefined {
  if (value === undefined) return undefined;
  if (typeof value === 'string' && safeReturnTo(value) !== undefined) return value;
  throw wrongOption(owner, name, 'must be a path on this site, as in "/login"');
}

/** Makes a guard, which redirects to its `loginPath` if it has one. `errorHandler` answers all that it throws. */
const guard = (loginPath: string | undefined, run: (visit: Visit) => Promise<void>): Middleware =>
  middleware(async (visit) => {
    try {
      await run(visit);
    } catch (error) {
      if (loginPath === undefined) throw error;
      const given = blameGuard(error, loginPath, visit.req);
      if (await redirectToLogin(given, loginPath, visit.req, visit.res)) return;
      throw given;
    }
  });

/** Whether logging in helps. It does not where {@link blameGuard} has made the error, whose status is 500. */
const needsLogin = (error: unknown): boolean =>
  isMarketgateError(error) &&
  error.status === 401 &&
  (error.code === 'login_required' || error.code === 'access_token_expired');

/** The error of a guard, which says so where the guard keeps visitors from the path that begins their login. */
export function blameGuard<E>(
  error: E,
  loginPath: string,
  req: IncomingMessage,
): E | MarketgateError {
  // The strategy itself refuses prefetches and frames with the same status.
  if (!needsLogin(error) || isLoginRequest(req)) return error;
  if (pathnameOf(req) !== withoutQuery(loginPath)) return error;
  return new MarketgateError(
    'login_failed',
    `nobody can log in, because a guard stands above its own loginPath "${loginPath}"; put the routes of the login, and of its callback, above the guard`,
    {
      status: 500,
      detail: 'Logging in does not work on this site at the moment. Please tell the site.',
    },
  );
}

/**
 * Redirects a navigation to the login if the error asks for one, and afterwards back to its page.
 *
 * @returns whether it has responded. @throws when the session cannot be saved.
 */
export async function redirectToLogin(
  error: unknown,
  loginPath: string,
  req: IncomingMessage,
  res: ServerResponse,
): Promise<boolean> {
  if (!needsLogin(error) || isLoginRequest(req) || !isNavigation(req)) return false;
  await keepPage(req, res);
  noStore(res);
  redirect(res, loginPath);
  return true;
}
