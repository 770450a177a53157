import type { Response } from 'express';
import { type Html, html, PAGE_POLICY, page } from '../html.js';
import type { SeedItem } from './data/schema.js';
import { mediaOf } from './media.js';

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
  sendHtml(res, text, `media-src 'self'; form-action 'self'${forms}`, status);
}

/** The sandbox has no such page, was sent something that it cannot read, or failed. */
export const errorPage = (text: string, status: number): Page => ({
  status,
  title: 'That did not work',
  content: html`<p>${text}</p><p><a href="/">To the console</a></p>`,
});

/** Where `demo_link` of an item leads. */
export function itemPage(item: Readonly<SeedItem>): Page {
  // An empty origin makes every media URL relative to this sandbox.
  const media = mediaOf(item, '');
  const player = media.preview_video ?? media.preview_audio;
  const { regular, extended } = item.price;
  return {
    title: item.name,
    content: html`<p>${item.description}</p>
${
  item.media
    ? html`<p>Its pictures are elsewhere: <a href="${media.thumbnail}">${media.thumbnail}</a></p>`
    : player
      ? html`<video width="100%" controls playsinline poster="${media.thumbnail}" src="${player}"></video>`
      : html`<img width="100%" src="${media.thumbnail}" alt="">`
}
<p>Item ${item.id}, version ${item.version}; ${item.category}, ${item.sub_category}</p>
<p>${regular} ${item.currency}, extended ${extended} ${item.currency}; ${item.options.join(', ')}</p>`,
  };
}
