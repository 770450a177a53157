import type { Request } from 'express';

/** Host headers are echoed in URLs, so only what a host can look like is believed. */
const HOST = /^(?:[a-z0-9._-]+|\[[0-9a-f:.]+\])(?::\d{1,5})?$/i;

/** The origin the caller knows the sandbox by, from the request's Host header. */
export function originOf(req: Request): string {
  const host = req.headers.host ?? '';
  return `${req.protocol}://${HOST.test(host) ? host : `127.0.0.1:${req.socket.localPort ?? 80}`}`;
}
