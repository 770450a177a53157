import { readFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { type Html, html, trusted } from '../../html.js';
import { timestamp } from '../clock.js';
import type { SandboxContext } from '../context.js';
import { examine, firstCredentials, type SandboxData } from '../data/sandbox-data.js';
import type { SeedApp, SeedPurchase, SeedUser, SeedWorkspace } from '../data/schema.js';
import { displayName } from '../login-api/pages.js';
import type { SandboxRequest } from '../record.js';
import { SWITCHES, type Switch, switchValues } from '../switches.js';

export const CONSOLE = '/sandbox/console';

const STYLE = readFileSync(new URL('./browser/console.css', import.meta.url), 'utf8');

const SECTIONS = ['Purchases', 'Requests', 'Users', 'Credentials', 'Clock', 'Faults', 'Dialect'];

/** The console: live requests, and everything that can be copied or changed while the sandbox runs. */
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
<header><div class="bar"><h1>Console</h1>
<noscript>Without JavaScript, this page does not stay up to date, and its switches do not act.</noscript>
<p class="pill" id="live" role="status">Connecting</p></div>
${startBar(context, origin)}</header>
<nav aria-label="On this page">${SECTIONS.map(
  (title) => html`<a href="#${title.toLowerCase()}">${title}</a>`,
)}</nav>
<main><div class="console"><div class="column">
${purchasesSection(context)}
${requestsSection(context)}
${usersSection(context)}
</div><div class="column">
${credentialsSection(context, origin)}
${clockSection(context)}
${switchesSection('faults', 'What goes wrong, on the endpoints of both APIs; pages are spared.', context)}
</div></div>
${switchesSection('dialect', 'How deployments differ from the specification.', context)}
</main>
<p class="toast" id="said" role="status"></p>
</body>
</html>
`;

/** A section that stays up to date, unless only a part of it does. */
function section(
  title: string,
  actions: unknown,
  content: Html,
  live = trusted(' data-live'),
): Html {
  const id = title.toLowerCase();
  return html`<section class="card" id="${id}" aria-labelledby="${id}-title"${live}>
<div class="bar"><h2 id="${id}-title" tabindex="-1">${title}</h2>${actions}</div>
${content}</section>`;
}

/** What is asked for most: a code that works, and what to set the app up with. */
function startBar({ data, clock }: SandboxContext, origin: string): Html {
  const now = clock.now();
  const found = data.purchases.map((each) => examine(data, each, now)).find((it) => it.isSupported);
  return html`<div class="bar start" id="start" data-live>${
    found &&
    html`<p>A valid code, for ${found.code.item_name}: <code>${found.code.code}</code></p>
${copyButton(found.code.code, 'Copy code that is valid', 'Copy code')}`
  }
${copyButton(environmentOf(data, origin), 'Copy .env', 'Copy .env')}</div>`;
}

/** A list or a table that scrolls by itself, so that the page stays short. */
const scroll = (name: string, content: Html): Html =>
  html`<div class="scroll" role="region" aria-label="${name}" tabindex="0">${content}</div>`;

/** A button that copies. Its accessible name, which begins with its label, says what. */
const copyButton = (text: string, name: string, label = 'Copy'): Html =>
  html`<button type="button" data-copy="${text}" aria-label="${name}">${label}</button>`;

/** A button that is a form: it posts one field to the console. */
const action = (path: string, name: string, value: string, label: string, of: string, tone = '') =>
  html`<form method="post" action="${CONSOLE}/${path}"><button class="${tone}" name="${name}" value="${value}" aria-label="${label}${of}">${label}</button></form>`;

function requestRow(request: SandboxRequest): Html {
  const { status, method, path, params, body, msg, durationMs, isOpen } = request;
  const time = new Date(request.at).toISOString();
  const tone = status >= 500 ? ' bad' : status >= 400 ? ' warn' : status === 0 ? ' plain' : '';
  const sent = typeof body === 'string' ? { ...params, body } : params;
  return html`<tr data-interface="${request.interface}">
<td class="muted"><time datetime="${time}">${time.slice(11, 19)}</time></td>
<td><span class="badge${tone}">${status || (isOpen ? 'open' : 'no answer')}</span></td>
<td><code><b>${method}</b> ${path}</code></td>
<td>${Object.entries(sent).map(
    ([name, value]) => html`<span class="param"><b>${name}</b> ${value}</span> `,
  )}${msg !== undefined && html`<br>“${msg}”`}</td>
<td class="muted number">${durationMs} ms</td></tr>`;
}

function requestsSection({ record }: SandboxContext): Html {
  const requests = record.list().filter((request) => request.interface !== 'media');
  const none = html`<tr><td colspan="5">Nothing has been asked yet. Requests of your app show up here as they come in.</td></tr>`;
  return section(
    'Requests',
    action('reset', 'names', 'requests', 'Clear', ' the requests'),
    scroll(
      'Requests, newest first',
      html`<table>
<thead><tr><th scope="col">Time</th><th scope="col">Status</th><th scope="col">Request</th><th scope="col">What was sent</th><th scope="col" class="number">Took</th></tr></thead>
<tbody id="rows" data-live>${requests.length > 0 ? requests.slice(-100).reverse().map(requestRow) : none}</tbody></table>`,
    ),
    html``,
  );
}

/** A code with what to expect of it, and what can be done to it. */
function purchaseRow({ data, clock }: SandboxContext, purchase: Readonly<SeedPurchase>): Html {
  const { code: shown, badge, isValid, isSupported } = examine(data, purchase, clock.now());
  const { code, item_id, item_name, license_type, description } = shown;
  const tone = isSupported ? '' : isValid ? ' warn' : ' bad';
  const of = `: ${item_name}, ${badge}`;
  const act = (path: string, label: string, style = '') =>
    action(path, 'purchase_code', code, label, of, style);
  return html`<tr><td><code>${code}</code><br><span class="badge${tone}">${badge}</span></td>
<td>${item_name} <span class="muted">${item_id}, ${license_type}</span><br><span class="muted">${description}</span></td>
<td><div class="row-actions">${copyButton(code, `Copy the code${of}`)}
${purchase.void ? act('unrefund', 'Take back') : act('renew', 'Renew')}
${isSupported && act('end-support', 'End support')}
${!purchase.void && act('refund', 'Refund', 'danger')}</div></td></tr>`;
}

/** Those that were added come first, the last one before the others; then in the order of the seed. */
function purchasesSection(context: SandboxContext): Html {
  const { purchases, items } = context.data;
  const added = purchases.filter(({ kind }) => kind === 'added').reverse();
  const rows = [...added, ...purchases.filter(({ kind }) => kind !== 'added')];
  return section(
    'Purchases',
    undefined,
    html`${scroll(
      'Purchase codes',
      html`<table>
<thead><tr><th scope="col">Purchase code</th><th scope="col">Item, and what to expect</th><th scope="col"><span class="hide">Actions</span></th></tr></thead>
<tbody>${rows.map((each) => purchaseRow(context, each))}</tbody></table>`,
    )}
<details id="add-purchase"><summary>Add a purchase</summary>
<form method="post" action="${CONSOLE}/add-purchase" class="fields">
<label>Item<select name="item_id">${items.map(
      (item) => html`<option value="${item.id}">${item.id} ${item.name}</option>`,
    )}</select></label>
<label>License<select name="license_type"><option>Regular</option><option>Extended</option></select></label>
<label>Support<select name="support"><option value="ahead">for half a year</option><option value="over">over</option><option value="none">none</option></select></label>
<button class="primary">Add a purchase</button>
</form></details>`,
  );
}

const userEntry = (user: Readonly<SeedUser>): Html => html`<li class="who">
<p><b>${displayName(user)}</b>${user.user_verified !== '1' && html` <span class="badge plain">not verified</span>`}<br>
<span class="muted"><code>${user.user_id}</code> ${user.user_email}</span></p>
${copyButton(user.user_id, `Copy id of ${displayName(user)}`, 'Copy id')}</li>`;

/** Who can log in, and who has: users and their access_tokens. */
function usersSection({ data, credentials }: SandboxContext): Html {
  const tokens = credentials.liveTokens().slice(0, 50);
  const tokenEntry = ({ value, userId, appId, expiresAt }: (typeof tokens)[number]): Html => {
    const user = data.users.find(({ user_id }) => user_id === userId);
    const app = data.apps.find(({ app_id }) => app_id === appId);
    const name = user ? displayName(user) : `user ${userId}, who is gone`;
    return html`<li class="who"><p><b>${name}</b> <span class="muted">in ${app?.name ?? appId}</span><br>
<span class="muted"><code>${value.slice(0, 8)}…</code> until ${timestamp(expiresAt).slice(11, 19)} UTC</span></p>
${copyButton(value, `Copy the access_token of ${name}`)}
${action('revoke-token', 'access_token', value, 'Revoke', ` the access_token of ${name}`, 'danger')}</li>`;
  };
  const none = html`<li class="muted">None is alive. One appears when a login of your app is complete.</li>`;
  return section(
    'Users',
    html`<a href="/sandbox/logout">Log out of the login pages</a>`,
    html`${scroll('All users', html`<ul class="list">${data.users.map(userEntry)}</ul>`)}
<h3>Access tokens</h3>
${scroll('Access tokens', html`<ul class="list">${tokens.length > 0 ? tokens.map(tokenEntry) : none}</ul>`)}`,
  );
}

const fact = (name: string, value: string, of: string): Html =>
  html`<dt>${name}</dt><dd><code>${value}</code>${copyButton(value, `Copy the ${name} of ${of}`)}</dd>`;

const keyEntry = ({ id, api_key, name }: Readonly<SeedWorkspace>): Html => html`<div class="entry">
<h3>${name.full_name} <span class="muted">workspace ${id}</span></h3>
<dl>${api_key ? fact('apiKey', api_key, id) : html`<dt>apiKey</dt><dd><span class="badge bad">revoked</span></dd>`}</dl>
<div class="inline">${action('rotate-key', 'workspace', id, 'New key', ` for ${id}`)}
${api_key && action('revoke-key', 'workspace', id, 'Revoke', ` the key of ${id}`, 'danger')}</div></div>`;

const appEntry = ({ name, ...app }: Readonly<SeedApp>): Html => html`<div class="entry">
<h3>${name} <span class="muted">app</span></h3>
<dl>${fact('appId', app.app_id, name)}${fact('appSecret', app.app_secret, name)}</dl>
<form method="post" action="${CONSOLE}/set-redirect" class="inline">
<input type="hidden" name="app_id" value="${app.app_id}">
<input name="redirect_url" type="url" aria-label="redirectUrl of ${name}" value="${app.redirect_url}" placeholder="redirect URL">
<button aria-label="Register the redirect URL of ${name}">Register</button></form></div>`;

function environmentOf(data: SandboxData, origin: string): string {
  const { apiKey, appId, appSecret } = firstCredentials(data);
  return `MARKETPLACE_BASE_URL=${origin}
MARKETPLACE_API_KEY=${apiKey}
MARKETPLACE_AUTH_URL=${origin}
MARKETPLACE_APP_ID=${appId}
MARKETPLACE_APP_SECRET=${appSecret}`;
}

const credentialsSection = ({ data }: SandboxContext, origin: string): Html =>
  section(
    'Credentials',
    undefined,
    html`<pre>${environmentOf(data, origin)}</pre>
${scroll('Keys and apps', html`${data.workspaces.map(keyEntry)}${data.apps.map(appEntry)}`)}`,
  );

const HOUR = 3_600_000;
const STEPS = {
  '+ 10 minutes': 1 / 6,
  '+ 1 hour': 1,
  '+ 1 day': 24,
  '+ 30 days': 720,
  '− 1 day': -24,
};

function clockSection({ clock }: SandboxContext): Html {
  const now = clock.now();
  return section(
    'Clock',
    action('clock', 'reset', 'true', 'Set right', ''),
    html`<p class="time"><time data-now="${now}" datetime="${timestamp(now)}">${timestamp(now).replace('T', ' ').replace('Z', ' UTC')}</time></p>
<p class="muted">An access_token lives one hour. Support dates are compared with this clock.</p>
<form method="post" action="${CONSOLE}/clock" class="inline">${Object.entries(STEPS).map(
      ([label, step]) => html`<button name="advance" value="${step * HOUR}">${label}</button>`,
    )}</form>`,
  );
}

function choiceText(value: unknown, names: Switch['names'] = {}): string {
  const name = names[JSON.stringify(value)];
  if (name !== undefined) return name;
  if (typeof value === 'boolean') return value ? 'on' : 'off';
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? 'not set');
}

function control(name: string, { choices, unit, names }: Switch, value: unknown): Html {
  const common = trusted(`id="${name}" name="${name}" data-switch`);
  if (!choices) {
    const isRange = Array.isArray(value);
    return html`<input type="${isRange ? 'text' : 'number'}" min="0" step="any" inputmode="decimal" ${common} value="${isRange ? JSON.stringify(value) : value}" placeholder="${unit}" aria-describedby="${name}-unit"><span class="muted" id="${name}-unit">${unit}</span>`;
  }
  if (choices.length === 2 && choices.includes(true)) {
    return html`<input type="checkbox" role="switch" ${common}${value !== false && trusted(' checked')}>`;
  }
  const isSet = (choice: unknown) => isDeepStrictEqual(choice, value);
  // A program can have set what no form offers; that stays until something else is chosen.
  const all = choices.some(isSet) ? choices : [...choices, value];
  return html`<select ${common}>${all.map(
    (choice) =>
      html`<option value="${JSON.stringify(choice ?? null)}"${isSet(choice) && trusted(' selected')}>${choiceText(choice, names)}</option>`,
  )}</select>`;
}

/** All switches of a group. They act at once, through the script. */
function switchesSection(group: 'faults' | 'dialect', text: string, context: SandboxContext): Html {
  const names = new Set(SWITCHES.map(({ name }) => name));
  /** Those of one endpoint or one API. Forms set the general ones only. */
  const scoped = Object.entries(group === 'faults' ? switchValues(context) : {}).filter(
    ([name]) => !names.has(name),
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
  return section(
    group === 'faults' ? 'Faults' : 'Dialect',
    html`${on > 0 && html`<span class="badge warn">${on} on</span>`}${action('reset', 'names', group, 'Reset', ` the ${group}`)}`,
    html`<p class="muted">${text}</p>
${scoped.length > 0 && html`<p>Also: ${scoped.map(([name, value]) => html`<code>${name}=${JSON.stringify(value)}</code> `)}</p>`}
${scroll(group === 'faults' ? 'All faults' : 'All differences', html`<ul class="switches">${rows}</ul>`)}`,
  );
}
