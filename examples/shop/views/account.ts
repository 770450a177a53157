import type { Customer } from '../customer.js';
import type { OwnPurchase } from '../purchases.js';
import { avatar } from './avatar.js';
import { day, webUrl } from './format.js';
import { type Html, html } from './html.js';

interface Account {
  customer: Customer;
  purchases: readonly OwnPurchase[];
  /** The name of an item that was redeemed a moment ago. */
  added: string | undefined;
  now: number;
}

/** The customer's own page. */
export function accountView({ customer, purchases, added, now }: Account): Html {
  return html`<h1>Your account</h1>
${added && html`<div class="notice good" role="status"><p><strong>${added} is now yours here.</strong></p><p>The code was accepted. You can download the item below.</p></div>`}
<section class="panel profile" aria-label="Profile">
${avatar(customer, 'large')}
<div>
<h2>${customer.name}</h2>
${profile(customer)}
<p><a class="button quiet" href="/account/refresh">Refresh my details</a></p>
</div>
</section>
<section aria-labelledby="purchases">
<div class="row"><h2 id="purchases">Your purchases</h2><a class="button quiet" href="/redeem">Redeem ${purchases.length > 0 ? 'another' : 'a'} code</a></div>
${
  purchases.length > 0
    ? html`<ul class="owned">${purchases.map((own) => purchase(own, now))}</ul>`
    : html`<div class="empty"><p>Nothing here yet. Redeem the purchase code of something you bought to download it.</p></div>`
}
</section>`;
}

function profile({ username, email, verified, registered }: Customer): Html {
  const row = (name: string, value: Html | string | undefined) =>
    value && html`<div><dt>${name}</dt><dd>${value}</dd></div>`;
  return html`<dl class="facts">
${row('User name', username)}
${row('E-mail', email)}
${row('Verified', verified ? html`<span class="badge good">Verified</span>` : html`<span class="badge">Not verified</span>`)}
${row('Member since', registered && day(registered))}
</dl>`;
}

function purchase(own: OwnPurchase, now: number): Html {
  const picture = webUrl(own.thumbnail);
  const isSupported = Date.parse(own.supportedUntil ?? '') > now;
  return html`<li class="panel own">
<div class="thumb small">${picture && html`<img src="${picture}" alt="" loading="lazy" width="96" height="96">`}</div>
<div class="own-body">
<h3><a href="/items/${own.itemId}">${own.itemName}</a></h3>
<dl class="facts">
<div><dt>Covers</dt><dd>Downloads${own.version && html`, now version ${own.version}`}</dd></div>
${own.licence && html`<div><dt>Licence</dt><dd>${own.licence}</dd></div>`}
${own.bought && html`<div><dt>Bought</dt><dd>${day(own.bought)}</dd></div>`}
<div><dt>Support</dt><dd>${support(own.supportedUntil, isSupported)}</dd></div>
<div><dt>Code</dt><dd>ends in <code>${own.code.slice(-4)}</code></dd></div>
</dl>
</div>
<div class="own-do">
<a class="button" href="/items/${own.itemId}/download">Download<span class="visually-hidden"> ${own.itemName}</span></a>
${isSupported && html`<a class="button quiet" href="/items/${own.itemId}/support">Get support<span class="visually-hidden"> for ${own.itemName}</span></a>`}
</div>
</li>`;
}

/** Most deployments leave the date out once it is past, so its absence says one of two things. */
function support(until: string | undefined, isSupported: boolean): Html {
  if (until === undefined) return html`<span class="badge">Over, or not included</span>`;
  return isSupported
    ? html`<span class="badge good">Until ${day(until)}</span>`
    : html`<span class="badge warn">Ended on ${day(until)}</span>`;
}
