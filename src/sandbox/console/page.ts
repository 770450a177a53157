import { readFileSync } from 'node:fs';
import { type Html, html, trusted } from '../../html.js';
import { API } from '../actions.js';
import { timestamp } from '../clock.js';
import type { SandboxContext } from '../context.js';
import { codeOf, firstCredentials, type SandboxData } from '../data/sandbox-data.js';
import type { SeedApp, SeedPurchase, SeedWorkspace } from '../data/schema.js';
import type { SandboxRequest } from '../record.js';
import { SWITCHES, type Switch, switchValues, textOf } from '../switches.js';

export const CONSOLE = '/sandbox/console';

const STYLE = readFileSync(new URL('./browser/console.css', import.meta.url), 'utf8');

const SECTIONS = ['Purchases', 'Credentials', 'Clock', 'Requests', 'Faults', 'Dialect'];

/** The console: what sellers need first, then live requests, and the switches, folded. */
export const consolePage = (context: SandboxContext, origin: string): Html => html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>Console · marketgate sandbox</title>
<style>${trusted(STYLE)}</style>
<script src="${CONSOLE}/script.js" defer></script>
</head>
<body>
<header><div class="bar"><h1>Marketplace sandbox</h1>
<noscript>Without JavaScript, this page does not stay up to date, and its switches do not act.</noscript>
<p class="pill" id="live" role="status">Connecting</p></div>
${startBar(context, origin)}</header>
<nav aria-label="On this page">${SECTIONS.map(
  (title) => html`<a href="#${title.toLowerCase()}">${title}</a>`,
)}</nav>
<main><div class="console">
${purchasesSection(context)}
<div class="column">
${credentialsSection(context)}
${clockSection(context)}
</div></div>
${requestsSection(context)}
${switchesSection('faults', 'What goes wrong on the endpoints of both APIs, never on pages', context)}
${switchesSection('dialect', 'How deployments differ from the specification', context)}
</main>
<p class="toast" id="said" role="status"></p>
</body>
</html>
`;

/** A section that stays up to date. */
function section(title: string, actions: unknown, content: Html): Html {
  const id = title.toLowerCase();
  return html`<section class="card" id="${id}" aria-labelledby="${id}-title" data-live>
<div class="bar"><h2 id="${id}-title" tabindex="-1">${title}</h2>${actions}</div>
${content}</section>`;
}

/** What is asked for most: a code that works, and what to set the app up with. */
function startBar({ data, clock }: SandboxContext, origin: string): Html {
  const now = clock.now();
  const found = data.purchases
    .map((each) => codeOf(data, each, now))
    .find(({ state }) => state === 'supported');
  return html`<div class="bar start" id="start" data-live>${
    found &&
    html`<p>A valid code, for ${found.item_name}: <code>${found.code}</code></p>
${copyButton(found.code, 'Copy code that is valid', 'Copy code')}`
  }
${copyButton(environmentOf(data, origin), 'Copy .env', 'Copy .env')}</div>`;
}

const table = (label: string, columns: readonly unknown[], rows: Html | Html[]): Html =>
  html`<table aria-label="${label}"><thead><tr>${columns.map((each) => html`<th scope="col">${each}</th>`)}</tr></thead><tbody>${rows}</tbody></table>`;

const copyButton = (text: string, name: string, label = 'Copy'): Html =>
  html`<button type="button" data-copy="${text}" aria-label="${name}">${label}</button>`;

/** A button that is a form: it posts one field of an action. */
const action = (path: string, name: string, value: string, label: string, of: string, tone = '') =>
  html`<form method="post" action="${API}/${path}"><button class="${tone}" name="${name}" value="${value}" aria-label="${label}${of}">${label}</button></form>`;

function requestRow(request: SandboxRequest): Html {
  const { status, method, path, params, body, msg, durationMs, isOpen } = request;
  const time = new Date(request.at).toISOString();
  const tone = status >= 500 ? ' bad' : status >= 400 ? ' warn' : status === 0 ? ' plain' : '';
  const sent = Object.entries(typeof body === 'string' ? { ...params, body } : params);
  return html`<tr class="request">
