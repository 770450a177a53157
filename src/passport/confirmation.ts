import { hash } from 'node:crypto';
import type { Request, Response } from 'express';
import { html, trusted } from '../html.js';
import type { AccessToken } from '../model/access-token.js';
import { type Site, sitePage, sitePolicy } from '../site.js';
import { type LoginState, type OpenLogin, randomId, shortHash } from './login-state.js';
import type { MarketplaceProfile } from './verify.js';

/**
 * What a login would change: `login` where nobody is logged in; where somebody is, `connect` with `passport.authorize`,
 * which adds this account to the user's own, and `switch`, which logs in somebody else.
 */
export type LoginChange = 'login' | 'connect' | 'switch';

/** What the "Continue as NAME?" page asks about. */
export interface Confirmation {
  /** The account's display name, which anybody can take. */
  readonly name: string;
  /** The account's user name, which no other account has. */
  readonly username: string;
  /** What "Continue" does. */
  readonly change: LoginChange;
  /** The form's target, by GET: the callback, as a relative reference. */
  readonly action: string;
  /** The form's hidden fields. The buttons add `answer`: "continue" or "cancel". */
  readonly fields: Readonly<Record<string, string>>;
}

/** Responds with the app's own page, a form to `action`. The headers are set already. It can be async. */
export type RenderConfirmation = (
  confirmation: Confirmation,
  req: Request,
  res: Response,
) => unknown;

/**
 * When the visitor is asked: always (`true`), when the login was begun by neither this site nor the visitor (`'auto'`),
 * or not (`false`). With each of them, also where somebody is logged in already and the account is not the one that they
 * have logged in with, and for ten minutes after a callback without a login attempt.
 */
export type ConfirmWhen = 'auto' | boolean;

/**
 * Whether a login asks the visitor.
 *
 * @param state of the browser, before the login.
 * @param account a {@link shortHash} of the account that logs in.
 */
export function mustAsk(when: ConfirmWhen, state: LoginState, account: string): boolean {
  const { who, mark, logins } = state;
  if (when === true) return true;
  // A renewal changes nothing.
  if (who !== undefined && account === state.account) return false;
  if (who !== undefined || mark !== undefined) return true;
  // The service does not say which attempt a callback belongs to, so one of another site is enough.
  return when === 'auto' && logins.some(({ foreign }) => foreign);
}

/** Of the package's own name: everything else in the query of a start is the app's, as in "/login?confirm=1". */
const PARAMETER = 'marketgate';

/** Where a browser looks again, whose session another process can have replaced. */
export const AGAIN = 'again';

/** What the query says about a page that asks; without an `answer` it requests the page. */
export interface Asked {
  /** Of the login that waits, or {@link AGAIN}. */
  readonly id: string;
  readonly answer: 'continue' | 'cancel' | undefined;
}

/** What the query says about a page that asks; `undefined` when it is not about one. */
export function readAsked({ [PARAMETER]: id, answer }: Record<string, unknown>): Asked | undefined {
  if (typeof id !== 'string' || !(id === AGAIN || /^[\w-]{22}$/.test(id))) return undefined;
  return { id, answer: answer === 'continue' || answer === 'cancel' ? answer : undefined };
}

/**
 * The page, relative to the callback, so that it is also found below a path that a proxy strips. It does not repeat the
 * auth_key, so that a reload shows the page again.
 */
export const askedQuery = (id: string): string => `?${PARAMETER}=${id}`;

/** The most characters of a name that are kept. An account can have a name of any length. */
const MAX_NAME = 50;
const shortName = (name: string): string => [...name].slice(0, MAX_NAME).join('');

/** The login that waits for "Continue", in place of its attempt. */
export const waitingLogin = (
  { foreign }: OpenLogin,
  authKey: string,
  token: AccessToken,
  { id, displayName = id, username = id }: MarketplaceProfile,
  at: number,
): OpenLogin => ({
  ...{ id: randomId(), at, foreign },
  waiting: {
    ...{ key: shortHash(authKey), token, account: shortHash(id) },
    ...{ name: shortName(displayName), username: shortName(username) },
  },
});

