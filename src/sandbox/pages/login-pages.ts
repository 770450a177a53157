import { html, trusted } from '../../html.js';
import type { SeedApp, SeedUser } from '../data/schema.js';
import type { LoginAttempt } from '../login-api/browser-sessions.js';
import { message, type Page } from './page.js';

/** A user's name as people write it, or the user name where no other was given. */
export function displayName(user: Readonly<SeedUser>): string {
  const full = [user.user_firstname, user.user_lastname].filter(Boolean).join(' ');
  return full || user.user_name;
}

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

/** Log in: choose a user. A real service would ask for a password here. */
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

/** /api/oauth without an app_id, or with one that nobody registered. */
export const unknownAppPage = (): Page =>
  message(
    'This app is not known here',
    html`<p>The address that you came by names no registered app: its <code>app_id</code> is missing or wrong.</p>
<p class="muted">If you are setting the app up: the ids that this sandbox knows are in the <a href="/sandbox/console">console</a>. If you are not, go back and tell the app’s makers.</p>`,
  );

/** /api/oauth of an app that has no redirect URL, from a browser that does not say where it came from. */
export const registerPage = (app: Readonly<SeedApp>): Page =>
  message(
    `${app.name} has no redirect URL yet`,
    html`<p>After you accept, the browser must go back to the app, and the sandbox does not know where that is. Register it when the sandbox is made:</p>
<pre>createSandbox({
  redirectUrl: 'http://localhost:3000/callback',
})</pre>
<p class="muted">Or while it runs: <code>sandbox.redirectUrl = '…'</code>, <code>sandbox.data.setRedirectUrl(appId, '…')</code> for another app than the first, or the <a href="/sandbox/console">console</a>. Without any of these, a login that starts from a link on a <code>localhost</code> page goes back to <code>/callback</code> there, if that page lets the browser send a <code>Referer</code>.</p>`,
  );

/** A form that was sent twice, is another browser's, or lay open too long. */
export const outdatedPage = (): Page =>
  message(
    'This page is out of date',
    html`<p>The login it belongs to was finished, was started in another browser, or lay open for more than half an hour.</p><p class="muted">Go back to the app and log in again from there.</p>`,
  );

export const cancelledPage = (app: Readonly<SeedApp>, attempt: LoginAttempt): Page =>
  message(
    'Nothing was shared',
    html`<p>You did not let ${app.name} know who you are, and it does not know that you were asked.</p>
<p class="muted">You can close this page, or <a href="/sandbox/login?attempt=${attempt.id}">go back to the question</a>.</p>`,
  );

export const loggedOutPage = (): Page =>
  message(
    'You are logged out',
    html`<p>The next login asks again who you are, and whether the app may know.</p><p><a href="/">Back to the overview</a></p>`,
  );
