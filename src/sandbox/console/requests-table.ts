import { type Html, html } from '../../html/html.js';
import type { SandboxRequest } from '../record.js';

const SHOWN = 25;

function tone(status: number): string {
  if (status === 0) return 'badge plain';
  if (status >= 500) return 'badge bad';
  return status >= 400 ? 'badge warn' : 'badge';
}

/** The latest requests, newest first. */
export function requestsTable(requests: readonly SandboxRequest[]): Html {
  const rows = requests
    .filter((request) => request.interface !== 'media')
    .slice(-SHOWN)
    .reverse();
  if (rows.length === 0) {
    return html`<p class="muted">Nothing has been asked yet. Requests of your app show up here as they come in.</p>`;
  }
  return html`<div class="scroll"><table class="stack">
<thead><tr><th>Time</th><th>Status</th><th>Request</th><th>Parameters</th><th>ms</th></tr></thead>
<tbody>${rows.map(
    (request) => html`<tr><td class="muted">${new Date(request.at).toISOString().slice(11, 19)}</td>
<td><span class="${tone(request.status)}">${request.status || 'open'}</span></td>
<td><code>${request.method} ${request.path}</code></td>
<td class="muted small">${Object.entries(request.params)
      .map(([name, value]) => `${name}=${value}`)
      .join(' ')}</td>
<td class="muted">${request.durationMs}</td></tr>`,
  )}</tbody></table></div>`;
}
