import type { Response } from 'express';
import { layout, type Page } from './page.js';
import { STYLE_SOURCE } from './style.js';

interface SendOptions {
  /** Default: 200. */
  status?: number;
  /** Where a form of this page may be redirected to, besides the sandbox itself. */
  formTarget?: string;
}

/**
 * What a policy calls the place a redirect URL leads to. Browsers hold a form's redirects to `form-action`
 * too, so without it the consent form could not reach the app.
 */
function source(url: string): string {
  const { protocol, origin } = new URL(url);
  return origin === 'null' ? protocol : origin;
}

/** Sends a page with the headers all pages have: no foreign resources, no framing, no caching. */
export function sendPage(res: Response, page: Page, options: SendOptions = {}): void {
  const target = options.formTarget === undefined ? '' : ` ${source(options.formTarget)}`;
  const policy = [
    "default-src 'none'",
    `style-src ${STYLE_SOURCE}${page.styleSheet === undefined ? '' : " 'self'"}`,
    "img-src 'self'",
    "media-src 'self'",
    ...(page.script === undefined ? [] : ["script-src 'self'", "connect-src 'self'"]),
    `form-action 'self'${target}`,
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ];
  res.statusCode = options.status ?? 200;
  res.setHeader('Content-Type', 'text/html; charset=utf-8');
  res.setHeader('Content-Security-Policy', policy.join('; '));
  res.setHeader('X-Content-Type-Options', 'nosniff');
  res.setHeader('Referrer-Policy', 'same-origin');
  res.setHeader('Cache-Control', 'no-store');
  res.end(layout(page).toString());
}

/** Answers a form with a redirect to another page of the sandbox, so that a reload does not send it again. */
export function redirectWithin(res: Response, path: `/${string}`): void {
  res.statusCode = 303;
  res.setHeader('Location', path);
  res.setHeader('Cache-Control', 'no-store');
  res.end();
}
