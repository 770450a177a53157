import { type Html, html, trusted } from '../html.js';
import { type Action, API, codesOf } from './actions.js';
import { timestamp } from './clock.js';
import type { SandboxContext } from './context.js';
import { firstCredentials, type SandboxCode, type SandboxData } from './data.js';
import { textFile } from './files.js';
import type { SandboxRequest } from './record.js';
import { SWITCHES, switchesOn, switchValues, textOf } from './switches.js';

export const CONSOLE = '/sandbox/console';

const STYLE = textFile('console.css');

/** What a console shows besides what the sandbox has. */
interface Shown {
  readonly origin: string;
  /** What the last action on each purchase says of what it is now, by its code. */
  readonly saysOf: ReadonlyMap<string, Action['says']>;
  /** What the last action on anything else has said. */
  readonly said: string | undefined;
  /** The id of the item that a shop's links "Buy" and "Renew" name: `/sandbox/console?item=1042`. */
  readonly item: string;
}

/** The console: what a seller does, and the requests that came in, in plain forms which post the fields of an action. */
export function consolePage(context: SandboxContext, shown: Shown): Html {
  const codes = codesOf(context);
  const valid = codes.find(({ state }) => state === 'supported');
  return html`<!doctype html>
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
<header><h1>Test marketplace</h1>
${valid && copyButton(valid.code, 'Copy a valid code')}
${copyButton(environmentOf(context.data, shown.origin), 'Copy .env')}
${clock(context)}</header>
<p class="said" role="status">${shown.said}</p>
<main>
${purchases(context, codes, shown)}
${requests(context)}
${credentials(context.data)}
${switches('faults', 'What goes wrong, on the endpoints of both APIs', context)}
${switches('dialect', 'How deployments differ from the specification', context)}
</main>
</body>
</html>
`;
}

function section(title: string, actions: unknown, content: Html): Html {
  const id = title.toLowerCase();
  return html`<section id="${id}" aria-labelledby="${id}-title">
<div class="bar"><h2 id="${id}-title">${title}</h2>${actions}</div>
${content}</section>`;
}

const copyButton = (text: string, label: string, of = ''): Html =>
  html`<button type="button" data-copy="${text}" aria-label="${label}${of}">${label}</button>`;

/** A button that is a form: it posts one field of an action. */
const button = (action: string, name: string, value: string, label: string, of = ''): Html =>
  html`<form method="post" action="${API}/${action}"><button name="${name}" value="${value}" aria-label="${label}${of}">${label}</button></form>`;

function clock({ clock: { now } }: SandboxContext): Html {
  const time = timestamp(now());
  const steps = { '+ 10 minutes': '10m', '+ 1 hour': '1h', '+ 1 day': '1d', '+ 30 days': '30d' };
  return html`<div class="clock" role="group" aria-label="Clock"><span id="time" data-live><time datetime="${time}">${time.slice(0, -4).replace('T', ' ')} UTC</time></span>
${Object.entries(steps).map(([label, step]) => button('clock', 'advance', step, label))}
${button('clock', 'reset', 'true', 'Reset', ' the clock')}</div>`;
}

const option = (value: unknown, label: unknown, isSelected: boolean): Html =>
  html`<option value="${value}"${isSelected && trusted(' selected')}>${label}</option>`;

/** The purchases of the item that a shop has named come first, then those that were added, the last one first. */
function purchases(
  { data }: SandboxContext,
  codes: readonly SandboxCode[],
  { saysOf, item }: Shown,
): Html {
  const named = data.items.find(({ id }) => String(id) === item);
  const rank = ({ code: { item_id, kind }, index }: { code: SandboxCode; index: number }) =>
    (item_id === named?.id ? 0 : 2e6) + (kind === 'added' ? -index : 1e6 + index);
  const rows = codes.map((code, index) => ({ code, index })).sort((a, b) => rank(a) - rank(b));
  const [, shop] = /^(https?:\/\/[^/]+)/.exec(data.apps[0]?.redirect_url ?? '') ?? [];
  return section(
    'Purchases',
    html`<a href="${API}/export" download="sandbox.json">Export the data</a>${button('reset', 'names', 'data', 'Reset', ' the data')}`,
    html`${named && html`<p><b>${named.name}</b>: sell it here, or renew the support of a purchase below.</p>`}
<form method="post" action="${API}/add-purchase" class="sell">
<label class="grow">Item <select name="item_id">${data.items.map(({ id, name }) => option(id, `${id} ${name}`, id === named?.id))}</select></label>
<label>License <select name="license_type"><option>Regular</option><option>Extended</option></select></label>
<label>Support <select name="support"><option value="ahead">half a year</option><option value="over">over</option><option value="none">none</option></select></label>
<button class="main">Sell</button></form>
<table id="codes" aria-label="Purchase codes" data-live><tbody>${rows.map(({ code, index }) => purchase(code, index, saysOf.get(code.code)?.(code as never), shop))}</tbody></table>`,
  );
}

