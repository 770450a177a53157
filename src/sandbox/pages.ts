import type { Response } from 'express';
import { type Html, html, PAGE_POLICY, trusted } from '../html.js';
import { textFile } from './files.js';

/** A page that a visitor sees. */
export interface Page {
  readonly title: string;
  /** After the heading. */
  readonly content: Html;
  /** The name of the app that the visitor comes from. */
  readonly app?: string;
  /** The HTTP status; by default 200. */
  readonly status?: number;
  /** Where a form of the page can be redirected to, besides the sandbox itself. */
  readonly formTarget?: string | undefined;
}

const STYLE = textFile('pages.css');

/** Sends HTML with the headers that all pages have: no foreign resources, no framing, no caching. */
export function sendHtml(res: Response, text: string, policy: string, status = 200): void {
  res.writeHead(status, {
    'Content-Type': 'text/html; charset=utf-8',
    'Content-Security-Policy': `${PAGE_POLICY}; img-src 'self'; ${policy}`,
    'X-Content-Type-Options': 'nosniff',
    'Referrer-Policy': 'same-origin',
    'Cache-Control': 'no-store',
  });
  res.end(text);
}

export function sendPage(res: Response, { title, content, app, status, formTarget }: Page): void {
  const text = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${title} · marketgate sandbox</title>
<style>${trusted(STYLE)}</style>
</head>
<body>
<header>Marketplace <span>test marketplace</span></header>
<main>
<div class="app">${app && html`<i aria-hidden="true">${app.slice(0, 1)}</i>`}<h1>${title}</h1></div>
${content}
</main>
<footer>A sandbox for development: no password, no money. <a href="/sandbox/console">Console</a></footer>
</body>
</html>
`;
  // Browsers apply `form-action` to the redirect of a form too.
  const forms = formTarget === undefined ? '' : ` ${new URL(formTarget).origin}`;
  sendHtml(res, `${text}`, `form-action 'self'${forms}`, status);
}

/** The sandbox has no such page, was sent something that it cannot read, or failed. */
export const errorPage = (text: string, status: number): Page => ({
  status,
  title: 'That did not work',
  content: html`<p>${text}</p><p><a href="/sandbox/console">To the console</a></p>`,
});
