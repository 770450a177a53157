import type { IncomingMessage, ServerResponse } from 'node:http';
import { clearCookie, cookieOf, setCookie } from './cookies.js';
import { saveSession, sessionOf } from './express-session.js';
import { isLoginRequest, LOGIN_LIFETIME, note, notesOf } from './login-request.js';
import { pathOf } from './request.js';
import { asciiPath } from './response.js';
import { isLoggedIn } from './user.js';

/** Where the page that a login leads to is kept until then: in the session, or else in a cookie. */
const KEY = 'marketgate:returnTo';
const COOKIE = 'marketgate.return_to';
/** The most characters of a path that is kept, as browsers show it: one letter of any script is one. */
const MAX_LENGTH = 200;

/**
 * Gives the value if it is a path on this site, else `undefined`. Refuses every value that any browser could
 * read as another site: `//evil`, `/\evil`, `https:evil`, anything with a backslash or a control character.
 * Nothing is repaired, because a repaired attack is still an attack.
 */
export function safeReturnTo(value: unknown): string | undefined {
  // Twelve bytes can show one character.
  if (typeof value !== 'string' || value.length > 12 * MAX_LENGTH) return undefined;
  if (!value.startsWith('/') || value.startsWith('//')) return undefined;
  if (/[\\\p{Cc}\p{Cs}\p{Zl}\p{Zp}]/u.test(value)) return undefined;
  const here = 'http://here.invalid';
  const url = new URL(value, here);
  // Normalised before a redirect, "/.//evil" becomes "//evil".
  return url.origin === here && !url.pathname.startsWith('//') ? value : undefined;
}

/** The path as browsers show it: with the letters of other scripts, and each escape of ASCII as it is. */
export const shownPath = (path: string): string =>
  path.replace(/(%[89a-f][\da-f])+/gi, (bytes) => {
    try {
      return decodeURIComponent(bytes);
    } catch {
      return bytes;
    }
  });

/**
 * Where the visitor wanted to go before the login: the `returnTo` given to `authenticate('marketplace', { returnTo })`,
 * or the page where `requireLogin` stopped the visitor, up to 200 characters as browsers show them. For the handler of the
 * callback. Same-origin only; `undefined` when there is none.
 *
 * It also works after the login of another strategy (a password) that was given `keepSessionInfo: true`. The path is
 * then taken out of the session.
 *
 * @example
 * app.get('/callback', login, (req, res) => res.redirect(returnTo(req) ?? '/account'));
 */
export function returnTo(req: object): string | undefined {
  const session = sessionOf(req);
  const isOfAnother = !isLoginRequest(req) && isLoggedIn(req);
  if (isOfAnother && session !== undefined && KEY in session) {
    note(req, { returnTo: safeReturnTo(session[KEY]) });
    delete session[KEY];
  }
  return safeReturnTo(notesOf(req).returnTo);
}

/**
 * Keeps where the visitor wants to go until a login is completed, and saves the session; in a cookie for apps without one.
 * A path that is too long, or none, takes the one before it away, which the visitor has left. The cookie is not signed: its
 * value is checked when it is read, and the visitor could type any such path.
 */
export async function keepReturnTo(
  req: IncomingMessage,
  res: ServerResponse,
  path: string | undefined,
): Promise<void> {
  const text = shownPath(path ?? '');
  const kept = [...text].length <= MAX_LENGTH ? path : undefined;
  const session = sessionOf(req);
  if (session === undefined) {
    if (kept !== undefined) setCookie(req, res, COOKIE, text, LOGIN_LIFETIME);
    else removeReturnTo(req, res);
  } else if (session[KEY] !== kept) {
    if (kept !== undefined) session[KEY] = kept;
    else delete session[KEY];
    await saveSession(session);
  }
}

/** Keeps the page that requires a login. */
export async function keepPage(req: IncomingMessage, res: ServerResponse): Promise<void> {
  if (req.method === 'GET') await keepReturnTo(req, res, safeReturnTo(pathOf(req)));
}

/** The path that is kept. */
export function readReturnTo(req: IncomingMessage): string | undefined {
  const session = sessionOf(req);
  if (session !== undefined) return safeReturnTo(session[KEY]);
  const path = safeReturnTo(cookieOf(req, COOKIE));
  return path && asciiPath(path);
}

/** Removes the path that is kept. The session is not saved. */
export function removeReturnTo(req: IncomingMessage, res: ServerResponse): void {
  const session = sessionOf(req);
  if (session !== undefined) delete session[KEY];
  else if (cookieOf(req, COOKIE) !== undefined) clearCookie(req, res, COOKIE);
}
