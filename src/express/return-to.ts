import type { IncomingMessage, ServerResponse } from 'node:http';
import { parseCookie } from 'cookie';
import type { Request } from 'express';
import { clearCookie, pathOf, responseOf, setCookie } from './plain-http.js';
import { saveSession, sessionOf } from './session.js';

const LONGEST = 2048;
// Registered, because the strategy and the app can come from the two builds of the package.
const RETURN_TO = Symbol.for('marketgate.returnTo');

type Marked = { [RETURN_TO]?: string | undefined };

/**
 * A path on this site, or `undefined`. The whole value is dropped when it leads elsewhere or could be
 * understood so by some browser: `//evil`, `/\evil`, `https:evil`, anything with a backslash or a
 * control character. Nothing is repaired, for a repaired attack is still one.
 */
export function safeReturnTo(value: unknown): string | undefined {
  if (typeof value !== 'string' || value.length > LONGEST) return undefined;
  if (!value.startsWith('/') || value.startsWith('//')) return undefined;
  if (/[\\\p{Cc}\p{Zl}\p{Zp}]/u.test(value)) return undefined;
  const here = 'http://here.invalid';
  if (!URL.canParse(value, here)) return undefined;
  const url = new URL(value, here);
  // "/.//evil" becomes "//evil" when a program normalises it before it redirects.
  return url.origin === here && !url.pathname.startsWith('//') ? value : undefined;
}

/**
 * Where the visitor wanted to go before the login: the `returnTo` given to
 * `authenticate('marketplace', { returnTo })`. For the handler after the callback; same-origin only,
 * `undefined` when there is none. It does not lie in the session, so passport's regeneration of it
 * loses nothing.
 */
export function returnTo(req: object): string | undefined {
  return safeReturnTo((req as Marked)[RETURN_TO]);
}

/** Leaves the path for {@link returnTo}, with the request that the callback came in. */
export function attachReturnTo(req: object, path: string | undefined): void {
  // Most logins have none, and a request gets a new shape with every property.
  if (path !== undefined || RETURN_TO in req) (req as Marked)[RETURN_TO] = path;
}

const KEY = 'marketgate:returnTo';
const COOKIE = 'marketgate.return_to';
/** As long as an attempt: who takes longer starts over anyway. */
const LIFETIME = 10 * 60_000;

/**
 * Keeps the page on which a visitor was stopped until the login starts: in the session, or for apps
 * without one in a cookie. The cookie is not signed, for the value is checked when it is read, and
 * says nothing that the visitor could not type.
 */
export async function saveReturnTo(req: IncomingMessage, res: ServerResponse): Promise<void> {
  const path = req.method === 'GET' ? safeReturnTo(pathOf(req)) : undefined;
  if (path === undefined) return;
  const session = sessionOf(req);
  if (session === undefined) {
    setCookie(req, res, COOKIE, path, LIFETIME);
    return;
  }
  session[KEY] = path;
  await saveSession(session);
}

/** Takes the page out again; the session is written with the attempt that it goes into. */
export function takeSavedReturnTo(req: IncomingMessage): string | undefined {
  const session = sessionOf(req);
  if (session !== undefined) {
    const path = safeReturnTo(session[KEY]);
    delete session[KEY];
    return path;
  }
  const path = parseCookie(req.headers?.cookie ?? '')[COOKIE];
  const res = responseOf(req as Request);
  if (path !== undefined && res !== undefined) clearCookie(req, res, COOKIE);
  return safeReturnTo(path);
}
