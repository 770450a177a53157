import type { Item } from 'marketgate';
import type { CodeProblem } from '../errors.js';
import type { OwnPurchase } from '../purchases.js';
import { codeForm } from './code-form.js';
import { day, money, webUrl } from './format.js';
import { type Html, html } from './html.js';
import { preview, screenshots } from './previews.js';
import { tagList } from './tags.js';

interface ItemPage {
  item: Item;
  /** The customer's own purchase of it. */
  own: OwnPurchase | undefined;
  /** What came of the code that was entered. */
  problem?: CodeProblem;
}

/** The page of one item. */
export function itemView({ item, own, problem }: ItemPage): Html {
  const category = item.category;
  return html`<nav class="crumbs" aria-label="You are here"><a href="/">Catalogue</a>${
    category &&
    html` <span aria-hidden="true">/</span> <a href="/?${new URLSearchParams({ category })}">${category}</a>`
  }</nav>
<article class="item">
<header class="item-head">
<h1>${item.name}</h1>
${item.description && html`<p class="lead">${item.description}</p>`}
</header>
<div class="item-media">${preview(item)}</div>
${screenshots(item)}
<div class="item-side">
${prices(item)}
${download(item, own, problem)}
${facts(item)}
</div>
</article>`;
}

function prices({ price, currency }: Item): Html | false {
  if (price?.regular === undefined && price?.extended === undefined) return false;
  const row = (name: string, amount: number | undefined) =>
    amount !== undefined &&
    html`<div><dt>${name} licence</dt><dd>${money(amount, currency)}</dd></div>`;
  return html`<dl class="prices">${row('Regular', price.regular)}${row('Extended', price.extended)}</dl>`;
}

/** A link for visitors who have redeemed a code, a form for the others. */
function download(
  item: Item,
  own: OwnPurchase | undefined,
  problem: CodeProblem | undefined,
): Html {
  const action = `/items/${item.id}/download`;
  return html`<section class="panel" id="download" aria-labelledby="download-title">
<h2 id="download-title">${own ? 'Yours to download' : 'Bought it already?'}</h2>
${
  own && !problem
    ? html`<p>You redeemed a code for this item${own.licence && html` (${own.licence} licence)`}.</p>
<p><a class="button wide" href="${action}">Download${item.version && html` version ${item.version}`}</a></p>
<p class="small"><a href="/items/${item.id}/support">Get support</a></p>`
    : html`${codeForm({ action, button: 'Download', problem })}
<p class="small soft">Or <a href="/redeem">redeem it</a> to keep it with your account.</p>`
}
</section>`;
}

function facts(item: Item): Html {
  const demo = webUrl(item.demo_link);
  const row = (name: string, value: Html | string | undefined | false) =>
    value && html`<div><dt>${name}</dt><dd>${value}</dd></div>`;
  return html`<dl class="facts">
${row('Version', item.version)}
${row('Published', item.published_at && day(item.published_at))}
${row('Kind', [item.category, item.sub_category].filter(Boolean).join(', '))}
${row('Comes as', item.options?.join(', '))}
${row('Item number', String(item.id))}
</dl>
${tagList(item.tags)}
${demo && html`<p><a class="button quiet wide" href="${demo}" rel="noreferrer">See the demo of ${item.name}</a></p>`}`;
}
