import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Request } from 'express';
import type { LoginApi } from '../clients/login-api.js';
import {
  asError,
  isMarketgateError,
  MarketgateError,
  type MarketgateErrorCode,
} from '../errors.js';
import { functionOption, knownOptions, shapedOption, textOption, wrongOption } from '../options.js';
import {
  checkTokenStore,
  DEFAULT_NAME,
  GuardedTokenStore,
  type TokenStore,
  tokenNameFor,
} from '../stores/token-store.js';
import { contextOf, keepPrivate, type Middleware, noStore } from './context.js';
import { loader, whileThere } from './load.js';
import { isNavigation, pathOf, redirect } from './plain-http.js';
import { safeReturnTo, saveReturnTo } from './return-to.js';

/** Gives the id of the logged-in user that the token is stored under. */
export type UserIdSource = (req: Request) => string | undefined;

/** Options of {@link requireLogin}. */
export interface RequireLoginOptions {
  /** Path on this site that starts the login. Default `/login`. */
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
  /** The present as epoch milliseconds. Default `Date.now`. For tests. */
  clock?: (() => number) | undefined;
}

/**
 * Opens a route to visitors who are logged in, by passport's `req.user`.
 *
 * A browser that goes to a page is sent to the login, and comes back to where it was; everything else
 * (scripts, forms, API clients) gets `login_required` (401) through `next`.
 *
 * @throws TypeError that names the wrong option, when it is made.
 */
export function requireLogin(options: RequireLoginOptions = {}): Middleware {
  const given = knownOptions('requireLogin', options, ['loginPath']);
  const loginPath = loginPathOption('requireLogin', given.loginPath) ?? '/login';
  return (req, res, next) => {
    contextOf(req, res);
    if (!isLoggedIn(req)) {
      sendToLogin(loginError('login_required'), loginPath, req, res, next);
      return;
    }
    keepPrivate(res, ['Cookie']);
    next();
  };
}

/**
 * Opens a route to logged-in visitors whose access_token has not expired (specification: "Limits", 1
 * hour). As {@link requireLogin}, and: an expired token is deleted, and counts as not logged in
 * (`access_token_expired`, 401). When the store cannot be asked, nobody is let in:
 * `store_unavailable` (503).
 *
 * @throws TypeError that names the wrong option, when it is made.
 */
export function requireAccessToken(options: RequireAccessTokenOptions): Middleware {
  const owner = 'requireAccessToken';
  const names = ['tokenStore', 'loginPath', 'userId', 'strategy', 'clock'] as const;
  const given = knownOptions(owner, options, names);
  const { tokens, nameOf } = userTokens(owner, given);
  const loginPath = loginPathOption(owner, given.loginPath) ?? '/login';
  const clock = functionOption(owner, 'clock', given.clock) ?? Date.now;

  async function check(req: Request): Promise<void> {
    const { name } = nameOf(req);
    const token = await tokens.get(name);
    if (token !== undefined && clock() < token.expiresAt) return;
    if (token !== undefined) await tokens.forget(name, token);
    throw loginError('access_token_expired');
  }

  return (req, res, next) => {
    contextOf(req, res);
    check(req as Request).then(
      () => {
        keepPrivate(res, ['Cookie']);
        next();
      },
      (error: unknown) => {
        if (!isMarketgateError(error) || error.status !== 401) next(asError(error));
        else sendToLogin(error, loginPath, req, res, next);
      },
    );
  };
}

/**
 * Asks the service for the logged-in user (specification: get_user_info), and puts the answer at
 * `req.marketplace.user`.
 *
 * To `next` go `login_required` and `access_token_expired` (401), which `errorHandler({ loginPath })`
 * turns into the way through the login and back; `login_failed` (401), when the account is gone;
 * `store_unavailable` and the errors of a service that cannot be asked. A token that the service does
 * not accept any more is deleted from the store.
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
  const { tokens, nameOf } = userTokens(owner, given);

  return loader(async (req, res, context) => {
    const { id, name } = nameOf(req);
    await whileThere(res, async (signal) => {
      const token = await tokens.get(name);
      if (token === undefined) throw loginError('access_token_expired');
      try {
        const user = await loginApi.getUser(token, { signal });
        // With somebody else's token, nobody is shown as another user.
        if (user.user_id !== id) throw loginError('access_token_expired');
        context.user = user;
      } catch (error) {
        if (isMarketgateError(error) && error.status === 401) {
          // The visitor must log in, also when the token cannot be deleted.
          await tokens.forget(name, token).catch(() => {});
        }
        throw error;
      }
    });
  });
}

/** The tokens of a strategy, and under which name the one of a request's user is stored. */
function userTokens(owner: string, options: LoadUserOptions) {
  const tokens = new GuardedTokenStore(checkTokenStore(owner, options.tokenStore));
  const userIdOf = functionOption(owner, 'userId', options.userId) ?? userIdOfPassport;
  const name = tokenNameFor(textOption(owner, 'strategy', options.strategy ?? DEFAULT_NAME));
  /** @throws MarketgateError `login_required`; TypeError for a logged-in user without an id. */
  const nameOf = (req: Request): { id: string; name: string } => {
    const id: unknown = userIdOf(req);
    if (typeof id === 'string' && id !== '') return { id, name: name(id) };
    if (!isLoggedIn(req)) throw loginError('login_required');
    // A mistake of the app, which must not look like a visitor's.
    throw new TypeError(
      `${owner}: option "userId" found no id of the logged-in user; it must give the user_id that the token is stored under (default: req.user.id)`,
    );
  };
  return { tokens, nameOf };
}

const userIdOfPassport: UserIdSource = (req) => {
  const id: unknown = (req.user as { id?: unknown } | undefined)?.id;
  return typeof id === 'number' ? String(id) : (id as string | undefined);
};

const isLoggedIn = (req: object): boolean => Boolean((req as { user?: unknown }).user);

const MESSAGES = {
  login_required: 'nobody is logged in, and this route needs somebody',
  access_token_expired: 'the access_token of this user has expired; the visitor must log in again',
} as const;

const loginError = (code: MarketgateErrorCode & keyof typeof MESSAGES): MarketgateError =>
  new MarketgateError(code, MESSAGES[code]);

/** @throws TypeError that names the option, unless it is a path on this site. */
export function loginPathOption(owner: string, value: string | undefined): string | undefined {
  if (value !== undefined && safeReturnTo(value) === undefined) {
    throw wrongOption(owner, 'loginPath', 'must be a path on this site, as in "/login"');
  }
  return value;
}

/** Sends a browser to the login, and back to where it was afterwards; everything else gets the error. */
export function sendToLogin(
  error: MarketgateError,
  loginPath: string | undefined,
  req: IncomingMessage,
  res: ServerResponse,
  next: (error?: unknown) => void,
): void {
  noStore(res);
  // On the path of the login itself a redirect would never end.
  const isThere = pathOf(req).split('?')[0] === loginPath?.split('?')[0];
  if (loginPath === undefined || isThere || !isNavigation(req)) next(error);
  else saveReturnTo(req, res).then(() => redirect(res, loginPath), next);
}
