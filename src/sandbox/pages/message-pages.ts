import { type Html, html } from '../../html.js';
import type { LoginAttempt } from '../login-api/login-attempts.js';
import type { SeedApp } from '../seed/types.js';
import type { Page } from './page.js';

const message = (title: string, text: Html): Page => ({
  title,
  isNarrow: true,
  body: html`<section class="card"><h1>${title}</h1>${text}</section>`,
});

/** /api/oauth without an app_id, or with one nobody registered. */
export const unknownAppPage = (): Page =>
  message(
    'This app is not known here',
    html`<p>The address you came by names no registered app: its <code>app_id</code> is missing or wrong.</p>
<p class="muted">If you are setting the app up: the ids this sandbox knows are in the <a href="/sandbox/console">console</a>. If you are not, go back and tell the app’s makers.</p>`,
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

/** The user said no. */
export const cancelledPage = (app: Readonly<SeedApp>, attempt: LoginAttempt): Page =>
  message(
    'Nothing was shared',
    html`<p>You did not let ${app.name} know who you are, and it was not told that you were asked.</p>
<p class="muted">You can close this page, or <a href="/sandbox/login?attempt=${attempt.id}">go back to the question</a>.</p>`,
  );

/** The browser's session at the sandbox is over. */
export const loggedOutPage = (): Page =>
  message(
    'You are logged out',
    html`<p>The next login asks again who you are, and whether the app may know.</p><p><a href="/">Back to the overview</a></p>`,
  );

/** No such page. */
export const notFoundPage = (): Page =>
  message(
    'There is no such page',
    html`<p>The <a href="/">overview</a> lists every address of this sandbox.</p>`,
  );

/** The sandbox was sent something it cannot read, or failed. */
export const troublePage = (text: string): Page =>
  message('That did not work', html`<p>${text}</p><p><a href="/">Back to the overview</a></p>`);
