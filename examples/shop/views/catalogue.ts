import type { Item } from 'marketgate';
import { money, webUrl } from './format.js';
import { type Html, html } from './html.js';
import { tagList } from './tags.js';

interface Catalogue {
  items: readonly Item[];
  /** The one that was chosen; any text, for it comes from the address. */
  category: string | undefined;
  shopName: string;
}

/** The front page. */
export function catalogueView({ items, category, shopName }: Catalogue): Html {
  const shown = category ? items.filter((item) => item.category === category) : items;
  return html`<div class="${category ? 'head' : 'hero'}">
<h1>${category ?? shopName}</h1>
<p class="lead">${
    category
      ? html`${count(shown.length)} in this category.`
      : html`Everything we make, in one place. Already a customer? <a href="/redeem">Redeem your purchase code</a> and download it here.`
  }</p>
</div>
${items.length > 0 && categories(items, category)}
${
  shown.length > 0
    ? html`<ul class="grid">${shown.map(card)}</ul>`
    : html`<div class="empty"><p>${
        items.length > 0
          ? 'There is nothing in this category.'
          : 'There is nothing for sale at the moment.'
      }</p>${items.length > 0 && html`<p><a href="/">Show the whole catalogue</a></p>`}</div>`
}`;
}

const count = (items: number): string => (items === 1 ? 'One item' : `${items} items`);

/** Plain links: they can be opened in a tab, kept as a bookmark, and need no script. */
function categories(items: readonly Item[], current: string | undefined): Html {
  const names = [...new Set(items.map((item) => item.category))]
    .filter((name) => name !== undefined)
    .sort((a, b) => a.localeCompare(b));
  const link = (href: string, text: string, isCurrent: boolean, amount: number) =>
    html`<li><a class="pill" href="${href}"${isCurrent && html` aria-current="true"`}>${text} <span class="amount"><span class="visually-hidden">, items: </span>${amount}</span></a></li>`;
  return html`<nav class="filter" aria-label="Categories"><ul>
${link('/', 'All', current === undefined, items.length)}
${names.map((name) =>
  link(
    `/?${new URLSearchParams({ category: name })}`,
    name,
    name === current,
    items.filter((item) => item.category === name).length,
  ),
)}
</ul></nav>`;
}

/** The whole card leads to the item, but only its name is the link that is read aloud. */
function card(item: Item): Html {
  const picture = webUrl(item.media.thumbnail);
  return html`<li class="card">
<div class="thumb">${picture && html`<img src="${picture}" alt="" loading="lazy" width="480" height="360">`}${kindMark(item)}</div>
<div class="card-body">
${item.category && html`<p class="eyebrow">${item.category}</p>`}
<h2><a href="/items/${item.id}">${item.name}</a></h2>
${tagList(item.tags, 3)}
${item.price?.regular !== undefined && html`<p class="price">${money(item.price.regular, item.currency)}</p>`}
</div>
</li>`;
}

function kindMark({ media }: Item): Html | false {
  if (media.preview_video) return html`<span class="mark">Video</span>`;
  return Boolean(media.preview_audio) && html`<span class="mark">Audio</span>`;
}
