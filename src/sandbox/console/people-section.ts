import { type Html, html } from '../../html.js';
import { timestamp } from '../clock.js';
import type { SandboxContext } from '../context.js';
import type { LiveToken } from '../login-api/login-credentials.js';
import { displayName } from '../pages/user-name.js';
import type { SeedUser } from '../seed/types.js';
import { copyButton } from './copy-button.js';

const MAX_TOKENS = 50;

const person = (user: Readonly<SeedUser>): Html => html`<li class="who">
<img class="round" src="/media/users/${encodeURIComponent(user.user_id)}/picture.svg" alt="" width="36" height="36">
<p><b>${displayName(user)}</b>${user.user_verified !== '1' && html` <span class="badge plain">not verified</span>`}<br>
<span class="muted small"><code>${user.user_id}</code> ${user.user_email}</span></p>
${copyButton(user.user_id, `the user_id of ${displayName(user)}`, 'Copy id')}
${copyButton(user.user_email, `the e-mail of ${displayName(user)}`, 'Copy e-mail')}</li>`;

function token(context: SandboxContext, { value, userId, appId, expiresAt }: LiveToken): Html {
  const user = context.data.users.find((each) => each.user_id === userId);
  const app = context.data.apps.find((each) => each.app_id === appId);
  const name = user ? displayName(user) : `user ${userId}, who is gone`;
  return html`<li class="who"><p><b>${name}</b> <span class="muted">in ${app?.name ?? appId}</span><br>
<span class="muted small"><code>${value.slice(0, 8)}…</code> until ${timestamp(expiresAt).slice(11, 19)} UTC</span></p>
${copyButton(value, `the access_token of ${name}`)}
<form method="post" action="/sandbox/console/token"><button class="quiet danger" name="access_token" value="${value}" aria-label="Revoke the access_token of ${name}">Revoke</button></form></li>`;
}

/** Who can log in, and who is: users and their access_tokens. */
export function peopleSection(context: SandboxContext): Html {
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
