import { type Html, html } from '../../html.js';
import type { NumberedRequest } from '../record.js';

/** How many requests a console shows. */
export const ROWS = 100;

/** What the list can be narrowed down to, with the words on its buttons. */
const VIEWS = {
  all: 'All',
  'key-api': 'Key API',
  'login-api': 'Login API',
  page: 'Pages',
  failed: 'Failed',
};

function tone(status: number): string {
  if (status === 0) return 'badge plain';
  if (status >= 500) return 'badge bad';
  return status >= 400 ? 'badge warn' : 'badge';
}

const parameters = (params: Readonly<Record<string, string>>): Html[] =>
  Object.entries(params).map(
    ([name, value]) => html`<span class="param"><b>${name}</b> ${value}</span> `,
  );

/** One request. `number` is how the script finds it again when it is answered. */
export const requestRow = (request: NumberedRequest): Html =>
  html`<tr data-number="${request.number}" data-interface="${request.interface}" data-failed="${request.status === 0 || request.status >= 400 ? 'yes' : 'no'}">
<td class="muted nowrap"><time datetime="${new Date(request.at).toISOString()}">${new Date(request.at).toISOString().slice(11, 19)}</time></td>
<td><span class="${tone(request.status)}">${request.status || 'open'}</span></td>
<td class="what"><code><b class="method">${request.method}</b> ${request.path}</code></td>
<td class="small params">${parameters(request.params)}</td>
<td class="muted number">${request.durationMs} ms</td></tr>`;

const NOTHING = html`<tr class="empty"><td colspan="5">Nothing has been asked yet. Requests of your app show up here as they come in.</td></tr>`;

/** The latest requests, newest first. */
export function requestsSection(requests: readonly NumberedRequest[]): Html {
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
<tbody id="rows" data-live data-most="${ROWS}">${requests.length === 0 ? NOTHING : [...requests].reverse().map(requestRow)}</tbody></table></div></section>`;
}
