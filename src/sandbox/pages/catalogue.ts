import { html } from '../../html.js';
import type { SeedItem } from '../data/schema.js';
import { mediaOf } from '../key-api/items.js';
import type { Page } from './page.js';

/** The home page: what this is, and the items. */
export const homePage = (items: readonly Readonly<SeedItem>[]): Page => ({
  title: 'The marketplace service, on your machine',
  content: html`<p>Both interfaces of the service, with made-up accounts, items, purchases and users. Point your app here while you build it. Requests, keys, codes to try and faults are in the <a href="/sandbox/console">console</a>.</p>
<ul>${items.map(({ id, name }) => html`<li><a href="/preview/${id}">${name}</a> (${id})</li>`)}</ul>`,
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
  player
    ? html`<video width="100%" controls playsinline poster="${media.thumbnail}" src="${player}"></video>`
    : html`<img width="100%" src="${media.thumbnail}" alt="">`
}
<p>Item ${item.id}, version ${item.version}; ${item.category}, ${item.sub_category}</p>
<p>${regular} ${item.currency}, extended ${extended} ${item.currency}; ${item.options.join(', ')}</p>`,
  };
}
