import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import type { Response } from 'express';

/** A response that is sent to nobody, for middleware that is called without a server. */
export function fakeResponse(): Response {
  const res = new ServerResponse(new IncomingMessage(new Socket()));
  return Object.assign(res, { locals: {} }) as unknown as Response;
}
