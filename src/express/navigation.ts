import type { Request } from 'express';
import { isPrefetch } from '../passport/fetch-metadata.js';

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
