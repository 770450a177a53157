import { type Html, html } from '../../html.js';
import { timestamp } from '../clock.js';
import type { SandboxContext } from '../context.js';
import { listCodes, type SandboxCode } from '../data/codes.js';
import type { SeedApp, SeedPurchase, SeedUser, SeedWorkspace } from '../data/schema.js';
import type { Token } from '../login-api/login-credentials.js';
import { kindBadge } from '../pages/home-page.js';
import { displayName } from '../pages/login-pages.js';
import type { SandboxRequest } from '../record.js';

const MAX_REQUESTS = 100;
const MAX_TOKENS = 50;

/** A button that copies, shown where scripts run. `of` says in words what it copies. */
const copyButton = (text: string, of: string, label = 'Copy'): Html =>
  html`<button type="button" class="quiet" data-copy="${text}" aria-label="${label} ${of}" data-script>${label}</button>`;

const copyable = (text: string, of: string): Html =>
  html`<span class="copyable"><code>${text}</code>${copyButton(text, of)}</span>`;

/** A button that is a form: it posts one field to the console. */
const action = (path: string, name: string, value: string, label: string, of: string, tone = '') =>
  html`<form method="post" action="/sandbox/console/${path}"><button class="quiet${tone}" name="${name}" value="${value}" aria-label="${label}${of}">${label}</button></form>`;

const VIEWS = {
  all: 'All',
  'key-api': 'Key API',
  'login-api': 'Login API',
  page: 'Pages',
  failed: 'Failed',
};

function request({ at, status, method, path, params, durationMs, ...of }: SandboxRequest): Html {
  const time = new Date(at).toISOString();
  const isFailed = status === 0 || status >= 400;
  const tone = status >= 500 ? ' bad' : status >= 400 ? ' warn' : status === 0 ? ' plain' : '';
  return html`<tr data-interface="${of.interface}" data-failed="${isFailed ? 'yes' : 'no'}">
<td class="muted nowrap"><time datetime="${time}">${time.slice(11, 19)}</time></td>
<td><span class="badge${tone}">${status || 'open'}</span></td>
<td class="what"><code><b class="method">${method}</b> ${path}</code></td>
<td class="small params">${Object.entries(params).map(
    ([name, value]) => html`<span class="param"><b>${name}</b> ${value}</span> `,
  )}</td>
<td class="muted number">${durationMs} ms</td></tr>`;
}

export function requestsSection({ record }: SandboxContext): Html {
  const requests = record.latest(MAX_REQUESTS);
  return html`<section class="card" id="requests" aria-labelledby="requests-title">
<div class="bar"><h2 id="requests-title" tabindex="-1">Requests</h2>
<div class="segments" role="group" aria-label="Show" data-script>${Object.entries(VIEWS).map(
    ([view, label]) =>
      html`<button type="button" data-view="${view}" aria-pressed="${view === 'all' ? 'true' : 'false'}">${label}</button>`,
  )}</div>
<div class="inline"><button type="button" class="quiet" id="pause" aria-pressed="false" data-script>Pause</button>
<form method="post" action="/sandbox/console/clear"><button class="quiet">Clear</button></form></div></div>
<div class="scroll tall" role="region" aria-label="Requests, newest first" tabindex="0"><table class="stack requests" data-view="all">
<thead><tr><th scope="col">Time</th><th scope="col">Status</th><th scope="col">Request</th><th scope="col">Parameters</th><th scope="col" class="number">Took</th></tr></thead>
<tbody id="rows" data-live>${
    requests.length > 0
      ? requests.map(request)
      : html`<tr class="empty"><td colspan="5">Nothing has been asked yet. Requests of your app show up here as they come in.</td></tr>`
  }</tbody></table></div></section>`;
}