<td class="muted"><time datetime="${time}">${time.slice(11, 19)}</time></td>
<td><span class="badge${tone}">${status || (isOpen ? 'open' : 'no answer')}</span></td>
<td><code><b>${method}</b> ${path}</code></td>
<td>${sent.map(([name, value]) => html`<span class="param"><b>${name}</b> ${value}</span> `)}${msg !== undefined && html`${sent.length > 0 && html`<br>`}“${msg}”`}</td>
<td class="muted">${isOpen ? '' : html`${durationMs} ms`}</td></tr>`;
}

/** How many requests are shown. */
const SHOWN = 25;

function requestsSection({ record }: SandboxContext): Html {
  const requests = record.list().filter((request) => request.interface !== 'media');
  const none = html`<tr><td colspan="5">Nothing has been asked yet. Requests of your app show up here as they come in.</td></tr>`;
  return section(
    'Requests',
    action('reset', 'names', 'requests', 'Clear', ' the requests'),
    html`${table(
      'Requests, newest first',
      ['Time', 'Status', 'Request', 'What was sent', 'Took'],
      requests.length > 0 ? requests.slice(-SHOWN).reverse().map(requestRow) : none,
    )}
${requests.length > SHOWN && html`<p class="muted">These are the newest ${SHOWN}. <a href="${API}/requests">All ${requests.length}, with bodies</a></p>`}`,
  );
}

/** A code with what to expect of it, and what can be done to it. */
function purchaseRow({ data, clock }: SandboxContext, purchase: Readonly<SeedPurchase>): Html {
  const { code, state, item_id, item_name, license_type, description } = codeOf(
    data,
    purchase,
    clock.now(),
  );
  const tone = state === 'supported' ? '' : /^(un|support-)/.test(state) ? ' warn' : ' bad';
  const of = `: ${item_name}, ${state}, …${code.slice(-4)}`;
  const act = (path: string, label: string, style = '') =>
    action(path, 'purchase_code', code, label, of, style);
  return html`<tr><td><code>${code}</code><br><span class="badge${tone}">${state}</span></td>
<td>${item_name} <span class="muted">${item_id}, ${license_type}</span><br><span class="muted">${description}</span></td>
<td><div class="row-actions">${copyButton(code, `Copy the code${of}`)}
${purchase.void ? act('unrefund', 'Take back') : act('renew', 'Renew')}
${state === 'supported' && act('end-support', 'End support')}
${!purchase.void && act('refund', 'Refund', 'danger')}</div></td></tr>`;
}

/** Those that were added come first, the last one before the others; then in the order of the seed. */
function purchasesSection(context: SandboxContext): Html {
  const { purchases, items } = context.data;
  const added = purchases.filter(({ kind }) => kind === 'added').reverse();
  const rows = [...added, ...purchases.filter(({ kind }) => kind !== 'added')];
  const actions = html`<span class="hide">Actions</span>`;
  return section(
    'Purchases',
    html`<a href="${API}/export" download="sandbox.json">Export the data</a>${action('reset', 'names', 'data', 'Reset', ' the data')}`,
    html`<details id="add-purchase"><summary>Add a purchase</summary>
<form method="post" action="${API}/add-purchase" class="fields">
<label>Item<select name="item_id">${items.map(
      (item) => html`<option value="${item.id}">${item.id} ${item.name}</option>`,
    )}</select></label>
<label>License<select name="license_type"><option>Regular</option><option>Extended</option></select></label>
<label>Support<select name="support"><option value="ahead">for half a year</option><option value="over">over</option><option value="none">none</option></select></label>
<button class="primary">Add a purchase</button>
</form></details>
${table(
  'Purchase codes',
  ['Purchase code', 'Item, and what to expect', actions],
  rows.map((each) => purchaseRow(context, each)),
)}`,
  );
}

const fact = (name: string, value: string, of: string): Html =>
  html`<dt>${name}</dt><dd><code>${value}</code>${copyButton(value, `Copy the ${name} of ${of}`)}</dd>`;

const keyEntry = ({ id, api_key, name }: Readonly<SeedWorkspace>): Html => html`<div class="entry">
<h3>${name.full_name} <span class="muted">workspace ${id}</span></h3>
<dl>${fact('apiKey', api_key, id)}</dl>
${action('rotate-key', 'workspace', id, 'New key', ` for ${id}`)}</div>`;

const appEntry = ({ name, ...app }: Readonly<SeedApp>): Html => html`<div class="entry">
<h3>${name} <span class="muted">app</span></h3>
<dl>${fact('appId', app.app_id, name)}${fact('appSecret', app.app_secret, name)}</dl>
<form method="post" action="${API}/set-redirect" class="inline">
<input type="hidden" name="app_id" value="${app.app_id}">
<label>Logins lead back to<input name="redirect_url" type="url" aria-label="Logins lead back to, for ${name}" value="${app.redirect_url}" placeholder="http://localhost:3000/callback"></label>
<button aria-label="Register the redirect URL of ${name}">Register</button></form></div>`;

function environmentOf(data: SandboxData, origin: string): string {
  const { apiKey, appId, appSecret } = firstCredentials(data);
  return `MARKETPLACE_BASE_URL=${origin}
