import { subscribe } from 'node:diagnostics_channel';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { parse } from 'node:querystring';
import { stringifySetCookie } from 'cookie';
import type { Request, Response } from 'express';
import Negotiator from 'negotiator';
import { asError, isMarketgateError } from '../errors.js';
import { redact } from '../http/failure.js';

// What Express adds to a request and its response, made from those of Node.js: the middleware and the
// strategy also run without Express.

/** The path and query that the client sent. Inside a mounted router, `req.url` is only a part. */
export const pathOf = (req: IncomingMessage & { readonly originalUrl?: string }): string =>
  req.originalUrl ?? req.url ?? '/';

/** The purchase codes of requests whose path contains them. */
const codes = new WeakMap<object, string>();
/** The route parameters that guards read codes from. */
const codeParameters = new Set<string>();

/** Keeps a purchase code out of {@link loggedPath}. */
export function hideCode(req: IncomingMessage, code: unknown): void {
  if (typeof code === 'string' && code !== '' && pathOf(req).includes(code)) codes.set(req, code);
}

/** Keeps a route parameter out of {@link loggedPath}, also of requests that fail before the guard reads it. */
export const hideParameter = (name: string): unknown => codeParameters.add(`:${name}`);

/** The path for a log line: without the query, the purchase code, and whatever looks like a secret. */
export function loggedPath(req: IncomingMessage): string {
  const { route, baseUrl = '' } = req as { route?: { path?: unknown }; baseUrl?: string };
  const pattern = String(route?.path);
  const parameter = [...codeParameters].find((each) => pattern.includes(each));
  const path = parameter ? baseUrl + pattern.replace(parameter, '[redacted]') : pathOf(req);
  return path
    .replace(/[?#].*/s, '')
    .split('/')
    .map((part) => redact(part, [codes.get(req) ?? []].flat()))
    .join('/');
}

/**
 * The query, parsed by the framework or here: Express without a query parser has an empty one, and restify a function. A
 * repeated name has an array of values.
 */
export function queryOf(req: Request): Record<string, unknown> {
  const { query } = req;
  if (Object.keys(Object(query)).length > 0) return query;
  return parse(/\?(.*)/.exec(String(req.url))?.[1] ?? '');
}

/** The responses of Node's HTTP server. */
const responses = new WeakMap<object, Response>();

/**
 * Makes {@link responseOf} work for requests to Node's HTTP server without a framework, from now on. Passport passes no
 * response to a strategy, and only some frameworks set `req.res`; Node.js publishes both when a request arrives.
 */
export function trackResponses(): void {
  if (isTracking) return;
  isTracking = true;
  subscribe('http.server.request.start', (message) => {
    const { request, response } = message as { request: object; response: Response };
    responses.set(request, response);
  });
}
let isTracking = false;

/** The response to a request: as the framework has set it (Express, Koa, Nest), or else that of Node's HTTP server. */
export function responseOf(req: Request): Response | undefined {
  // Fastify's request has Node's as `raw`.
  const { res, raw = req } = req as Request & { res?: Response; raw?: object };
  return res ?? responses.get(raw);
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
  console.error(error);
  if (res === undefined || res.writableEnded) return;
  if (res.headersSent) {
    // An end would make the beginning look like all of the response.
    res.destroy();
    return;
  }
  // The route can have set headers that are about another body.
  for (const name of res.getHeaderNames?.() ?? []) res.removeHeader(name);
  res.statusCode = 500;
  res.end('Internal Server Error');
}

/** Whether the client uses https; Express's `req.secure` also knows trusted proxies. */
export const isSecure = (req: IncomingMessage & { readonly secure?: boolean }): boolean =>
  req.secure ?? (req.socket as { encrypted?: boolean } | undefined)?.encrypted === true;

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
  stringifySetCookie({
    name,
    value,
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
  const cookie = cookieLine(req, name, value, lifetime);
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

/** Whether a browser navigates to a page, so that a redirect is the right response to it. */
export function isNavigation(req: IncomingMessage): boolean {
  const { headers, method = '' } = req;
  if (isPrefetch(req) || !['GET', 'HEAD'].includes(method)) return false;
  const mode = headers['sec-fetch-mode'];
  // Node's `fetch` always sends "cors", so its `Accept` header decides.
  const isNode = /^(node|undici)\b/.test(String(headers['user-agent']));
  if (mode !== undefined && mode !== 'navigate' && !isNode) return false;
  return headers['x-requested-with'] !== 'XMLHttpRequest' && prefersHtml(req);
}

/** Whether the browser requests a page before a click. Such a request must have no effect. */
export const isPrefetch = ({ headers }: IncomingMessage): boolean =>
  ['sec-purpose', 'purpose', 'x-purpose', 'x-moz'].some((name) =>
    /prefetch|prerender|preview/i.test(String(headers[name])),
  );

/** The first one wins where the client has no preference. */
const TYPES = ['application/json', 'application/problem+json', 'text/html'];

/** Whether the client prefers a page to JSON (RFC 9110, "Accept"). Without a preference it gets JSON. */
export const prefersHtml = (req: IncomingMessage): boolean =>
  new Negotiator(req).mediaType(TYPES) === 'text/html';
