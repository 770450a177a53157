import { subscribe } from 'node:diagnostics_channel';
import type { ServerResponse } from 'node:http';
import type { Request, Response } from 'express';
import { asError, isMarketgateError } from '../errors.js';

// The response of Node, as the middleware and the strategy use it: they also run without Express.

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
