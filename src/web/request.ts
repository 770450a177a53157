import type { IncomingMessage } from 'node:http';
import { parse } from 'node:querystring';
import Negotiator from 'negotiator';

// What Express adds to a request, made from Node's own: the middleware and the strategy also run without Express.

/** The path and query that the client sent. Inside a mounted router, `req.url` is only a part. */
export const pathOf = (req: IncomingMessage & { readonly originalUrl?: string }): string =>
  req.originalUrl ?? req.url ?? '/';

/** {@link pathOf} without the query. */
export const pathnameOf = (req: IncomingMessage): string => withoutQuery(pathOf(req));

/** A path without its query. */
export const withoutQuery = (path: string): string => path.replace(/\?.*/s, '');

/**
 * The query, parsed by the framework or here: Express without a query parser has an empty one, and restify a function. A
 * repeated name has an array of values.
 */
export function queryOf(
  req: IncomingMessage & { readonly query?: unknown },
): Record<string, unknown> {
  const { query } = req;
  if (Object.keys(Object(query)).length > 0) return query as Record<string, unknown>;
  return parse(/\?(.*)/.exec(String(req.url))?.[1] ?? '');
}

/** Whether the client uses https; Express's `req.secure` also knows trusted proxies. */
export const isSecure = (req: IncomingMessage & { readonly secure?: boolean }): boolean =>
  req.secure ?? (req.socket as { encrypted?: boolean } | undefined)?.encrypted === true;

/** Whether a browser navigates to a page, so that a redirect is the right response to it. */
export const isNavigation = (req: IncomingMessage): boolean =>
  ['GET', 'HEAD'].includes(req.method ?? '') &&
  !isPrefetch(req) &&
  !isScripted(req) &&
  prefersHtml(req);

/** Whether a script, an image or the like sends the request, and not the browser's address bar, a link or a form. */
export function isScripted({ headers }: IncomingMessage): boolean {
  const mode = headers['sec-fetch-mode'];
  // Node's `fetch` always sends "cors".
  const isNode = /^(node|undici)\b/.test(String(headers['user-agent']));
  if (mode !== undefined && mode !== 'navigate' && !isNode) return true;
  return headers['x-requested-with'] === 'XMLHttpRequest';
}

/** Headers that browsers and libraries send with a request that comes before a click. */
const AHEAD = ['sec-purpose', 'x-sec-purpose', 'purpose', 'x-purpose', 'x-moz'];
/** Those that are sent with such requests alone, with any value. */
const ONLY_AHEAD = ['next-router-prefetch', 'x-middleware-prefetch', 'hx-preloaded'];

/** Whether the browser requests a page before a click. Such a request must have no effect. */
export const isPrefetch = ({ headers }: IncomingMessage): boolean =>
  AHEAD.some((name) => /prefetch|prerender|preview/i.test(String(headers[name]))) ||
  ONLY_AHEAD.some((name) => headers[name] !== undefined);

/** The first one wins where the client has no preference. */
const TYPES = ['application/json', 'application/problem+json', 'text/html'];

/** Whether the client prefers a page to JSON (RFC 9110, "Accept"). Without a preference it gets JSON. */
export const prefersHtml = (req: IncomingMessage): boolean =>
  new Negotiator(req).mediaType(TYPES) === 'text/html';
