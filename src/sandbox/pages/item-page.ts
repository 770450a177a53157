import { html } from '../../html.js';
import type { SeedItem } from '../data/schema.js';
import { mediaOf } from '../key-api/items.js';
import type { Page } from './page.js';

export function itemPage(item: Readonly<SeedItem>): Page {
  // An empty origin makes every media URL relative to this sandbox.
  const media = mediaOf(item, '');
  const preview = media.preview_video
    ? html`<video controls muted loop playsinline poster="${media.preview_image}" src="${media.preview_video}"></video>`
    : html`<img src="${media.preview_image ?? media.thumbnail.replace('thumbnail', 'cover')}" alt="${item.name}" width="1200" height="600">`;
  return {
    title: item.name,
    body: html`<div class="lead"><h1>${item.name}</h1><p>${item.description}</p></div>
<figure class="hero">${preview}</figure>
${media.preview_audio && html`<audio controls preload="none" src="${media.preview_audio}">${item.name}</audio>`}
<section class="card"><h2>Details</h2><dl class="facts">
<dt>Item id</dt><dd><code>${item.id}</code></dd>
<dt>Category</dt><dd>${item.category}, ${item.sub_category}</dd>
<dt>Version</dt><dd>${item.version}</dd>
<dt>Price</dt><dd>${item.price.regular} ${item.currency}, extended ${item.price.extended} ${item.currency}</dd>
<dt>Comes as</dt><dd>${item.options.join(', ')}</dd>
<dt>Tags</dt><dd>${item.tags.join(', ')}</dd>
<dt>Published</dt><dd>${item.published_at.slice(0, 10)}${item.deleted && html` <span class="badge bad">no longer in the catalogue</span>`}</dd>
</dl></section>
${
  media.screenshots &&
  html`<section class="card"><h2>Screenshots</h2><div class="columns">${media.screenshots.map(
    (url, index) =>
      html`<img src="${url}" alt="Screenshot ${index + 1}" loading="lazy" width="1200" height="750">`,
  )}</div></section>`
}`,
  };
}