MARKETPLACE_API_KEY=${apiKey}
MARKETPLACE_AUTH_URL=${origin}
MARKETPLACE_APP_ID=${appId}
MARKETPLACE_APP_SECRET=${appSecret}`;
}

const credentialsSection = ({ data }: SandboxContext): Html =>
  section(
    'Credentials',
    undefined,
    html`${data.apps.map(appEntry)}${data.workspaces.map(keyEntry)}`,
  );

function clockSection({ clock }: SandboxContext): Html {
  const now = timestamp(clock.now());
  const steps = { '+ 10 minutes': '10m', '+ 1 hour': '1h', '+ 1 day': '1d', '+ 30 days': '30d' };
  return section(
    'Clock',
    action('clock', 'reset', 'true', 'Reset clock', ''),
    html`<p class="time"><time datetime="${now}">${now.replace('T', ' ').replace('Z', ' UTC')}</time></p>
<p class="muted">An access_token lives one hour. Support dates are compared with this clock.</p>
<form method="post" action="${API}/clock" class="inline">${Object.entries(steps).map(
      ([label, step]) => html`<button name="advance" value="${step}">${label}</button>`,
    )}</form>`,
  );
}

function control(name: string, entry: Switch, value: unknown): Html {
  const { choices } = entry;
  const common = trusted(`id="${name}" name="${name}" data-switch`);
  if (!choices) return html`<input ${common} value="${textOf(entry.unit, value)}">`;
  if (choices.length === 2 && choices.includes(true)) {
    return html`<input type="checkbox" role="switch" ${common}${value !== false && trusted(' checked')}>`;
  }
  const labelOf = (choice: unknown) =>
    choice === true ? 'on' : choice === false ? 'off' : String(choice ?? 'as usual');
  return html`<select ${common}>${choices.map(
    (choice) =>
      html`<option value="${JSON.stringify(choice ?? null)}"${choice === value && trusted(' selected')}>${labelOf(choice)}</option>`,
  )}</select>`;
}

/** All switches of a group. They act at once, through the script. */
function switchesSection(group: 'faults' | 'dialect', text: string, context: SandboxContext): Html {
  /** Those of one endpoint or one API. Forms set the general ones only. */
  const scoped = Object.entries(switchValues(context)).filter(
    ([name]) => group === 'faults' && name.includes('@'),
  );
  let on = scoped.length;
  const switches = SWITCHES.filter((each) => each.group === group);
  const rows = switches.map(({ name, key, entry }) => {
    const value: unknown = Reflect.get(context[group], key);
    const isOn = value !== entry.initial;
    if (isOn) on++;
    return html`<li class="switch${isOn && ' on'}">
<label for="${name}">${entry.about} <code class="muted">${key}</code></label>
<div class="control">${control(name, entry, value)}</div></li>`;
  });
  const title = group === 'faults' ? 'Faults' : 'Dialect';
  return section(
    title,
    html`${on > 0 && html`<span class="badge warn">${on} on</span>`}${action('reset', 'names', group, 'Reset', ` the ${group}`)}`,
    html`${scoped.length > 0 && html`<p>For some endpoints: ${scoped.map(([name, value]) => html`<code>${name}=${JSON.stringify(value)}</code> `)}</p>`}
<details><summary>${text}</summary><ul class="switches">${rows}</ul></details>`,
  );
}