/** What can still be done to a purchase: nothing once it is refunded. */
function purchaseActions(purchase: SeedPurchase, code: SandboxCode, now: number): Html {
  const { purchase_code, supported_until, void: reason } = purchase;
  const isSupported = supported_until !== undefined && Date.parse(supported_until) > now;
  const of = `: ${code.item_name}, ${code.kind}`;
  const button = (path: string, label: string, tone?: string) =>
    action(path, 'purchase_code', purchase_code, label, of, tone);
  return html`<div class="row-actions">${copyButton(purchase_code, `the code${of}`)}${
    !reason && isSupported && button('expire', 'End support')
  }${!reason && button('refund', 'Refund', ' danger')}</div>`;
}

export function purchasesSection({ data, clock }: SandboxContext): Html {
  const now = clock.now();
  const codes = new Map(listCodes(data, now).map((code) => [code.code, code]));
  const newestFirst = [...data.purchases].sort((a, b) => Date.parse(b.date) - Date.parse(a.date));
  return html`<section class="card" id="purchases" data-live aria-labelledby="purchases-title">
<div class="bar"><h2 id="purchases-title" tabindex="-1">Purchases</h2></div>
<form method="post" action="/sandbox/console/purchases" class="fields" data-keep>
<label class="field">Item<select name="item_id">${data.items.map(
    (item) => html`<option value="${item.id}">${item.id} ${item.name}</option>`,
  )}</select></label>
<label class="field">License<select name="license_type"><option>Regular</option><option>Extended</option></select></label>
<label class="field">Support<select name="support"><option value="ahead">for half a year</option><option value="over">over</option><option value="none">none</option></select></label>
<div class="field end"><button class="primary">Add a purchase</button></div>
</form>
<div class="scroll" role="region" aria-label="Purchase codes, newest first" tabindex="0"><table class="stack">
<thead><tr><th scope="col">Purchase code</th><th scope="col">Item, and what to expect</th><th scope="col"><span class="hide">Actions</span></th></tr></thead>
<tbody>${newestFirst.map((purchase) => {
    const code = codes.get(purchase.purchase_code);
    return (
      code &&
      html`<tr><td><code class="code">${code.code}</code><br>${kindBadge(code)}</td>
<td>${code.item_name} <span class="muted small">${code.item_id}, ${code.license_type}</span><br><span class="muted">${code.description}</span></td>
<td>${purchaseActions(purchase, code, now)}</td></tr>`
    );
  })}</tbody></table></div></section>`;
}

const person = (user: Readonly<SeedUser>): Html => html`<li class="who">
<img class="round" src="/media/users/${encodeURIComponent(user.user_id)}/picture.svg" alt="" width="36" height="36">
<p><b>${displayName(user)}</b>${user.user_verified !== '1' && html` <span class="badge plain">not verified</span>`}<br>
<span class="muted small"><code>${user.user_id}</code> ${user.user_email}</span></p>
${copyButton(user.user_id, `the user_id of ${displayName(user)}`, 'Copy id')}
${copyButton(user.user_email, `the e-mail of ${displayName(user)}`, 'Copy e-mail')}</li>`;

function token({ data }: SandboxContext, { value, userId, appId, expiresAt }: Token): Html {
  const user = data.users.find(({ user_id }) => user_id === userId);
  const app = data.apps.find(({ app_id }) => app_id === appId);
  const name = user ? displayName(user) : `user ${userId}, who is gone`;
  const of = ` the access_token of ${name}`;
  return html`<li class="who"><p><b>${name}</b> <span class="muted">in ${app?.name ?? appId}</span><br>
<span class="muted small"><code>${value.slice(0, 8)}…</code> until ${timestamp(expiresAt).slice(11, 19)} UTC</span></p>
${copyButton(value, of.trim())}
${action('token', 'access_token', value, 'Revoke', of, ' danger')}</li>`;
}

/** Who can log in, and who has: users and their access_tokens. */
export function usersSection(context: SandboxContext): Html {
  const tokens = context.credentials.liveTokens(MAX_TOKENS);
  return html`<section class="card" id="users" data-live aria-labelledby="users-title">
<div class="bar"><h2 id="users-title" tabindex="-1">Users</h2></div>
<ul class="list">${context.data.users.map(person)}</ul>
<h3>Access tokens</h3>
${
  tokens.length === 0
    ? html`<p class="muted">None is alive. One appears when a login of your app is complete.</p>`
    : html`<ul class="list">${tokens.map((each) => token(context, each))}</ul>`
}</section>`;
}

