import type { Item, Purchase } from 'marketgate';
import { type CodeProblem, isAboutTheCode, wordsFor } from './errors.js';
import { avatar, day, type Html, html, money, nameOf, webUrl } from './layout.js';
import type { Customer } from './login.js';
import type { OwnPurchase } from './purchases.js';

/** The front page. */
export function catalogueView(
  items: readonly Item[],
  category: string | undefined,
  shopName: string,
): Html {
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

function card(item: Item): Html {
  const { thumbnail, preview_video: video, preview_audio: audio } = item.media;
  const picture = webUrl(thumbnail);
  const kind = video ? 'Video' : audio ? 'Audio' : undefined;
  return html`<li class="card">
<div class="thumb">${picture && html`<img src="${picture}" alt="" loading="lazy" width="480" height="360">`}</div>
<div class="card-body">
${(item.category || kind) && html`<p class="eyebrow">${item.category}${kind && html` <span class="mark">${kind}</span>`}</p>`}
<h2><a href="/items/${item.id}">${item.name}</a></h2>
${tagList(item.tags, 3)}
${item.price?.regular !== undefined && html`<p class="price">${money(item.price.regular, item.currency)}</p>`}
</div>
</li>`;
}

/** What the page of an item depends on besides the item. */
export interface ItemState {
  readonly own: OwnPurchase | undefined;
  readonly now: number;
  readonly buyUrl: string;
  /** For visitors who are not logged in. */
  readonly loginHref: string | undefined;
  readonly justAdded: string | undefined;
  readonly problem: CodeProblem | undefined;
}

/** The page of one item. */
export function itemView(item: Item, state: ItemState): Html {
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
<p><a class="button wide${state.own && ' quiet'}" href="${state.buyUrl}" rel="noreferrer">${state.own ? 'Buy another licence' : 'Buy on the marketplace'}</a></p>
${download(item, state)}
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

/** A link for customers who redeemed a code, the form for the others, the login for visitors. */
function download(item: Item, { own, now, loginHref, justAdded, problem }: ItemState): Html {
  return html`<section class="panel" id="download" aria-labelledby="download-title">
<h2 id="download-title">${own ? 'Yours to download' : 'Bought it already?'}</h2>
${addedNotice(justAdded)}
${
  own && !problem
    ? html`<p>You redeemed a code for this item${own.licence && html` (${own.licence} licence)`}.</p>
<p><a class="button wide" href="/items/${item.id}/download">Download${item.version && html` version ${item.version}`}</a></p>
<p class="small">${
        isSupported(own, now)
          ? html`<a href="/items/${item.id}/support">Get support</a>`
          : html`Support has ended. <a href="/items/${item.id}/renew">Renew it</a>`
      }</p>`
    : loginHref
      ? html`<p>Log in and enter your purchase code once. You can then download the item whenever you like.</p>
<p><a class="button quiet wide" href="${loginHref}">Log in to download</a></p>`
      : codeForm(`/items/${item.id}/redeem`, 'Redeem', problem)
}
</section>`;
}

const addedNotice = (name: string | undefined): Html | '' | undefined =>
  name &&
  html`<div class="notice good" role="status"><p><strong>${name} was added to your account.</strong></p></div>`;

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

/** Which media an item has depends on its kind. */
function preview({ media, name }: Item): Html {
  const image = webUrl(media.preview_image);
  const video = webUrl(media.preview_video);
  const audio = webUrl(media.preview_audio);
  const thumbnail = webUrl(media.thumbnail);
  return html`${
    video
      ? html`<video class="preview" controls preload="metadata" src="${video}"${image && html` poster="${image}"`} aria-label="Preview of ${name}"></video>`
      : picture(image ?? thumbnail, name, image === undefined)
  }
${audio && html`<audio class="player" controls preload="none" src="${audio}" aria-label="Preview of ${name}"></audio>`}`;
}

const picture = (url: string | undefined, name: string, isSquare: boolean): Html | undefined | '' =>
  url &&
  html`<img class="preview${isSquare && ' square'}" src="${url}" alt="Preview of ${name}" width="1200" height="600">`;

function screenshots({ media, name }: Item): Html | false {
  const urls = (media.screenshots ?? []).map(webUrl).filter((url) => url !== undefined);
  return (
    urls.length > 0 &&
    html`<section class="item-shots" aria-labelledby="screenshots">
<h2 id="screenshots">Screenshots</h2>
<ul class="shots">${urls.map(
      (url, index) =>
        html`<li><a href="${url}" rel="noreferrer"><img src="${url}" alt="Screenshot ${index + 1} of ${name}" loading="lazy" width="600" height="375"></a></li>`,
    )}</ul>
</section>`
  );
}

function tagList(tags: readonly string[] | undefined, most?: number): Html | false {
  const shown = tags?.slice(0, most) ?? [];
  return (
    shown.length > 0 &&
    html`<ul class="tags" aria-label="Tags">${shown.map((tag) => html`<li>${tag}</li>`)}</ul>`
  );
}

/** The form for a purchase code. The field is marked as wrong after a refusal, not after an outage. */
function codeForm(action: string, button: string, problem?: CodeProblem): Html {
  const words = problem && wordsFor(problem.code, problem.entered);
  const isWrong = problem !== undefined && isAboutTheCode(problem.code);
  return html`${
    words &&
    html`<div class="notice ${isWrong ? 'bad' : 'wait'}" id="code-problem" role="alert">
<p><strong>${words.title}</strong></p>
<p>${words.text}</p>
</div>`
  }
<form class="code-form" method="post" action="${action}">
<label for="purchase_code">Purchase code</label>
<input id="purchase_code" name="purchase_code" type="text" required maxlength="200" value="${problem?.entered}"
 autocomplete="off" autocapitalize="off" spellcheck="false"
 aria-describedby="${words && 'code-problem '}code-hint"${isWrong && html` aria-invalid="true"`}${words && html` autofocus`}>
<p class="hint" id="code-hint">It is on your receipt: 36 characters, as in 1b9d6bcd-bbfd-4b2d-9b5d-ab8dfbbd4bed.</p>
<button class="button">${button}</button>
</form>`;
}

export const redeemView = (problem?: CodeProblem): Html => html`<div class="narrow">
<h1>Redeem a purchase code</h1>
<p class="lead">Enter the code of something you bought. You can then download it from your account.</p>
<div class="panel">
${codeForm('/redeem', 'Redeem', problem)}
</div>
</div>`;

/** The customer's own page. */
export function accountView(
  customer: Customer,
  purchases: readonly OwnPurchase[],
  justAdded: string | undefined,
  now: number,
): Html {
  return html`<h1>Your account</h1>
${addedNotice(justAdded)}
<section class="panel profile" aria-label="Profile">
${avatar(customer, 96)}
<div>
<h2>${customer.name}</h2>
${customer.email && html`<p>${customer.email}</p>`}
</div>
</section>
<section aria-labelledby="purchases">
<div class="row"><h2 id="purchases">Your purchases</h2><a class="button quiet" href="/redeem">Redeem ${purchases.length > 0 ? 'another' : 'a'} code</a></div>
${
  purchases.length > 0
    ? html`<ul class="owned">${purchases.map((own) => ownPurchase(own, now))}</ul>`
    : html`<div class="empty"><p>Nothing here yet. Redeem the purchase code of something you bought to download it.</p></div>`
}
</section>`;
}

function ownPurchase(own: OwnPurchase, now: number): Html {
  const picture = webUrl(own.thumbnail);
  return html`<li class="panel own">
<div class="thumb small">${picture && html`<img src="${picture}" alt="" loading="lazy" width="96" height="96">`}</div>
<div class="own-body">
<h3><a href="/items/${own.itemId}">${own.itemName}</a></h3>
<dl class="facts">
<div><dt>Covers</dt><dd>Downloads${own.version && html`, now version ${own.version}`}</dd></div>
${own.licence && html`<div><dt>Licence</dt><dd>${own.licence}</dd></div>`}
<div><dt>Support</dt><dd>${support(own, now)}</dd></div>
${own.boughtOn && html`<div><dt>Bought</dt><dd>${day(own.boughtOn)}</dd></div>`}
<div><dt>Code</dt><dd>ends in <code>${own.code.slice(-4)}</code></dd></div>
</dl>
</div>
<div class="own-do">
<a class="button" href="/items/${own.itemId}/download">Download<span class="visually-hidden"> ${own.itemName}</span></a>
${
  isSupported(own, now)
    ? html`<a class="button quiet" href="/items/${own.itemId}/support">Get support<span class="visually-hidden"> for ${own.itemName}</span></a>`
    : html`<a class="button quiet" href="/items/${own.itemId}/renew">Renew support<span class="visually-hidden"> for ${own.itemName}</span></a>`
}
</div>
</li>`;
}

const isSupported = ({ supportedUntil }: OwnPurchase, now: number): boolean =>
  Date.parse(supportedUntil ?? '') > now;

/** Some deployments leave out the date once it has passed. */
function support(own: OwnPurchase, now: number): Html {
  const until = own.supportedUntil;
  if (until === undefined) return html`<span class="badge">None at present</span>`;
  return isSupported(own, now)
    ? html`<span class="badge good">Until ${day(until)}</span>`
    : html`<span class="badge warn">Ended on ${day(until)}</span>`;
}

export function supportView(purchase: Purchase, email: string | undefined): Html {
  const name = nameOf(purchase.item);
  return html`<div class="narrow">
<h1>Support for ${name}</h1>
${purchase.supported_until && html`<p class="lead">Yours until ${day(purchase.supported_until)}.</p>`}
<div class="panel">
${writeTo(email, `Support for ${name} (item ${purchase.item.id})`)}
</div>
<p><a href="/items/${purchase.item.id}">Back to ${name}</a></p>
</div>`;
}

/** For customers whose support has ended: it is renewed where the item was bought. */
export function renewView(item: Item, buyUrl: string, email: string | undefined): Html {
  const name = nameOf(item);
  return html`<div class="narrow">
<h1>Renew support for ${name}</h1>
<p class="lead">Support is renewed on the marketplace, with the account you bought it with. It counts here a few minutes later.</p>
<div class="panel">
<p><a class="button" href="${buyUrl}" rel="noreferrer">Renew on the marketplace</a></p>
${email && html`<p class="small">Something does not work? <a href="${mailTo(email, `Renewing support for ${name} (item ${item.id})`)}">Write to us</a></p>`}
</div>
<p><a href="/items/${item.id}">Back to ${name}</a></p>
</div>`;
}

export const contactView = (email: string | undefined): Html => html`<div class="narrow">
<h1>Contact</h1>
<p class="lead">Questions about an item, a licence or your account.</p>
<div class="panel">
${
  email
    ? html`<p><a class="button" href="${mailTo(email, 'A question')}">Write to ${email}</a></p>`
    : html`<p>Please use the contact form on the marketplace.</p>`
}
</div>
</div>`;

const mailTo = (email: string, subject: string): string =>
  `mailto:${email}?subject=${encodeURIComponent(subject)}`;

const writeTo = (email: string | undefined, subject: string): Html =>
  email
    ? html`<p>Tell us what you did, what you expected, and what happened instead.</p>
<p><a class="button" href="${mailTo(email, subject)}">Write to ${email}</a></p>`
    : html`<p>Please use the contact form on the marketplace.</p>`;
