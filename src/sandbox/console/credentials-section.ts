import { type Html, html } from '../../html.js';
import type { SandboxContext } from '../context.js';
import type { SeedApp, SeedWorkspace } from '../seed/types.js';
import { copyable, copyButton } from './copy-button.js';

/** What an app that uses this sandbox has in its `.env`: the names that the examples use. */
function environment({ data }: SandboxContext, origin: string): string {
  const [workspace] = data.workspaces;
  const [app] = data.apps;
  return [
    `MARKETPLACE_BASE_URL=${origin}`,
    `MARKETPLACE_API_KEY=${workspace?.api_key ?? ''}`,
    `MARKETPLACE_AUTH_URL=${origin}`,
    `MARKETPLACE_APP_ID=${app?.app_id ?? ''}`,
    `MARKETPLACE_APP_SECRET=${app?.app_secret ?? ''}`,
  ].join('\n');
}

const keyOf = (workspace: Readonly<SeedWorkspace>): Html => html`<div class="entry">
<h3>${workspace.name.full_name} <span class="muted">workspace ${workspace.id}</span></h3>
<dl class="facts"><dt>apiKey</dt><dd>${
  workspace.api_key
    ? copyable(workspace.api_key, `the apiKey of ${workspace.id}`)
    : html`<span class="badge bad">revoked</span>`
}</dd></dl>
<div class="inline"><form method="post" action="/sandbox/console/rotate"><button class="quiet" name="workspace" value="${workspace.id}" aria-label="Make a new key for ${workspace.id}">New key</button></form>
${workspace.api_key && html`<form method="post" action="/sandbox/console/revoke"><button class="quiet danger" name="workspace" value="${workspace.id}" aria-label="Revoke the key of ${workspace.id}">Revoke</button></form>`}
</div></div>`;

const appOf = (app: Readonly<SeedApp>): Html => html`<div class="entry">
<h3>${app.name} <span class="muted">app</span></h3>
<dl class="facts"><dt>appId</dt><dd>${copyable(app.app_id, `the appId of ${app.name}`)}</dd>
<dt>appSecret</dt><dd>${copyable(app.app_secret, `the appSecret of ${app.name}`)}</dd></dl>
<form method="post" action="/sandbox/console/redirect-url" class="inline" data-keep>
<input type="hidden" name="app_id" value="${app.app_id}">
<input name="redirect_url" type="url" aria-label="redirectUrl of ${app.name}" value="${app.redirect_url}" placeholder="redirect URL: /callback of where the browser came from">
<button class="quiet" aria-label="Register the redirect URL of ${app.name}">Register</button></form></div>`;

/** Addresses, keys and app credentials, to copy, to renew and to revoke. */
export function credentialsSection(context: SandboxContext, origin: string): Html {
  const text = environment(context, origin);
  return html`<section class="card" id="credentials" data-live aria-labelledby="credentials-title">
<div class="bar"><h2 id="credentials-title" tabindex="-1">Credentials</h2>${copyButton(text, 'all of it', 'Copy .env')}</div>
<pre>${text}</pre>
${context.data.workspaces.map(keyOf)}${context.data.apps.map(appOf)}</section>`;
}