const keyOf = ({ id, api_key, name }: Readonly<SeedWorkspace>): Html => html`<div class="entry">
<h3>${name.full_name} <span class="muted">workspace ${id}</span></h3>
<dl class="facts"><dt>apiKey</dt><dd>${
  api_key ? copyable(api_key, `the apiKey of ${id}`) : html`<span class="badge bad">revoked</span>`
}</dd></dl>
<div class="inline"><form method="post" action="/sandbox/console/rotate"><button class="quiet" name="workspace" value="${id}" aria-label="Make a new key for ${id}">New key</button></form>
${api_key && action('revoke', 'workspace', id, 'Revoke', ` the key of ${id}`, ' danger')}
</div></div>`;

const appOf = ({
  app_id,
  app_secret,
  name,
  redirect_url,
}: Readonly<SeedApp>): Html => html`<div class="entry">
<h3>${name} <span class="muted">app</span></h3>
<dl class="facts"><dt>appId</dt><dd>${copyable(app_id, `the appId of ${name}`)}</dd>
<dt>appSecret</dt><dd>${copyable(app_secret, `the appSecret of ${name}`)}</dd></dl>
<form method="post" action="/sandbox/console/redirect-url" class="inline" data-keep>
<input type="hidden" name="app_id" value="${app_id}">
<input name="redirect_url" type="url" aria-label="redirectUrl of ${name}" value="${redirect_url}" placeholder="redirect URL: /callback of where the browser came from">
<button class="quiet" aria-label="Register the redirect URL of ${name}">Register</button></form></div>`;

export function credentialsSection({ data }: SandboxContext, origin: string): Html {
  const environment = [
    `MARKETPLACE_BASE_URL=${origin}`,
    `MARKETPLACE_API_KEY=${data.workspaces[0]?.api_key ?? ''}`,
    `MARKETPLACE_AUTH_URL=${origin}`,
    `MARKETPLACE_APP_ID=${data.apps[0]?.app_id ?? ''}`,
    `MARKETPLACE_APP_SECRET=${data.apps[0]?.app_secret ?? ''}`,
  ].join('\n');
  return html`<section class="card" id="credentials" data-live aria-labelledby="credentials-title">
<div class="bar"><h2 id="credentials-title" tabindex="-1">Credentials</h2>${copyButton(environment, 'all of it', 'Copy .env')}</div>
<pre>${environment}</pre>
${data.workspaces.map(keyOf)}${data.apps.map(appOf)}</section>`;
}

const STEPS = {
  '+ 10 minutes': 600_000,
  '+ 1 hour': 3_600_000,
  '+ 1 day': 86_400_000,
  '+ 30 days': 2_592_000_000,
  '− 1 day': -86_400_000,
};

export function clockSection({ clock }: SandboxContext): Html {
  const now = clock.now();
  return html`<section class="card" id="clock" data-live aria-labelledby="clock-title">
<div class="bar"><h2 id="clock-title" tabindex="-1">Clock</h2>
<form method="post" action="/sandbox/console/clock"><button class="quiet" name="reset" value="1">Set right</button></form></div>
<p class="time"><time data-now="${now}" datetime="${timestamp(now)}">${timestamp(now).replace('T', ' ').replace('Z', ' UTC')}</time></p>
<p class="muted small">An access_token lives one hour. Support dates are compared with this clock.</p>
<form method="post" action="/sandbox/console/clock" class="inline">${Object.entries(STEPS).map(
    ([label, step]) => html`<button class="quiet" name="advance" value="${step}">${label}</button>`,
  )}</form>
<form method="post" action="/sandbox/console/clock" class="inline" data-keep>
<label class="field grow">Date and time, UTC<input type="datetime-local" step="1" name="set" value="${timestamp(now).slice(0, 19)}"></label>
<button class="quiet end">Set</button></form></section>`;
}
