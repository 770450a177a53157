import type { IncomingMessage, ServerResponse } from 'node:http';
import { parse, serialize } from 'cookie';
import { isSecure } from './request.js';

/** A cookie that the browser has sent. */
export const cookieOf = (req: IncomingMessage, name: string): string | undefined =>
  parse(req.headers.cookie ?? '')[name];

/**
 * A name of which several cookies came, as after a change of a cookie's domain or path. The first one counts, and that is
 * often the older one.
 *
 * @param like what a cookie looks like, with its name, as in `name=value`.
 */
export function repeatedCookie(req: IncomingMessage, like: RegExp): string | undefined {
  const pairs = (req.headers.cookie ?? '').split(';').map((pair) => pair.trim());
  const names = pairs.filter((pair) => like.test(pair)).map((pair) => pair.replace(/=.*/s, ''));
  return names.find((name, i) => names.indexOf(name) !== i);
}

/**
 * The line that sets a cookie which scripts cannot read. The browser sends it when another site links here, but not
 * with requests that another site's page makes.
 *
 * @param lifetime in milliseconds.
 */
export const cookieLine = (
  req: IncomingMessage,
  name: string,
  value: string,
  lifetime: number,
): string =>
  serialize(name, value, {
    maxAge: Math.floor(lifetime / 1000),
    httpOnly: true,
    sameSite: 'lax',
    secure: isSecure(req),
    path: '/',
  });

/** Sets a cookie as {@link cookieLine} has it, in place of one of this name that the response sets already. */
export function setCookie(
  req: IncomingMessage,
  res: ServerResponse,
  name: string,
  value: string,
  lifetime: number,
): void {
  const others = [res.getHeader('Set-Cookie') ?? []].flat().map(String);
  const line = cookieLine(req, name, value, lifetime);
  res.setHeader('Set-Cookie', [...others.filter((other) => !other.startsWith(`${name}=`)), line]);
}

/** Deletes a cookie that {@link setCookie} has set. */
export const clearCookie = (req: IncomingMessage, res: ServerResponse, name: string): void =>
  setCookie(req, res, name, '', 0);
