import type { Request } from 'express';

/**
 * Whether a browser is going to a page, so that a redirect or a page is the right answer. What a
 * script fetches, and what prefers JSON, gets a status and a problem instead.
 */
export function isNavigation(req: Request): boolean {
  // A page that is fetched ahead is not gone to yet: a redirect would begin a login.
  if (isPrefetch(req)) return false;
  if (req.method !== 'GET' && req.method !== 'HEAD') return false;
  const mode = req.headers['sec-fetch-mode'];
  // Node's own fetch says "cors" of everything and cannot be told otherwise; its Accept decides.
  const isNode = /^(node|undici)\b/.test(req.headers['user-agent'] ?? '');
  if (mode !== undefined && mode !== 'navigate' && !isNode) return false;
  if (req.headers['x-requested-with'] === 'XMLHttpRequest') return false;
  return prefersHtml(req);
}

/** Whether the client would rather have a page than JSON. Who does not say gets JSON. */
export function prefersHtml(req: Request): boolean {
  return req.accepts(['application/problem+json', 'json', 'html']) === 'html';
}

/**
 * Whether the browser fetches this page ahead of a click. Such a request must spend nothing, because
 * the visitor has not decided to go there yet.
 */
export const isPrefetch = (req: Request): boolean =>
  ['sec-purpose', 'purpose', 'x-purpose', 'x-moz'].some((name) =>
    /prefetch|prerender|preview/i.test(String(req.headers?.[name] ?? '')),
  );
