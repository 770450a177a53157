import { type Html, html } from '../html.js';
import { pictureUrl } from './media.js';
import type { Page } from './pages.js';
import type { SeedApp, SeedUser } from './schema.js';

type App = Readonly<SeedApp>;
type User = Readonly<SeedUser>;

/** A user's name as people write it, or the user name where no other was given. */
export const displayName = ({ user_firstname, user_lastname, user_name }: User): string =>
  [user_firstname, user_lastname].filter(Boolean).join(' ') || user_name;

/** A user with picture and e-mail address. */
const account = (user: User): Html =>
  html`<img src="${pictureUrl(user)}" alt=""><span><b>${displayName(user)}</b><small>${user.user_email}</small></span>`;

/** Log in: choose a user. A real service would ask for a password here. */
export const loginPage = (app: App, users: readonly User[], attempt: string): Page => ({
  app: app.name,
  formTarget: app.redirect_url,
  title: `Log in to go on to ${app.name}`,
  content: html`<p>Choose an account.</p>
<form method="post" action="/sandbox/login" class="accounts">
<input type="hidden" name="attempt" value="${attempt}">
${users.map((user) => html`<button class="account" name="user_id" value="${user.user_id}">${account(user)}</button>\n`)}
</form>`,
});

/** Consent: accept sends an auth_key to the app, cancel sends it nothing. */
export const consentPage = (app: App, user: User, attempt: string): Page => ({
  app: app.name,
  formTarget: app.redirect_url,
  title: `${app.name} wants to know who you are`,
  content: html`<div class="account">${account(user)}</div>
<p>If you accept, it can read for one hour:</p>
<ul><li>your name and your pictures</li><li>your e-mail address</li><li>what you filled in of your birth date, gender, relationship, biography and website</li></ul>
<form method="post" action="/sandbox/consent">
<input type="hidden" name="attempt" value="${attempt}">
<button name="decision" value="cancel">Cancel</button>
<button name="decision" value="accept" class="main">Accept</button>
</form>
<p><small>Accepting takes you to ${app.redirect_url}. <a href="/api/oauth?app_id=${app.app_id}">Use another account</a></small></p>`,
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
