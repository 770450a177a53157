import { parseCookie } from 'cookie';
import type { Request, Response } from 'express';
import { safeReturnTo } from './return-to.js';
import { saveSession, sessionOf } from './session.js';

const KEY = 'marketgate:returnTo';
const COOKIE = 'marketgate.return_to';
/** As long as an attempt: who takes longer starts over anyway. */
const LIFETIME = 10 * 60_000;

const options = (req: Request) =>
  ({ httpOnly: true, sameSite: 'lax', secure: req.secure, path: '/' }) as const;

/**
 * Keeps the page on which a visitor was stopped until the login starts: in the session, or for apps
 * without one in a cookie. The cookie is not signed, for the value is checked when it is read, and
 * says nothing that the visitor could not type.
 */
export async function saveReturnTo(req: Request, res: Response): Promise<void> {
  const path = req.method === 'GET' ? safeReturnTo(req.originalUrl) : undefined;
  if (path === undefined) return;
  const session = sessionOf(req);
  if (session === undefined) {
    res.cookie(COOKIE, path, { ...options(req), maxAge: LIFETIME });
    return;
  }
  session[KEY] = path;
  await saveSession(session);
}

/** Takes the page out again; the session is written with the attempt that it goes into. */
export function takeSavedReturnTo(req: Request): string | undefined {
  const session = sessionOf(req);
  if (session !== undefined) {
    const path = safeReturnTo(session[KEY]);
    delete session[KEY];
    return path;
  }
  const path = parseCookie(req.headers?.cookie ?? '')[COOKIE];
  if (path !== undefined) (req as { res?: Response }).res?.clearCookie(COOKIE, options(req));
  return safeReturnTo(path);
}
