import type { IncomingMessage, ServerResponse } from 'node:http';
import { parse } from 'node:querystring';
import { stringifySetCookie } from 'cookie';
import type { Request, Response } from 'express';
import { asError, isMarketgateError } from '../errors.js';
import { redact } from '../http/failure.js';

// What Express adds to a request and its response, made from those of Node.js: the middleware and the
// strategy also run without Express.

/** The path and query that the client sent. Inside a mounted router, `req.url` is only a part. */
export const pathOf = (req: IncomingMessage & { readonly originalUrl?: string }): string =>
  req.originalUrl ?? req.url ?? '/';

/** The purchase codes of requests that can have theirs in the path. */
const codes = new WeakMap<object, string>();

/** Keeps a purchase code out of {@link loggedPath}. Most requests have theirs elsewhere, and are not remembered. */
export function hideCode(req: IncomingMessage, code: unknown): void {
  const path = pathOf(req);
  if (typeof code === 'string' && (path.includes(code) || path.includes('%'))) codes.set(req, code);
}

/** The path for a log line: without the query, the purchase code, and whatever looks like a secret. */
export const loggedPath = (req: IncomingMessage): string =>
  pathOf(req)
    .replace(/[?#].*/s, '')
    .split('/')
    .map((part) => redact(part, [codes.get(req) ?? []].flat()))
    .join('/');

/**
 * The query, parsed by the framework or here: Express gives an empty one with `app.set('query parser', false)`. A
 * repeated name has an array of values.
 */
export function queryOf(req: Request): Record<string, unknown> {
  const parsed: unknown = req.query;
  const isObject = typeof parsed === 'object' && parsed !== null;
  if (isObject && Object.keys(parsed).length > 0) return parsed as Record<string, unknown>;
  return parse(/\?(.*)/.exec(String(req.url))?.[1] ?? '');
}

/**
 * The response to a request, which passport does not pass to a strategy. Express, Koa and Nest set it on the
 * request. Elsewhere it is the response that Node.js has assigned to the socket.
 */
export function responseOf(req: Request): Response | undefined {
  const { res, raw, socket } = req as Request & {
    res?: Response;
    raw?: unknown;
    socket?: { _httpMessage?: Response & { req?: object } };
  };
  if (res !== undefined) return res;
  const assigned = socket?._httpMessage;
  const assignedReq = assigned?.req;
  // With pipelining, the socket can be assigned to the response of an earlier request.
  const isOurs = assignedReq !== undefined && (assignedReq === req || assignedReq === raw);
  return isOurs ? assigned : undefined;
}

/** @throws Error that says what the app can do. */
export function requiredResponse(req: Request): Response {
  const res = responseOf(req);
  if (res !== undefined) return res;
  throw new Error(
    'marketgate: this request has no response to answer with; set req.res = res before passport',
  );
}

/**
 * Handles what an app's callback or `next` has thrown, which would end the process. On Express it goes to the app's
 * error handling. Elsewhere nothing else catches it, so it is logged, and the visitor gets a plain 500.
 */
export function handleThrown(req: object, res: ServerResponse | undefined, error: unknown): void {
  const { next } = req as { next?: unknown };
  if (typeof next === 'function') {
    next(asError(error));
    return;
  }
  try {
    console.error(error);
  } catch {
    // A patched console can throw too.
  }
  if (res === undefined || res.writableEnded) return;
  if (res.headersSent) {
    // An end would make the beginning look like all of the response.
    res.destroy();
    return;
  }
  // The response of a WebSocket upgrade has fewer methods.
  for (const name of res.getHeaderNames?.() ?? []) res.removeHeader(name);
  res.statusCode = 500;
  res.end?.('Internal Server Error');
}

/** Whether the client uses https; Express's `req.secure` also knows trusted proxies. */
export const isSecure = (req: IncomingMessage & { readonly secure?: boolean }): boolean =>
  req.secure ?? (req.socket as { encrypted?: boolean } | undefined)?.encrypted === true;

/** The longest value of a cookie. Browsers drop one of more than 4,096 bytes, name and attributes included. */
export const MAX_COOKIE = 3800;

/**
 * Sets a cookie that scripts cannot read. The browser sends it when another site links here, but not with
 * requests that another site's page makes.
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
  // Replaces a cookie of this name that the response sets already.
  const others = [res.getHeader('Set-Cookie') ?? []].flat().map(String);
  res.setHeader('Set-Cookie', [...others.filter((other) => !other.startsWith(`${name}=`)), cookie]);
}

/** Deletes a cookie that {@link setCookie} has set. */
export const clearCookie = (req: IncomingMessage, res: ServerResponse, name: string): void =>
  setCookie(req, res, name, '', 0);

/** Keeps a refusal out of every cache, because the visitor can come back with a code or logged in. */
export function noStore(res: ServerResponse): void {
  // The app can have responded meanwhile, for example after a timeout.
  if (!res.headersSent) res.setHeader('Cache-Control', 'no-store');
}

/** {@link noStore}, and when to come back, if the error of the refusal says so. */
export function refuseWith(res: ServerResponse, error: unknown): void {
  noStore(res);
  if (!isMarketgateError(error) || error.retryAfter === undefined || res.headersSent) return;
  res.setHeader('Retry-After', Math.ceil(error.retryAfter));
}

/** Sends the browser to a path on this site, unless the app has responded meanwhile. */
export function redirect(res: ServerResponse, path: string): void {
  if (res.headersSent) return;
  res.statusCode = 302;
  // A header holds ASCII only.
  res.setHeader('Location', path.replace(/[^!-~]+/g, encodeURI));
  res.end();
}

/**
 * Whether a browser navigates to a page, so that a redirect is the right response. False for a script's
 * `fetch` and for clients that prefer JSON.
 */
export function isNavigation(req: IncomingMessage): boolean {
  if (isPrefetch(req)) return false;
  if (req.method !== 'GET' && req.method !== 'HEAD') return false;
  const mode = req.headers['sec-fetch-mode'];
  // Node's `fetch` always sends "cors", so its `Accept` header decides.
  const isNode = /^(node|undici)\b/.test(String(req.headers['user-agent']));
  if (mode !== undefined && mode !== 'navigate' && !isNode) return false;
  if (String(req.headers['x-requested-with']).toLowerCase() === 'xmlhttprequest') return false;
  return prefersHtml(req);
}

/** Whether the browser requests a page before a click. Such a request must have no effect. */
export const isPrefetch = (req: IncomingMessage): boolean =>
  ['sec-purpose', 'purpose', 'x-purpose', 'x-moz'].some((name) =>
    /prefetch|prerender|preview/i.test(String(req.headers[name])),
  );

/** Whether the client prefers a page to JSON (RFC 9110, "Accept"). Without a preference it gets JSON. */
export function prefersHtml(req: IncomingMessage): boolean {
  const accept = String(req.headers.accept).toLowerCase();
  const ranges = accept.split(',').map((range) => {
    const parts = range.split(';').map((part) => part.trim());
    const q = parts.find((part) => part.startsWith('q='));
    return { name: parts[0], q: q === undefined ? 1 : Number(q.slice(2)) || 0 };
  });
  // The most specific range gives a type its weight: the higher q wins, then the more specific range, then
  // the earlier one.
  const weigh = (type: string): number => {
    for (const [generality, name] of [type, type.replace(/\/.*/, '/*'), '*/*'].entries()) {
      const order = ranges.findIndex((range) => range.name === name);
      const { q = 0 } = ranges[order] ?? {};
      if (order !== -1) return q === 0 ? 0 : q * 1e8 - generality * 1e4 - order;
    }
    return 0;
  };
  return (
    weigh('text/html') > Math.max(weigh('application/problem+json'), weigh('application/json'))
  );
}
