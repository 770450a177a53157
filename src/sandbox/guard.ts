import { isIP } from 'node:net';
import type { RequestHandler } from 'express';
import { originOf, Refused } from './request.js';

/** The host of a `Host` header: no port, no brackets, lower case. */
export function hostnameOf(host: string): string {
  const url = `http://${host}`;
  return URL.canParse(url) ? new URL(url).hostname.replace(/^\[|\]$/g, '') : '';
}

/**
 * Keeps other websites in the developer's browser from reading and from driving the console.
 *
 * Another website can point its own host name at this machine (DNS rebinding), and then its pages and the console
 * share an origin, which only the Host header shows. Nobody can do that with an address or with localhost.
 */
export const ownSiteOnly =
  ({ consoleHosts }: { readonly consoleHosts: ReadonlySet<string> }): RequestHandler =>
  (req, res, next) => {
    res.setHeader('Cross-Origin-Resource-Policy', 'same-origin');
    res.setHeader('Cross-Origin-Opener-Policy', 'same-origin');
    const name = hostnameOf(req.headers.host ?? '');
    if (isIP(name) === 0 && !/^(.+\.)?localhost$/.test(name) && !consoleHosts.has(name)) {
      const names =
        'localhost, addresses, and the names it was given (consoleHosts, --console-host)';
      throw new Refused(403, `The console answers under ${names}, but not under this one.`);
    }
    const { origin, ...headers } = req.headers;
    const site = headers['sec-fetch-site'];
    // A link from anywhere can lead to the console: that shows it to its developer alone.
    const isVisit =
      req.method === 'GET' &&
      headers['sec-fetch-mode'] === 'navigate' &&
      headers['sec-fetch-dest'] === 'document';
    // Older browsers, and plain http to another machine, have Origin only; other clients send neither.
    const isOwn =
      site === undefined
        ? origin === undefined || origin === originOf(req)
        : site === 'same-origin' || site === 'none' || isVisit;
    if (!isOwn) throw new Refused(403, 'Another site asked for this.');
    next();
  };
