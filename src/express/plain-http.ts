import type { IncomingMessage, ServerResponse } from 'node:http';
import { stringifySetCookie } from 'cookie';
import type { Request, Response } from 'express';

// What Express adds to a request and its response, made of Node's own: the middleware and the strategy
// also run where there is no Express.

/** The path and query that the client sent; inside a mounted router, `req.url` is a part of it. */
export const pathOf = (req: IncomingMessage & { readonly originalUrl?: string }): string =>
  req.originalUrl ?? req.url ?? '/';

/** The query: parsed by the framework, or here. A name that was given several times has an array. */
export function queryOf(req: Request): Record<string, unknown> {
  const parsed: unknown = req.query;
  if (typeof parsed === 'object' && parsed !== null) return parsed as Record<string, unknown>;
  const params = new URLSearchParams(/\?.*/.exec(req.url ?? '')?.[0]);
  const entry = (name: string): [string, unknown] => {
    const values = params.getAll(name);
    return [name, values.length > 1 ? values : values[0]];
  };
  return Object.fromEntries([...params.keys()].map(entry));
}

/**
 * The response to a request, which passport does not give to a strategy. Express, Koa and Nest put it on
 * the request; elsewhere Node knows the one that its socket waits for.
 */
export function responseOf(req: Request): Response | undefined {
  const { res, raw, socket } = req as Request & {
    res?: Response;
    raw?: unknown;
    socket?: { _httpMessage?: Response & { req?: object } };
  };
  if (res !== undefined) return res;
  const waiting = socket?._httpMessage;
  // With pipelining it can be the response to an earlier request.
  const isOurs = waiting?.req === req || (waiting !== undefined && waiting.req === raw);
  return isOurs ? waiting : undefined;
}

/** @throws Error that says what the app can do. */
export function requiredResponse(req: Request): Response {
  const res = responseOf(req);
  if (res !== undefined) return res;
  throw new Error(
    'marketgate: this request has no response to answer with; set req.res = res before passport',
  );
}

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
