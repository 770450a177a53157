import type { IncomingMessage, ServerResponse } from 'node:http';
import { clearCookie, cookieOf, setCookie } from './cookies.js';
import { note, notesOf } from './login-request.js';
import { pathOf } from './request.js';
import { requiredResponse } from './response.js';
import { saveSession, sessionOf } from './session.js';
import { isLoggedIn } from './user.js';

/** How long a visitor can take to log in, in milliseconds. */
export const LOGIN_LIFETIME = 10 * 60_000;
const MAX_LENGTH = 2048;
/** Where the page that required a login is saved: in the session, or else in a cookie. */
const KEY = 'marketgate:returnTo';
const COOKIE = 'marketgate.return_to';
/** The longest path in the cookie, encoded. With the strategy's cookie it fits in 1 kB: proxies refuse long headers. */
const MAX_COOKIE_VALUE = 210;
/** The longest path in a session, as JSON. With what the strategy keeps it fits in 1 kB: some sessions are a cookie. */
const MAX_SESSION_VALUE = 350;

/**
 * Gives the value if it is a path on this site, else `undefined`. Refuses every value that any browser could
 * read as another site: `//evil`, `/\evil`, `https:evil`, anything with a backslash or a control character.
 * Nothing is repaired, because a repaired attack is still an attack.
 */
export function safeReturnTo(value: unknown): string | undefined {
  if (typeof value !== 'string' || value.length > MAX_LENGTH) return undefined;
  if (!value.startsWith('/') || value.startsWith('//')) return undefined;
  if (/[\\\p{Cc}\p{Zl}\p{Zp}]/u.test(value)) return undefined;
  const here = 'http://here.invalid';
  const url = new URL(value, here);
  // Normalised before a redirect, "/.//evil" becomes "//evil".
  return url.origin === here && !url.pathname.startsWith('//') ? value : undefined;
}

/**
 * Where the visitor wanted to go before the login: the `returnTo` given to `authenticate('marketplace', { returnTo })`,
 * or the page where `requireLogin` stopped the visitor. For the handler of the callback. Same-origin only; `undefined`
 * when there is none.
 *
 * It also works after the login of another strategy (a password) that was given `keepSessionInfo: true`. The path is
 * then taken out of the session.
 *
 * @example
 * app.get('/callback', login, (req, res) => res.redirect(returnTo(req) ?? '/account'));
 */
export function returnTo(req: object): string | undefined {
  const session = sessionOf(req);
  const isOpen = notesOf(req).returnTo === undefined && isLoggedIn(req);
  if (isOpen && session !== undefined && KEY in session) {
    note(req, { returnTo: safeReturnTo(session[KEY]) });
    delete session[KEY];
  }
  return safeReturnTo(notesOf(req).returnTo);
}

/**
 * Saves the page that required a login, until a login begins: in the session, or in a cookie for apps without one. A path
 * that is too long is dropped, with the one before it. The cookie is not signed: its value is checked when it is read, and
 * the visitor could type any such path.
 */
export async function saveReturnTo(req: IncomingMessage, res: ServerResponse): Promise<void> {
  const path = req.method === 'GET' ? safeReturnTo(pathOf(req)) : undefined;
  if (path === undefined) return;
  const session = sessionOf(req);
  if (session === undefined) {
    const isShort = encodeURIComponent(path).length <= MAX_COOKIE_VALUE;
    if (isShort) setCookie(req, res, COOKIE, path, LOGIN_LIFETIME);
    else if (cookieOf(req, COOKIE) !== undefined) clearCookie(req, res, COOKIE);
    return;
  }
  if (Buffer.byteLength(JSON.stringify(path)) <= MAX_SESSION_VALUE) session[KEY] = path;
  else if (KEY in session) delete session[KEY];
  else return;
  await saveSession(session);
}

/** The saved page. */
export function readReturnTo(req: IncomingMessage): string | undefined {
  const session = sessionOf(req);
  return safeReturnTo(session === undefined ? cookieOf(req, COOKIE) : session[KEY]);
}

/** Removes the saved page. The session is not saved. */
export function removeReturnTo(req: IncomingMessage): void {
  const session = sessionOf(req);
  if (session !== undefined) delete session[KEY];
  else if (cookieOf(req, COOKIE) !== undefined) clearCookie(req, requiredResponse(req), COOKIE);
}
