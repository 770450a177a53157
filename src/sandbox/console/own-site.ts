import type { Request, RequestHandler } from 'express';
import { originOf } from '../origin.js';
import { troublePage } from '../pages/message-pages.js';
import { sendPage } from '../pages/send-page.js';
import type { ConsoleHosts } from './console-hosts.js';
import { SANDBOX_HEADER } from './sandbox-header.js';

/** A link from anywhere may lead to the console: that shows it to its developer, and to nobody else. */
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

/** Keeps other websites in the developer's browser from reading and from driving the console. */
export const ownSiteOnly =
  (hosts: ConsoleHosts): RequestHandler =>
  (req, res, next) => {
    res.setHeader(SANDBOX_HEADER, 'true');
    res.setHeader('Cross-Origin-Resource-Policy', 'same-origin');
    res.setHeader('Cross-Origin-Opener-Policy', 'same-origin');
    if (!hosts.allows(req.headers.host)) {
      const text =
        'The console answers under an IP address, localhost and the names it was told (consoleHosts, --console-host), but not under this one.';
      return sendPage(res, troublePage(text), { status: 403 });
    }
    if (!isOwn(req)) {
      return sendPage(res, troublePage('Another site asked for this.'), { status: 403 });
    }
    next();
  };
