import { isIP } from 'node:net';
import type { Request, RequestHandler } from 'express';
import { originOf, Refused } from '../request.js';

/** On every answer of the console, so that `marketgate doctor` knows a sandbox. In lower case. */
export const SANDBOX_HEADER = 'x-marketgate-sandbox';

/** The host of a `Host` header: no port, no brackets, lower case. */
export function hostnameOf(host: string): string {
  const url = `http://${host}`;
  return URL.canParse(url) ? new URL(url).hostname.replace(/^\[|\]$/g, '') : '';
}

/**
 * Whether the console answers under a name. Another website can point its own host name at this machine
 * (DNS rebinding), and then its pages and the console share an origin: neither CORS nor Sec-Fetch-Site can
 * tell them apart, only the Host header can. Nobody can do that with an address or with localhost; with a name
 * without a dot, a hostile network can.
 *
 * @param listensOn - The host that the sandbox listens on. With all addresses of the machine, each of them will do.
 */
const isSafe = (name: string, listensOn: string): boolean =>
  /^(.+\.)?localhost$|^127\.\d+\.\d+\.\d+$|^::1$/.test(name) ||
  name === hostnameOf(isIP(listensOn) === 6 ? `[${listensOn}]` : listensOn) ||
  (isIP(name) !== 0 && ['0.0.0.0', '::'].includes(listensOn));

/** A link from anywhere can lead to the console: that shows it to its developer alone. */
const isVisit = (req: Request): boolean =>
  req.method === 'GET' &&
  req.headers['sec-fetch-mode'] === 'navigate' &&
  req.headers['sec-fetch-dest'] === 'document';

/**
 * Whether a request came from the console's own pages, or from no page at all. Browsers say so with
 * Sec-Fetch-Site, or (older ones, and plain http to another machine) with Origin; other clients send neither.
 */
function isOwn(req: Request): boolean {
  const site = req.headers['sec-fetch-site'];
  if (site !== undefined) return site === 'same-origin' || site === 'none' || isVisit(req);
  return req.headers.origin === undefined || req.headers.origin === originOf(req);
}

/** The names under which the console answers, besides loopback: those it was given, and what the sandbox listens on. */
interface ConsoleNames {
  readonly consoleHosts: ReadonlySet<string>;
  readonly listensOn: { readonly host: string };
}

/** Keeps other websites in the developer's browser from reading and from driving the console. */
export const ownSiteOnly =
  ({ consoleHosts, listensOn }: ConsoleNames): RequestHandler =>
  (req, res, next) => {
    res.setHeader(SANDBOX_HEADER, 'true');
    res.setHeader('Cross-Origin-Resource-Policy', 'same-origin');
    res.setHeader('Cross-Origin-Opener-Policy', 'same-origin');
    const name = hostnameOf(req.headers.host ?? '');
    if (name !== '' && (isSafe(name, listensOn.host) || consoleHosts.has(name))) {
      return next(isOwn(req) ? undefined : new Refused(403, 'Another site asked for this.'));
    }
    const names =
      'localhost, the address that it listens on, and the names it was given (consoleHosts, --console-host)';
    next(new Refused(403, `The console answers under ${names}, but not under this one.`));
  };