/** A code with what it is now, what can be done to it, and what the last action did. */
function purchase(purchased: SandboxCode, index: number, said?: string, shop?: string): Html {
  const { code, state, kind, item_name, license_type, description } = purchased;
  const of = `: ${item_name}, ${state}, …${code.slice(-4)}`;
  const act = (name: string, label: string) => button(name, 'purchase_code', code, label, of);
  const isVoid = state === 'refunded' || state === 'cancelled';
  const tone = isVoid ? 'bad' : state === 'supported' ? 'good' : 'warn';
  const isSold = kind === 'added' && !isVoid;
  return html`<tr id="purchase-${index}"><td><code>${code}</code></td>
<td><span class="badge ${tone}">${state}</span></td>
<td class="grow" title="${item_name}, ${license_type}. ${description}">${item_name} <small>${license_type}</small></td>
<td class="do">${copyButton(code, 'Copy', ` the code${of}`)}${isVoid ? act('unrefund', 'Take back') : html`${act('renew', 'Renew')}${act('refund', 'Refund')}`}</td></tr>
${
  said &&
  html`<tr class="note"><td colspan="4"><p>${said}</p>
${isSold && html`<p>${copyButton(code, 'Copy code', of)} ${shop && html`<a href="${shop}/">Back to the shop</a>`}</p>`}</td></tr>`
}`;
}

/** How many requests are shown. */
const SHOWN = 40;

function requests({ record }: SandboxContext): Html {
  const list = record.list().filter((each) => each.interface !== 'media');
  const none = html`<tr><td class="grow">Requests of your app show up here.</td></tr>`;
  const rows = list.slice(-SHOWN).reverse().map(request);
  return section(
    'Requests',
    html`<a href="${API}/requests">All, with bodies</a>${button('reset', 'names', 'requests', 'Clear', ' the requests')}`,
    html`<div class="scroll" tabindex="0" role="group" aria-label="Requests, newest first"><table id="request-list" data-live><tbody>${rows.length > 0 ? rows : none}</tbody></table></div>`,
  );
}

function request({ at, status, method, path, params, msg, durationMs, isOpen }: SandboxRequest) {
  const time = new Date(at).toISOString();
  const tone = status >= 500 ? 'bad' : status >= 400 ? 'warn' : status === 0 ? 'plain' : 'good';
  const sent = Object.entries(params).flatMap(([name, value]) =>
    value === '[redacted]' ? [] : [`${name} ${value.replace('[redacted] ', '')}`],
  );
  const more = [msg && `“${msg}”`, ...sent].filter(Boolean).join(', ');
  return html`<tr class="request"><td><time datetime="${time}">${time.slice(11, 19)}</time></td>
<td><span class="badge ${tone}">${status || (isOpen ? 'open' : 'no answer')}</span></td>
<td class="grow" title="${method} ${path} ${more}"><code>${method} ${path}</code> <small>${more}</small></td>
<td><small>${!isOpen && `${Math.round(durationMs)} ms`}</small></td></tr>`;
}

function environmentOf(data: SandboxData, origin: string): string {
  const { apiKey, appId, appSecret } = firstCredentials(data);
  return `MARKETPLACE_BASE_URL=${origin}
MARKETPLACE_API_KEY=${apiKey}
MARKETPLACE_AUTH_URL=${origin}
MARKETPLACE_APP_ID=${appId}
MARKETPLACE_APP_SECRET=${appSecret}`;
}

const value = (name: string, text: string, of: string): Html =>
  html`<span class="value"><small>${name}</small> <code>${text}</code> ${copyButton(text, 'Copy', ` the ${name} of ${of}`)}</span>`;

const credentials = ({ workspaces, apps }: SandboxData): Html =>
  section(
    'Credentials',
    undefined,
    html`${workspaces.map(
      ({
        id,
        name,
        api_key,
      }) => html`<div class="entry"><b>${name.full_name}</b> <small>workspace ${id}</small>
${value('api_key', api_key, id)}
${button('rotate-key', 'workspace', id, 'New key', ` for ${id}`)}</div>`,
    )}${apps.map(
      ({
        name,
        app_id,
        app_secret,
        redirect_url,
      }) => html`<div class="entry"><b>${name}</b> <small>app</small>
${value('app_id', app_id, name)} ${value('app_secret', app_secret, name)}
<form method="post" action="${API}/set-redirect"><input type="hidden" name="app_id" value="${app_id}">
<label>Logins lead back to <input name="redirect_url" type="url" aria-label="Logins of ${name} lead back to" value="${redirect_url}" placeholder="http://localhost:3000/callback"></label> <button aria-label="Register the redirect URL of ${name}">Register</button></form></div>`,
    )}`,
  );

/** All switches of a group, in one form. Those of one endpoint or one API are set by commands and the JSON API. */
function switches(group: 'faults' | 'dialect', text: string, context: SandboxContext): Html {
  const values = switchValues(context);
  const on = switchesOn(values).filter((each) => each.startsWith(`${group}.`));
  const rows = SWITCHES.filter((each) => each.group === group).map(({ name, key, entry }) => {
    const now = textOf(values[name]);
    const labels: Record<string, string> = { true: 'on', false: 'off', null: 'as usual' };
    const options = entry.choices
      ?.map(textOf)
      .map((each) => option(each, labels[each] ?? each, each === now));
    return html`<label><span><b>${key}</b> <small>${entry.about}</small></span>${
      options
        ? html`<select name="${name}">${options}</select>`
        : html`<input name="${name}" value="${now}">`
    }</label>`;
  });
  return section(
    group === 'faults' ? 'Faults' : 'Dialect',
    html`${on.map((each) => html`<span class="badge warn">${each.slice(group.length + 1)}</span>`)}${on.length > 0 && button('reset', 'names', group, 'Reset', ` the ${group}`)}`,
    html`<details${on.length > 0 && trusted(' open')}><summary>${text}</summary><form method="post" action="${API}/set" class="switches">${rows}<button class="main">Set</button></form></details>`,
  );
}
