import { html } from '../../html.js';
import type { SandboxContext } from '../context.js';
import { listCodes, type SandboxCode } from '../data/codes.js';
import type { Page } from './page.js';

const ENDPOINTS = {
  'Key API': [
    ['GET', '/api/account/details', 'account of the api_key'],
    ['GET', '/api/items/all', 'all items, newest first'],
    ['GET', '/api/items/item', 'one item, by item_id'],
    ['POST', '/api/purchases/validation', 'the purchase of a purchase_code'],
  ],
  'Login with app': [
    ['GET', '/api/oauth', 'login and consent, then back with auth_key'],
    ['POST', '/api/authorize', 'auth_key for access_token, once'],
    ['GET', '/api/get_user_info', 'the profile, for one hour'],
  ],
};

const TONES: Readonly<Record<string, string>> = {
  refunded: 'badge bad',
  cancelled: 'badge bad',
  'other-workspace': 'badge bad',
  'support-over': 'badge warn',
  unsupported: 'badge warn',
};

/** The kind of a code, in a colour that says whether it is valid. */
export const kindBadge = ({ kind }: SandboxCode) =>
  html`<span class="${TONES[kind] ?? 'badge'}">${kind}</span>`;

const endpoints = ([title, rows]: [string, string[][]]) => html`
<section class="card"><h2>${title}</h2>
<table class="stack"><tbody>${rows.map(
  ([method, path, text]) =>
    html`<tr><td><code>${method}</code> <code>${path}</code></td><td class="muted">${text}</td></tr>`,
)}</tbody></table></section>`;

/** The home page: what this is, its endpoints, codes to try, and the shelf of items. */
export const homePage = ({ data, clock }: SandboxContext): Page => ({
  title: 'Overview',
  current: '/',
  body: html`<div class="lead"><h1>The marketplace service, on your machine</h1>
<p>Both interfaces of the service, with made-up accounts, items, purchases and users. Point your app here while you build it; keys and faults are in the <a href="/sandbox/console">console</a>.</p></div>
<div class="columns">${Object.entries(ENDPOINTS).map(endpoints)}</div>
<section class="card"><h2>Codes to try</h2>
<div class="scroll" role="region" aria-label="Purchase codes" tabindex="0"><table class="stack">
<thead><tr><th>Purchase code</th><th>Kind</th><th>Item</th><th>What to expect</th></tr></thead>
<tbody>${listCodes(data, clock.now()).map(
    (code) => html`<tr><td><code>${code.code}</code></td>
<td>${kindBadge(code)}</td>
<td>${code.item_name} <span class="muted small">${code.item_id}, ${code.license_type}</span></td>
<td class="muted">${code.description}</td></tr>`,
  )}</tbody></table></div></section>
<section class="card"><h2>Items</h2><ul class="shelf">${data.items
    .filter((item) => !item.deleted)
    .map(
      (item) => html`<li><a href="/preview/${item.id}">
<img src="/media/items/${item.id}/thumbnail.svg" alt="" loading="lazy" width="240" height="240">
<span><b>${item.name}</b><br><span class="muted small">${item.category}, ${item.id}</span></span></a></li>`,
    )}</ul></section>`,
});
