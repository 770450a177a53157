import { parse } from 'node:querystring';
import express, { type Request, type RequestHandler, type Response } from 'express';

/** A request that is refused with this status. The message is the answer, so it quotes nothing that was sent. */
export class Refused extends Error {
  override readonly name = 'Refused';

  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

/** Refuses a request whose path takes another method only. */
export function refuseMethod(res: Response, allowed: string): never {
  res.setHeader('Allow', allowed);
  throw new Refused(405, `This endpoint takes ${allowed} requests only.`);
}

/** Parameters by name. A value is a string unless it was repeated (an array) or came as JSON. */
type ParameterValues = Readonly<Record<string, unknown>>;

/**
 * The query's parameters. Not `req.query`: below an app of Express 4, that is what the parser of this app made
 * of it.
 */
export const queryParameters = (req: Request): ParameterValues =>
  parse(/\?(.*)/.exec(req.originalUrl)?.[1] ?? '');

/** Parses the body of a form. */
export const form = express.urlencoded({ extended: false });

/** Parses a multipart body, as `curl -F` and axios's `postForm` send it. A file counts as no text. */
export const multipart: readonly RequestHandler[] = [
  express.raw({ type: 'multipart/form-data' }),
  (req, _res, next) => {
    if (!Buffer.isBuffer(req.body)) return next();
    const headers = { 'content-type': req.headers['content-type'] ?? '' };
    new globalThis.Response(req.body, { headers }).formData().then(
      (fields) => {
        const read = (name: string) => {
          const [first, ...others] = fields.getAll(name);
          return others.length > 0 ? [first, ...others] : first;
        };
        req.body = Object.fromEntries([...fields.keys()].map((name) => [name, read(name)]));
        next();
      },
      () => next(new Refused(400, 'The request body is not readable.')),
    );
  },
];

export function bodyParameters({ body }: Request): ParameterValues {
  const isRead = typeof body === 'object' && !Array.isArray(body) && !Buffer.isBuffer(body);
  return isRead ? (body ?? {}) : {};
}

/** Reads a parameter that must be one string; anything else counts as missing and reads as an empty string. */
export type ReadField = (name: string) => string;

export const fieldOf =
  (parameters: ParameterValues): ReadField =>
  (name) => {
    const value = parameters[name];
    return typeof value === 'string' ? value : '';
  };

/** Host headers are echoed in URLs, so only what a host can look like is believed. */
const HOST = /^(?:[a-z0-9._-]+|\[[0-9a-f:.]+\])(?::\d{1,5})?$/i;

/** The origin that the caller knows the sandbox by, from the request's Host header. */
export function originOf(req: Request): string {
  const host = req.headers.host ?? '';
  return `${req.protocol}://${HOST.test(host) ? host : `127.0.0.1:${req.socket.localPort ?? 80}`}`;
}

/** Which part of the sandbox a request went to. */
export type SandboxInterface = 'key-api' | 'login-api' | 'page' | 'media';

export function interfaceOf(path: string): SandboxInterface {
  if (/^\/api\/(account|items|purchases)\//i.test(path)) return 'key-api';
  if (/^\/api\//i.test(path)) return 'login-api';
  return path.startsWith('/media/') ? 'media' : 'page';
}
