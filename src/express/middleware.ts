import type { IncomingMessage, ServerResponse } from 'node:http';
import type { NextFunction, Request, Response } from 'express';
import type { VisitorCallOptions } from '../cache/cache.js';
import { asError, isMarketgateError, MarketgateError } from '../errors.js';
import type { AppId } from '../options.js';
import { handleThrown, refuseWith } from '../web/response.js';
import { contextOf, type MarketplaceContext, type Middleware } from './context.js';

/** A request, as a middleware works with it. `next` can be called once; later calls do nothing. */
export interface Visit {
  readonly req: Request;
  readonly res: Response;
  readonly next: NextFunction;
  readonly context: MarketplaceContext;
}

/** Makes a `next` that is called once. What it throws is handled here, because only Express catches it. */
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
 * Makes a middleware of an async function that calls `next` or responds. An error of the function goes to `next`, with headers
 * that keep the refusal out of caches. An error of the package is dropped where the app has sent a whole response meanwhile, as
 * after a timeout: Express would close the connection, which can already carry the visitor's next request.
 */
export function middleware(run: (visit: Visit) => Promise<void>): Middleware {
  return (req, res, given) => {
    const next = onceNext(req, res, given);
    run({ req, res, next, context: contextOf(req, res) } as Visit).catch((error: unknown) => {
      if (res.writableFinished && isMarketgateError(error)) return;
      refuseWith(res, error);
      next(asError(error));
    });
  };
}

/** The options of a call to a client, made for the visitor of a request. */
export class VisitorCall implements VisitorCallOptions {
  readonly #res: ServerResponse;
  #signal: AbortSignal | undefined;

  constructor(
    res: ServerResponse,
    readonly client?: AppId,
    readonly fresh?: boolean,
  ) {
    this.#res = res;
  }

  /**
   * Aborted when the visitor leaves, so that no request goes on that nobody waits for. Made when it is first read, because a
   * cached answer needs none.
   */
  get signal(): AbortSignal {
    this.#signal ??= signalOf(this.#res);
    return this.#signal;
  }

  get hasLeft(): boolean {
    return this.#signal?.aborted === true;
  }
}

function signalOf(res: ServerResponse): AbortSignal {
  const controller = new AbortController();
  const onClose = (): void => {
    // {@link middleware} drops it where the app has responded.
    const why = 'the visitor left, or the app responded, before the service had answered';
    controller.abort(new MarketgateError('service_unavailable', why));
  };
  if (res.closed) onClose();
  // The response of a WebSocket upgrade has no events.
  else res.once?.('close', onClose);
  return controller.signal;
}
