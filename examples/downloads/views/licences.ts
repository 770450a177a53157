import type { Licence } from '../licences.js';
import { type Html, html } from './html.js';

const day = (iso: string): Html => html`<time datetime="${iso}">${iso.slice(0, 10)}</time>`;

const support = ({ supportedUntil }: Licence, now: number): Html => {
  if (supportedUntil === undefined) return html`without support`;
  return Date.parse(supportedUntil) > now
    ? html`support until ${day(supportedUntil)}`
    : html`support ended on ${day(supportedUntil)}`;
};

const lost = (lostAt: string): Html =>
  html`<p class="lost"><strong>Not valid any more.</strong> Since ${day(lostAt)} the marketplace calls this purchase invalid, as after a refund.</p>`;

const download = (licence: Licence): Html =>
  html`<form method="post" action="/licences/${licence.id}/link"><button>Download<span class="hidden"> ${licence.itemName}</span></button></form>`;

const card = (
  licence: Licence,
  now: number,
): Html => html`<li class="card${licence.lostAt ? ' off' : ''}">
${licence.thumbnail ? html`<img src="${licence.thumbnail}" alt="" width="96" height="72">` : ''}
<div>
<h3>${licence.itemName}</h3>
<p>${licence.kind ?? 'Licence'}${licence.version ? ` · version ${licence.version}` : ''} · ${support(licence, now)}</p>
${licence.lostAt ? lost(licence.lostAt) : ''}
</div>
${licence.lostAt ? '' : download(licence)}
</li>`;

/** The form that turns a purchase code into a licence. What was entered is not sent back: it is a secret. */
const redeem = html`<section aria-labelledby="redeem">
<h2 id="redeem">Redeem a purchase code</h2>
<form class="redeem" method="post" action="/redeem">
<label for="code">Purchase code</label>
<input id="code" name="purchase_code" autocomplete="off" spellcheck="false" required placeholder="xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx">
<button>Redeem</button>
</form>
<p class="hint">Once is enough: the licence stays with your account.</p>
</section>`;

/** What a customer owns, and the form for more. */
export const licencesView = (licences: readonly Licence[], now: number): Html => html`
<section aria-labelledby="yours">
<h2 id="yours">Your licences</h2>
${
  licences.length > 0
    ? html`<ul class="cards">${licences.map((licence) => card(licence, now))}</ul>`
    : html`<p class="empty">None yet. Redeem the code from your receipt, and it is here from then on.</p>`
}
</section>
${redeem}`;

export const welcomeView = html`<p class="lead">Log in with your marketplace account and redeem your purchase code once. From then on your files are here.</p>
<p><a class="button" href="/login">Log in with Marketplace</a></p>`;
