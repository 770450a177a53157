import type { Response } from 'express';
import { type Html, html, PAGE_POLICY, page } from '../html.js';

/** A page that a visitor sees. */
export interface Page {
  readonly title: string;
  /** Between the heading and the end. */
  readonly content: Html;
  /** The HTTP status; by default 200. */
  readonly status?: number;
  /** Where a form of the page can be redirected to, besides the sandbox itself. */
  readonly formTarget?: string | undefined;
}

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

export function sendPage(res: Response, { title, content, status, formTarget }: Page): void {
  const text = page(`${title} · marketgate sandbox`, html`<h1>${title}</h1>${content}`);
  // Browsers apply `form-action` to the redirect of a form too.
  const forms = formTarget === undefined ? '' : ` ${new URL(formTarget).origin}`;
  sendHtml(res, text, `form-action 'self'${forms}`, status);
}

/** The sandbox has no such page, was sent something that it cannot read, or failed. */
export const errorPage = (text: string, status: number): Page => ({
  status,
  title: 'That did not work',
  content: html`<p>${text}</p><p><a href="/">To the console</a></p>`,
});
