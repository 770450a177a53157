import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Response } from 'express';
import { type Html, html, trusted } from '../../html.js';

/** The one style sheet of all pages, inline: a page needs nothing else to look right. */
const STYLE = readFileSync(new URL('./style.css', import.meta.url), 'utf8');

/** What a content security policy calls this style sheet, so that no other inline style is allowed. */
const STYLE_SOURCE = `'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`;

/** One page of the sandbox, before the frame is put around it. */
export interface Page {
  readonly title: string;
  readonly body: Html;
  /** One card in the middle: the pages that a user sees on the way to an app. */
  readonly isNarrow?: boolean;
  readonly isWide?: boolean;
  readonly current?: string;
  readonly script?: string;
  readonly styleSheet?: string;
}

export const MARK =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32" aria-hidden="true"><rect width="32" height="32" rx="9" fill="#0b6a58"/><path d="M7 25V14a9 9 0 0 1 18 0v11h-4.500V14a4.500 4.500 0 0 0-9 0v11z" fill="#dff5ea"/><circle cx="16" cy="22.500" r="2.500" fill="#ffc857"/></svg>';

const NAVIGATION = [
  ['/', 'Overview'],
  ['/sandbox/console', 'Console'],
  ['/sandbox/logout', 'Log out'],
] as const;

const frame = (page: Page): Html => html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${page.title} · marketgate sandbox</title>
<link rel="icon" href="/media/mark.svg" type="image/svg+xml">
<style>${trusted(STYLE)}</style>
${page.styleSheet && html`<link rel="stylesheet" href="${page.styleSheet}">`}
${page.script && html`<script src="${page.script}" defer></script>`}
</head>
<body>
<a class="skip" href="#main">Skip to the content</a>
<header class="top"><div>
<a class="brand" href="/">${trusted(MARK)}<div>marketgate <span>sandbox</span></div></a>
<nav aria-label="Sandbox">${NAVIGATION.map(
  ([path, label]) =>
    html`<a href="${path}"${page.current === path && trusted(' aria-current="page"')}>${label}</a>`,
)}</nav>
</div></header>
<main id="main"${page.isNarrow && trusted(' class="narrow"')}${page.isWide && trusted(' class="wide"')}>
${page.body}
</main>
<footer class="foot">A development stand-in for the marketplace service. Nothing here is real, and no data leaves this machine.</footer>
</body>
</html>
`;

/**
 * What a policy calls the place that a redirect URL leads to. Browsers hold a form's redirects to
 * `form-action` too, so without it the consent form could not reach the app.
 */
function sourceOf(url: string): string {
  const { protocol, origin } = new URL(url);
  return origin === 'null' ? protocol : origin;
}

interface SendOptions {
  status?: number;
  /** Where a form of this page can be redirected to, besides the sandbox itself. */
  formTarget?: string;
}

/** Sends a page with the headers that all pages have: no foreign resources, no framing, no caching. */
export function sendPage(res: Response, page: Page, options: SendOptions = {}): void {
  const target = options.formTarget === undefined ? '' : ` ${sourceOf(options.formTarget)}`;
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
  res.writeHead(options.status ?? 200, {
    'Content-Type': 'text/html; charset=utf-8',
    'Content-Security-Policy': policy.join('; '),
    'X-Content-Type-Options': 'nosniff',
    'Referrer-Policy': 'same-origin',
    'Cache-Control': 'no-store',
  });
  res.end(frame(page).toString());
}

/** Answers a form with a redirect to another page of the sandbox, so that a reload does not send it again. */
export function redirectWithin(res: Response, path: `/${string}`): void {
  res.writeHead(303, { Location: path, 'Cache-Control': 'no-store' }).end();
}

export const message = (title: string, text: Html): Page => ({
  title,
  isNarrow: true,
  body: html`<section class="card"><h1>${title}</h1>${text}</section>`,
});

export const notFoundPage = (): Page =>
  message(
    'There is no such page',
    html`<p>The <a href="/">overview</a> lists every address of this sandbox.</p>`,
  );

/** The sandbox was sent something that it cannot read, or failed. */
export const troublePage = (text: string): Page =>
  message('That did not work', html`<p>${text}</p><p><a href="/">Back to the overview</a></p>`);