/**
 * The script of the page ignores clicks on "Continue" for 600 ms after the page or its window has appeared: such a click
 * can be the second half of a double click that began in a window in front of this one. The page works without scripts, too.
 *
 * `aria-disabled` keeps the button reachable by keyboard, which cannot press it by mistake.
 */
const SCRIPT = `{
const button = document.querySelector('button.main');
let timer;
const pause = () => {
  clearTimeout(timer);
  button.ariaDisabled = 'true';
  timer = setTimeout(() => { button.ariaDisabled = null; }, 600);
};
pause();
addEventListener('focus', pause);
addEventListener('pageshow', pause);
document.addEventListener('visibilitychange', pause);
button.addEventListener('click', (event) => {
  if (event.detail > 0 && button.ariaDisabled) event.preventDefault();
});
}`;

const SCRIPT_POLICY = `script-src 'sha256-${hash('sha256', SCRIPT, 'base64')}'`;

const WHAT_CHANGES: Record<LoginChange, string> = {
  login: 'You are about to log in with this marketplace account.',
  connect:
    'You are logged in here already. This marketplace account will be connected to your account here: whoever can log in with it can then use your account.',
  switch:
    'You are logged in here already. If you go on, you will be logged in with this marketplace account instead.',
};
const WARNING = 'If it is not yours, do not go on: somebody may want you to use theirs.';

/**
 * The default "Continue as NAME?" page. Its form uses GET, because the app's callback is a GET route. No
 * other site can forge the answer, because only this page has the id.
 */
function confirmationPage(
  { name, username, change, action, fields }: Confirmation,
  site: Site | undefined,
): string {
  const words = site?.words?.continue ?? {};
  const { title = 'Continue as {name}?', userName = 'User name' } = words;
  const [before, after] = title.split('{name}', 2);
  const content = html`<h1>${before}${after !== undefined && html`<bdi>${name}</bdi>${after}`}</h1>
<p>${userName} <strong><bdi>${username}</bdi></strong></p>
<p>${words[change] ?? WHAT_CHANGES[change]} ${words.warning ?? WARNING}</p>
<form method="get" action="${action}">
${Object.entries(fields).map(([field, value]) => html`<input type="hidden" name="${field}" value="${value}">`)}
<button class="main" name="answer" value="continue">${words.button ?? 'Continue'}</button>
<button name="answer" value="cancel">${words.cancel ?? 'Not me'}</button>
</form>
${trusted(`<script>${SCRIPT}</script>`)}`;
  return sitePage(
    site,
    title.replace('{name}', () => name),
    content,
  );
}

/** Responds with the page that asks: the app's own or {@link confirmationPage}. */
export async function sendPage(
  req: Request,
  res: Response,
  { id, waiting }: OpenLogin,
  change: LoginChange,
  render: RenderConfirmation | undefined,
  site: Site | undefined,
): Promise<void> {
  setPageHeaders(res, `${sitePolicy(site)}; ${SCRIPT_POLICY}`);
  const { name = '', username = '' } = waiting ?? {};
  const form = { action: askedQuery(id), fields: { [PARAMETER]: id } };
  const confirmation = { name, username, change, ...form };
  if (render === undefined) res.end(confirmationPage(confirmation, site));
  else await render(confirmation, req, res);
}

/** Responds with a page that looks again after two seconds. */
export function sendPageThatLooksAgain(res: Response, site: Site | undefined): void {
  setPageHeaders(res, sitePolicy(site));
  res.setHeader('Refresh', `2; url=${askedQuery(AGAIN)}`);
  const content = html`<h1>One moment</h1>
<p>This login is being completed.</p>
<p><a href="${askedQuery(AGAIN)}">Continue</a></p>`;
  res.end(sitePage(site, 'One moment', content));
}

/** No frames, so that the visitor sees what a click is for. */
function setPageHeaders(res: Response, policy: string): void {
  res.statusCode = 200;
  res.setHeader('Content-Security-Policy', policy);
  res.setHeader('X-Frame-Options', 'DENY');
  res.setHeader('X-Content-Type-Options', 'nosniff');
  res.setHeader('Referrer-Policy', 'no-referrer');
  res.setHeader('Content-Type', 'text/html; charset=utf-8');
}
