import { type Html, html } from '../../html.js';
import type { SandboxContext } from '../context.js';
import { listCodes, type SandboxCode } from '../data/codes.js';
import { codeTone } from '../pages/home-page.js';
import type { SeedPurchase } from '../seed/types.js';
import { copyButton } from './copy-button.js';

const add = ({ data }: SandboxContext): Html => html`
<form method="post" action="/sandbox/console/purchases" class="fields" data-keep>
<label class="field">Item<select name="item_id">${data.items.map(
  (item) => html`<option value="${item.id}">${item.id} ${item.name}</option>`,
)}</select></label>
<label class="field">License<select name="license_type"><option>Regular</option><option>Extended</option></select></label>
<label class="field">Support<select name="support"><option value="ahead">for half a year</option><option value="over">over</option><option value="none">none</option></select></label>
<div class="field end"><button class="primary">Add a purchase</button></div>
</form>`;

/** What can still be done to a purchase: nothing once it is refunded. */
function actions(purchase: Readonly<SeedPurchase>, code: SandboxCode, now: number): Html {
  const { purchase_code, supported_until, void: gone } = purchase;
  const isSupported = supported_until !== undefined && Date.parse(supported_until) > now;
  const of = `${code.item_name}, ${code.kind}`;
  const button = (action: string, label: string, tone = ''): Html =>
    html`<form method="post" action="/sandbox/console/${action}"><button class="quiet${tone}" name="purchase_code" value="${purchase_code}" aria-label="${label}: ${of}">${label}</button></form>`;
  return html`<div class="row-actions">${copyButton(purchase_code, `the code: ${of}`)}${
    !gone && isSupported && button('expire', 'End support')
  }${!gone && button('refund', 'Refund', ' danger')}</div>`;
}

/** Every purchase code with what to expect of it; newest first. */
export function purchasesSection(context: SandboxContext): Html {
  const { data, clock } = context;
  const now = clock.now();
  const codes = listCodes(data, now);
  const rows = data.purchases
    .map((purchase, index) => ({ purchase, code: codes[index] }))
    .sort((a, b) => Date.parse(b.purchase.date) - Date.parse(a.purchase.date));
  return html`<section class="card" id="purchases" data-live aria-labelledby="purchases-title">
<div class="bar"><h2 id="purchases-title" tabindex="-1">Purchases</h2></div>${add(context)}
<div class="scroll" role="region" aria-label="Purchase codes, newest first" tabindex="0"><table class="stack">
<thead><tr><th scope="col">Purchase code</th><th scope="col">Item, and what to expect</th><th scope="col"><span class="hide">Actions</span></th></tr></thead>
<tbody>${rows.map(
    ({ purchase, code }) =>
      code &&
      html`<tr><td><code class="code">${code.code}</code><br><span class="${codeTone(code)}">${code.kind}</span></td>
<td>${code.item_name} <span class="muted small">${code.item_id}, ${code.license_type}</span><br><span class="muted">${code.description}</span></td>
<td>${actions(purchase, code, now)}</td></tr>`,
  )}</tbody></table></div></section>`;
}
