import type { IncomingMessage, ServerResponse } from 'node:http';
import type { NextFunction, Request, Response } from 'express';
import { asError, MarketgateError } from '../errors.js';
import { contextOf, type MarketplaceContext, type Middleware } from './context.js';
import { handleThrown, refuseWith } from './plain-http.js';

/** What a middleware works with. */
export interface Call {
  readonly req: Request;
  readonly res: Response;
  /** Calls the given `next` once. What that throws is handled: only Express catches it. */
  readonly next: NextFunction;
  readonly context: MarketplaceContext;
}

/** Makes a `next` that is called once, and whose errors are handled. */
export function onceNext(
  req: IncomingMessage,
  res: ServerResponse,
  next: (error?: unknown) => void,
): (error?: unknown) => void {
  let isCalled = false;
  return (error) => {
    if (isCalled) return;
    isCalled = true;
    try {
      next(error);
    } catch (thrown) {
      handleThrown(req, res, thrown);
    }
  };
}

/**
 * Makes a middleware of an async function, which calls `next` or responds. Its error is a refusal, which no cache can
 * store, and goes to `onError`, by default to `next`.
 */
export function middleware(
  run: (call: Call) => Promise<void>,
  onError: (error: object, call: Call) => Promise<void> = async (error, { next }) => next(error),
): Middleware {
  return (req, res, given) => {
    const next = onceNext(req, res, given);
    const call = { req, res, next, context: contextOf(req, res) } as Call;
    run(call)
      .catch((error: unknown) => {
        refuseWith(res, error);
        return onError(asError(error), call);
      })
      .catch((error: unknown) => next(asError(error)));
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
