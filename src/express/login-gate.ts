import type { NextFunction, Request, Response } from 'express';
import type { MarketgateErrorCode } from '../errors.js';
import { MarketgateError } from '../errors.js';
import { textOption, wrongOption } from '../options.js';
import { DEFAULT_NAME, tokenNameFor } from '../stores/token-store.js';
import { keepNowhere } from './cache-headers.js';
import { isNavigation } from './navigation.js';
import { safeReturnTo, saveReturnTo } from './return-to.js';

/** Who the visitor is to the app: the id that tokens are stored under. */
export type UserIdSource = (req: Request) => string | undefined;

/** The id of passport's user, if that has one. */
export const userIdOfPassport: UserIdSource = (req) => {
  const id: unknown = (req.user as { id?: unknown } | undefined)?.id;
  return typeof id === 'number' ? String(id) : (id as string | undefined);
};

/**
 * The user's id by the app's own source or passport's.
 * @throws MarketgateError `login_required` when nobody is logged in. TypeError when somebody is, but
 * no id can be found: a mistake of the app, which must not look like a visitor's.
 */
export function requiredUserId(owner: string, source: UserIdSource, req: Request): string {
  const id: unknown = source(req);
  if (typeof id === 'string' && id !== '') return id;
  if (!isLoggedIn(req)) throw loginError('login_required');
  throw new TypeError(
    `${owner}: option "userId" found no id of the logged-in user; it must give the user_id that the token is stored under (default: req.user.id)`,
  );
}

/** What a user's token is stored under: see the option `name` of MarketplaceStrategy. */
export function tokenNameOption(
  owner: string,
  strategy: string | undefined,
): (userId: string) => string {
  return tokenNameFor(textOption(owner, 'strategy', strategy ?? DEFAULT_NAME));
}

/** Whether passport has a user for this request. */
export const isLoggedIn = (req: Request): boolean => Boolean(req.user);

const MESSAGES = {
  login_required: 'nobody is logged in, and this route needs somebody',
  access_token_expired: 'the access_token of this user is over; the visitor must log in again',
} as const;

/** The error for a visitor who has to log in. */
export const loginError = (code: MarketgateErrorCode & keyof typeof MESSAGES): MarketgateError =>
  new MarketgateError(code, MESSAGES[code]);

/** @throws TypeError that names the option, unless it is a path on this site. */
export function loginPathOption(owner: string, value: string | undefined): string | undefined {
  if (value !== undefined && safeReturnTo(value) === undefined) {
    throw wrongOption(owner, 'loginPath', 'must be a path on this site, as in "/login"');
  }
  return value;
}

/**
 * Sends a browser to the login, and back to where it was afterwards; everything else gets the error.
 */
export function sendToLogin(
  error: MarketgateError,
  loginPath: string | undefined,
  req: Request,
  res: Response,
  next: NextFunction,
): void {
  keepNowhere(res);
  // On the path of the login itself a redirect would never end.
  const isThere = req.originalUrl.split('?')[0] === loginPath?.split('?')[0];
  if (loginPath === undefined || isThere || !isNavigation(req)) {
    next(error);
    return;
  }
  saveReturnTo(req, res).then(() => {
    res.redirect(loginPath);
  }, next);
}
