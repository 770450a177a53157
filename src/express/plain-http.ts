import type { IncomingMessage, ServerResponse } from 'node:http';
import { stringifySetCookie } from 'cookie';

// What Express adds to a request and its response, made of Node's own: the middleware and the strategy
// also run where there is no Express.

/** The path and query that the client sent; inside a mounted router, `req.url` is a part of it. */
export const pathOf = (req: IncomingMessage & { readonly originalUrl?: string }): string =>
  req.originalUrl ?? req.url ?? '/';

/** Whether the client uses https; Express's `req.secure` also knows trusted proxies. */
export const isSecure = (req: IncomingMessage & { readonly secure?: boolean }): boolean =>
  req.secure ?? (req.socket as { encrypted?: boolean } | undefined)?.encrypted === true;

/**
 * Sets a cookie that no script reads, and that comes along when another site sends the browser here,
 * but not with what another site loads.
 *
 * @param lifetime in milliseconds.
 */
export function setCookie(
  req: IncomingMessage,
  res: ServerResponse,
  name: string,
  value: string,
  lifetime: number,
): void {
  const cookie = stringifySetCookie({
    name,
    value,
    maxAge: Math.floor(lifetime / 1000),
    expires: new Date(Date.now() + lifetime),
    httpOnly: true,
    sameSite: 'lax',
    secure: isSecure(req),
    path: '/',
  });
  const others = res.getHeader('Set-Cookie') ?? [];
  res.setHeader('Set-Cookie', [others, cookie].flat().map(String));
}

/** Deletes a cookie that {@link setCookie} has set. */
export const clearCookie = (req: IncomingMessage, res: ServerResponse, name: string): void =>
  setCookie(req, res, name, '', 0);
