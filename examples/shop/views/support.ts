import type { Purchase } from 'marketgate';
import { nameOfItem } from '../purchases.js';
import { day } from './format.js';
import { type Html, html } from './html.js';

interface Support {
  purchase: Purchase;
  /** Where the author can be reached. */
  email: string | undefined;
}

/** For customers whose support period still runs. */
export function supportView({ purchase, email }: Support): Html {
  const name = nameOfItem(purchase.item);
  const subject = encodeURIComponent(`Support for ${name} (item ${purchase.item.id})`);
  return html`<div class="narrow">
<h1>Support for ${name}</h1>
${purchase.supported_until && html`<p class="lead">Yours until ${day(purchase.supported_until)}.</p>`}
<div class="panel">
${
  email
    ? html`<p>Write to the author and say what you did, what you expected, and what happened instead.</p>
<p><a class="button" href="mailto:${email}?subject=${subject}">Write to ${email}</a></p>`
    : html`<p>The author has left no address. Please use the contact form on the marketplace.</p>`
}
</div>
<p><a href="/items/${purchase.item.id}">Back to ${name}</a></p>
</div>`;
}
