import { html } from '../../html.js';
import type { SeedApp, SeedUser } from '../data/schema.js';
import type { Page } from '../pages.js';

type App = Readonly<SeedApp>;
type User = Readonly<SeedUser>;

/** A user's name as people write it, or the user name where no other was given. */
export const displayName = ({ user_firstname, user_lastname, user_name }: User): string =>
  [user_firstname, user_lastname].filter(Boolean).join(' ') || user_name;

/** Log in: choose a user. A real service would ask for a password here. */
export const loginPage = (app: App, users: readonly User[], attempt: string): Page => ({
  formTarget: app.redirect_url,
  title: `Log in to go on to ${app.name}`,
  content: html`<p>Choose a test user. No password is needed here.</p>
<form method="post" action="/sandbox/login">
<input type="hidden" name="attempt" value="${attempt}">
${users.map((user) => html`<button name="user_id" value="${user.user_id}">${displayName(user)}</button>\n`)}
</form>`,
});

/** Consent: accept sends an auth_key to the app, cancel sends it nothing. */
export const consentPage = (app: App, user: User, attempt: string): Page => ({
  formTarget: app.redirect_url,
  title: `${app.name} wants to know who you are`,
  content: html`<p>You are <strong>${displayName(user)}</strong>, ${user.user_email}. <a href="/api/oauth?app_id=${app.app_id}">Switch user</a></p>
<p>If you accept, the app can read for one hour: your name, pictures and e-mail address, and what you filled in of your birth date, gender, relationship, biography and website.</p>
<form method="post" action="/sandbox/consent">
<input type="hidden" name="attempt" value="${attempt}">
<button name="decision" value="cancel">Cancel</button>
<button name="decision" value="accept" class="main">Accept</button>
</form>
<p>Accepting takes you to ${app.redirect_url}.</p>`,
});

/** /api/oauth without an app_id, or with one that nobody registered. */
export const unknownAppPage = (): Page => ({
  status: 404,
  title: 'This app is not known here',
  content: html`<p>The address names no registered app: its <code>app_id</code> is missing or wrong. The ids that this sandbox knows are in the <a href="/sandbox/console#credentials">console</a>.</p>`,
});

/** /api/oauth of an app that has no redirect URL. How one is registered is "not shown". */
export const registerPage = (app: App): Page => ({
  status: 400,
  title: `${app.name} has no redirect URL yet`,
  content: html`<p>After you accept, the browser must go back to the app, and the sandbox does not know where that is. Register it in the <a href="/sandbox/console#credentials">console</a>, or in code: <code>createSandbox({ redirectUrl })</code>; for another app than the first <code>sandbox.data.<wbr>setRedirectUrl(appId, url)</code>.</p>`,
});

/** A form that was sent twice, or is another browser's. */
export const outdatedPage = (): Page => ({
  status: 400,
  title: 'This page is out of date',
  content: html`<p>The login it belongs to was finished, or was started in another browser. Go back to the app and log in again from there.</p>`,
});

export const cancelledPage = (app: App, attempt: string): Page => ({
  title: 'Nothing was shared',
  content: html`<p>You did not let ${app.name} know who you are. You can close this page, or <a href="/sandbox/login?attempt=${attempt}">go back to the question</a>.</p>`,
});
