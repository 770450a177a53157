import type { ServerResponse } from 'node:http';
import type { Response } from 'express';
import { asError, isMarketgateError } from '../errors.js';

// The response of Node, as the middleware and the strategy use it: they also run without Express.

/** The response to a request, as Express sets it; elsewhere an app does. */
export const responseOf = (req: object): Response | undefined => (req as { res?: Response }).res;

/** @throws Error that says what the app can do. */
export function requiredResponse(req: object): Response {
  const res = responseOf(req);
  if (res !== undefined) return res;
  throw new Error(
    'MarketplaceStrategy: this request has no response (req.res), and passport gives a strategy none; Express sets it, elsewhere put this before passport: (req, res, next) => { req.res = res; next(); }',
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

/**
 * Whether headers can be set: the app can have responded meanwhile, as after a timeout, and where a WebSocket is opened, apps
 * often pass an empty object for the response.
 */
export const takesHeaders = (res: ServerResponse): boolean =>
  !res.headersSent && typeof res.setHeader === 'function';

/** Keeps a refusal out of every cache, because the visitor can come back with a code or logged in. */
export function noStore(res: ServerResponse): void {
  if (takesHeaders(res)) res.setHeader('Cache-Control', 'no-store');
}

/** {@link noStore}, and when to come back, if the error of the refusal says so. */
export function refuseWith(res: ServerResponse, error: unknown): void {
  noStore(res);
  if (!isMarketgateError(error) || error.retryAfter === undefined || !takesHeaders(res)) return;
  res.setHeader('Retry-After', Math.ceil(error.retryAfter));
}

/** Sends the browser to a path on this site, unless the app has responded meanwhile. */
export function redirect(res: ServerResponse, path: string): void {
  if (res.headersSent) return;
  res.statusCode = 302;
  res.setHeader('Location', asciiPath(path));
  res.end();
}

/** A path as a header holds it. */
export const asciiPath = (path: string): string => path.replace(/[^!-~]+/g, encodeURI);
