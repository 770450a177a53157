import { type Html, html } from '../../html/html.js';
import { timestamp } from '../clock.js';
import type { SandboxContext } from '../context.js';
import { listCodes } from '../data/codes.js';
import { DIALECT_SWITCHES } from '../dialect.js';
import { FAULT_SWITCHES } from '../faults/faults.js';
import type { Page } from '../pages/page.js';
import { switchControls } from './controls.js';
import { requestsTable } from './requests-table.js';

const copyable = (text: string): Html =>
  html`<code>${text}</code> <button type="button" class="quiet" data-copy="${text}" hidden>Copy</button>`;

const keys = ({ data }: SandboxContext, origin: string): Html => html`
<section class="card"><h2>Keys</h2><dl class="facts">
<dt>baseUrl, authUrl</dt><dd>${copyable(origin)}</dd>
${data.workspaces.map(
  (
    workspace,
  ) => html`<dt>apiKey of ${workspace.id}</dt><dd>${workspace.api_key ? copyable(workspace.api_key) : 'revoked'}
<form method="post" action="/sandbox/console/rotate"><button class="quiet" name="workspace" value="${workspace.id}">Make a new key</button></form></dd>`,
)}
${data.apps.map(
  (app) => html`<dt>appId of ${app.name}</dt><dd>${copyable(app.app_id)}</dd>
<dt>appSecret</dt><dd>${copyable(app.app_secret)}</dd>
<dt>redirectUrl</dt><dd><form method="post" action="/sandbox/console/redirect-url" class="inline">
<input type="hidden" name="app_id" value="${app.app_id}">
<input name="redirect_url" aria-label="redirectUrl of ${app.name}" value="${app.redirect_url}" placeholder="/callback where the browser came from">
<button class="quiet">Register</button></form></dd>`,
)}</dl></section>`;

const clock = (context: SandboxContext): Html => html`
<section class="card"><h2>Clock</h2>
<p><code>${timestamp(context.clock.now())}</code></p>
<p class="muted small">An access_token lives one hour. Support dates are compared with this clock.</p>
<form method="post" action="/sandbox/console/clock" class="inline">
<button class="quiet" name="advance" value="600000">+ 10 minutes</button>
<button class="quiet" name="advance" value="3600000">+ 1 hour</button>
<button class="quiet" name="advance" value="86400000">+ 1 day</button>
<button class="quiet" name="advance" value="2592000000">+ 30 days</button>
</form></section>`;

const codes = ({ data, clock }: SandboxContext): Html => html`
<section class="card"><h2>Purchases</h2>
<form method="post" action="/sandbox/console/purchases" class="fields">
<label class="field">Item<select name="item_id">${data.items.map(
  (item) => html`<option value="${item.id}">${item.id} ${item.name}</option>`,
)}</select></label>
<label class="field">License<select name="license_type"><option>Regular</option><option>Extended</option></select></label>
<label class="field">Support<select name="support"><option value="ahead">for half a year</option><option value="over">over</option><option value="none">none</option></select></label>
<div class="field end"><button class="primary">Add a purchase</button></div>
</form>
<div class="scroll"><table class="stack"><thead><tr><th>Purchase code</th><th>Item</th><th>What to expect</th><th></th></tr></thead>
<tbody>${listCodes(data, clock.now())
  .reverse()
  .map(
    (code) => html`<tr><td><code>${code.code}</code></td>
<td>${code.item_name} <span class="muted small">${code.item_id}, ${code.license_type}</span></td>
<td class="muted">${code.description}</td>
<td><form method="post" action="/sandbox/console/refund" class="inline last">
<button type="button" class="quiet" data-copy="${code.code}" hidden>Copy</button>
<button class="quiet" name="purchase_code" value="${code.code}">Refund</button></form></td></tr>`,
  )}</tbody></table></div></section>`;

const switches = (title: string, text: string, action: string, board: object, of: object): Html =>
  html`<section class="card"><h2>${title}</h2><p class="muted small">${text}</p>
<form method="post" action="${action}" class="form">${switchControls(board, { ...of })}
<div class="inline"><button class="primary">Apply</button><button name="reset" value="1">Reset</button></div></form></section>`;

/** The console: live requests, keys and codes to copy, purchases, clock, faults and dialect. */
export const consolePage = (context: SandboxContext, origin: string): Page => ({
  title: 'Console',
  current: '/sandbox/console',
  script: '/sandbox/console/script.js',
  body: html`<div class="lead"><h1>Console</h1>
<p>What your app asked, and everything you can change while it runs.</p></div>
<section class="card"><div class="inline"><h2>Requests</h2>
<form method="post" action="/sandbox/console/clear"><button class="quiet">Clear</button></form></div>
<div id="requests">${requestsTable(context.record.list())}</div></section>
${keys(context, origin)}
${codes(context)}
${clock(context)}
${switches('Faults', 'They hit the API endpoints, not pages. “only” takes key-api, login-api or a path.', '/sandbox/console/faults', context.faults, FAULT_SWITCHES)}
${switches('Dialect', 'How deployments differ from the specification.', '/sandbox/console/dialect', context.dialect, DIALECT_SWITCHES)}`,
});
