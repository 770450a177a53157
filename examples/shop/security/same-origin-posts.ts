import type { Request, RequestHandler } from 'express';
import { PageError } from '../errors.js';

/**
 * Protection against cross-site request forgery, without tokens in the forms. Two independent bolts:
 *
 * 1. The session cookie is SameSite=Lax, so browsers leave it out of a POST that another *site* starts.
 * 2. This check refuses a POST that another *origin* starts, which is narrower: `evil.shop.example` is
 *    the same site as `www.shop.example`. Browsers say where a request comes from in Sec-Fetch-Site;
 *    older ones, and pages over plain http, at least in Origin. No page can forge either.
 *
 * A request with neither header comes from a program, not a browser: it carries no visitor's cookies
 * unless the visitor wrote it. (Go's net/http.CrossOriginProtection decides in the same way.)
 */
export function sameOriginPosts(): RequestHandler {
  return (req, _res, next) => {
    if (req.method === 'GET' || req.method === 'HEAD' || comesFromHere(req)) return next();
    next(
      new PageError(403, {
        title: 'This form was sent from another site',
        text: 'For your safety we only accept forms that you send from our own pages. Open the page here and try again.',
      }),
    );
  };
}

function comesFromHere(req: Request): boolean {
  const fetchSite = req.headers['sec-fetch-site'];
  // "none": the visitor's own doing, such as sending a form again after a restart of the browser.
  if (fetchSite !== undefined) return fetchSite === 'same-origin' || fetchSite === 'none';
  const { origin, host } = req.headers;
  return origin === undefined || (URL.canParse(origin) && new URL(origin).host === host);
}
