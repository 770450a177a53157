import type { ServerResponse } from 'node:http';
import type { Request, Response } from 'express';
import { asError, MarketgateError } from '../errors.js';
import { contextOf, type MarketplaceContext, type Middleware } from './context.js';
import { handleThrown, refuseWith } from './plain-http.js';

/** Makes a middleware that waits for `load`. An error goes to `onError`, by default to `next`. */
export function loader(
  load: (req: Request, res: Response, context: MarketplaceContext) => Promise<void>,
  onError: (error: unknown, ...args: Parameters<Middleware>) => void = (error, _req, _res, next) =>
    next(asError(error)),
): Middleware {
  return (req, res, next) => {
    const context = contextOf(req, res);
    (async () => load(req as Request, res as Response, context))()
      .then(
        () => next(),
        (error: unknown) => {
          refuseWith(res, error);
          onError(error, req, res, next);
        },
      )
      .catch((error: unknown) => handleThrown(req, res, error));
  };
}

/**
 * Runs `run` with a signal that is aborted when the visitor leaves, so that a request to the service that
 * nobody waits for does not hold a connection.
 */
export async function abortOnLeave<T>(
  res: ServerResponse,
  run: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const controller = new AbortController();
  const onClose = (): void => {
    const message = 'the visitor left before the service had answered';
    controller.abort(new MarketgateError('service_unavailable', message));
  };
  if (res.closed) onClose();
  // The response of a WebSocket upgrade has no events.
  else res.once?.('close', onClose);
  try {
    return await run(controller.signal);
  } finally {
    res.off?.('close', onClose);
  }
}
