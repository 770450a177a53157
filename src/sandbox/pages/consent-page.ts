import { html, trusted } from '../../html.js';
import type { LoginAttempt } from '../login-api/login-attempts.js';
import type { SeedApp, SeedUser } from '../seed/types.js';
import type { Page } from './page.js';
import { displayName } from './user-name.js';

const TICK = trusted(
  '<svg viewBox="0 0 20 20" aria-hidden="true"><path d="M4 10.500l4 4 8-9" fill="none" stroke="currentColor" stroke-width="2.400" stroke-linecap="round" stroke-linejoin="round"/></svg>',
);

/** What get_user_info hands over, in the words of a user. */
const GRANTS = [
  'Your name, user name and pictures',
  'Your e-mail address, and whether you are verified',
  'Your birth date, gender and relationship, where you filled them in',
  'Your biography and website',
];

/** Consent: accept sends an auth_key to the app, cancel sends it nothing. */
export const consentPage = (
  app: Readonly<SeedApp>,
  user: Readonly<SeedUser>,
  attempt: LoginAttempt,
): Page => ({
  title: `Allow ${app.name}?`,
  isNarrow: true,
  body: html`<section class="card">
<div class="pair">
<img class="tile" src="/media/apps/${encodeURIComponent(app.app_id)}/icon.svg" alt="" width="52" height="52">
<img class="tile round" src="/media/users/${encodeURIComponent(user.user_id)}/picture.svg" alt="" width="52" height="52">
</div>
<div class="lead center"><h1>${app.name} wants to know who you are</h1></div>
<div class="who">
<p><b>${displayName(user)}</b><br><span class="muted small">${user.user_email}</span></p>
<a class="small" href="/sandbox/logout?attempt=${attempt.id}">Switch user</a>
</div>
<div><p class="muted">If you accept, the app can read, for one hour:</p></div>
<ul class="grants">${GRANTS.map((grant) => html`<li>${TICK}<span>${grant}</span></li>`)}</ul>
<form method="post" action="/sandbox/consent" class="actions">
<input type="hidden" name="attempt" value="${attempt.id}">
<button type="submit" name="decision" value="cancel">Cancel</button>
<button type="submit" name="decision" value="accept" class="primary">Accept</button>
</form>
<p class="muted small center">Accepting takes you to <code>${new URL(attempt.redirectUrl).host || attempt.redirectUrl}</code></p>
</section>`,
});
