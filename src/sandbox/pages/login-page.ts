import { html } from '../../html.js';
import type { LoginAttempt } from '../login-api/login-attempts.js';
import type { SeedApp, SeedUser } from '../seed/types.js';
import type { Page } from './page.js';
import { displayName } from './user-name.js';

const person = (user: Readonly<SeedUser>) => html`<li>
<button type="submit" name="user_id" value="${user.user_id}">
<img class="round" src="/media/users/${encodeURIComponent(user.user_id)}/picture.svg" alt="" width="42" height="42">
<span class="grow"><b>${displayName(user)}</b><span class="muted small">${user.user_name}</span></span>
${
  user.user_verified === '1'
    ? html`<span class="badge">verified</span>`
    : html`<span class="badge plain">not verified</span>`
}
</button></li>`;

/** Log in: choose who to be. A real service would ask for a password here. */
export const loginPage = (
  app: Readonly<SeedApp>,
  users: readonly Readonly<SeedUser>[],
  attempt: LoginAttempt,
): Page => ({
  title: `Log in to ${app.name}`,
  isNarrow: true,
  body: html`<section class="card">
<img class="tile" src="/media/apps/${encodeURIComponent(app.app_id)}/icon.svg" alt="" width="52" height="52">
<div class="lead"><h1>Log in to go on to ${app.name}</h1>
<p>Choose a test user. No password is needed here.</p></div>
<form method="post" action="/sandbox/login">
<input type="hidden" name="attempt" value="${attempt.id}">
<ul class="people">${users.map(person)}</ul>
</form>
</section>`,
});
