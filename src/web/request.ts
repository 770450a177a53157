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
  ['GET', 'HEAD'].includes(req.method ?? '') && isPageLoad(req) && prefersHtml(req);

/**
 * Whether the browser's window loads this as its page, by the address bar, a link or a form: not a prefetch, a frame, an
 * image or a script. Old browsers do not say; they count as a window.
 */
export function isPageLoad(req: IncomingMessage): boolean {
  const { headers } = req;
  if (isPrefetch(req) || headers['x-requested-with'] === 'XMLHttpRequest') return false;
  // Node's `fetch` always sends "cors".
  if (/^(node|undici)\b/.test(String(headers['user-agent']))) return true;
  const { 'sec-fetch-mode': mode, 'sec-fetch-dest': dest = 'document' } = headers;
  // A service worker that passes a navigation on sends "empty". Scripts cannot set the mode "navigate".
  if (dest === 'empty') return mode === 'navigate';
  return dest === 'document' && (mode === undefined || mode === 'navigate');
}

/** Whether a page of another site sent the browser here. Browsers say so over https and on localhost; old ones never do. */
export const isSentByAnotherSite = ({ headers }: IncomingMessage): boolean =>
  !['same-origin', 'none'].includes(String(headers['sec-fetch-site'] || 'none'));

/** Whether the visitor has clicked on a page of this site to come here. */
export const isClick = ({ headers }: IncomingMessage): boolean =>
  headers['sec-fetch-site'] === 'same-origin' && headers['sec-fetch-user'] === '?1';

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
