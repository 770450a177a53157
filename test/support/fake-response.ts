import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import type { Response } from 'express';
import type { MarketplaceContext, Middleware } from 'marketgate';

/** A response that is sent to nobody, for middleware that is called without a server. */
export function fakeResponse(): Response {
  const res = new ServerResponse(new IncomingMessage(new Socket()));
  return Object.assign(res, { locals: {} }) as unknown as Response;
}

/** What a middleware passes to `next`, and puts at `req.marketplace`, for a request without a server. */
export async function runMiddleware(guard: Middleware, req: object) {
  const res = fakeResponse();
  const error: unknown = await new Promise((next) => guard(req as never, res, next));
  const { marketplace: found } = req as { marketplace?: MarketplaceContext };
  return { error, found, res };
}
