import { hash } from 'node:crypto';
import type { Request, Response } from 'express';
import { html, PAGE_POLICY, page, trusted } from '../html.js';
import type { AccessToken } from '../model/access-token.js';
import { isRandomId, type LoginState, type PendingLogin, shortHash } from './login-state.js';
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

const destinationOf = (req: Request): string => req.headers['sec-fetch-dest'] || 'document';
const isFrame = (req: Request): boolean => ['frame', 'iframe'].includes(destinationOf(req));

/** Whether a page of another site sent the browser here. Browsers say so over https and on localhost; old ones never do. */
export const isSentByAnotherSite = ({ headers }: Request): boolean =>
  !['same-origin', 'none'].includes(headers['sec-fetch-site'] || 'none');

/**
 * Whether a login was begun by neither a page of this site nor the visitor, but by another site or a frame. A service
 * worker that forwards a navigation sends "empty". Scripts cannot set the mode "navigate".
 */
export const isStartedElsewhere = (req: Request): boolean =>
  isSentByAnotherSite(req) || !(destinationOf(req) === 'document' || isForwarded(req));

const isForwarded = (req: Request): boolean =>
  destinationOf(req) === 'empty' && req.headers['sec-fetch-mode'] === 'navigate';

/** Whether the browser says that this is no navigation but an image, a script or a `fetch`. */
export function isSubresource(req: Request): boolean {
  const mode = req.headers['sec-fetch-mode'];
  const destination = destinationOf(req);
  if (mode === 'no-cors') return true;
  if (destination === 'document' || isFrame(req)) return false;
  return !isForwarded(req);
}

/**
 * Whether a callback asks the visitor: by what the login would change, and only then by how it began.
 *
 * @param state of the browser, before the callback.
 * @param known the {@link LoginState.known} of this account and of who is logged in; `undefined` for nobody.
 */
export function mustAsk(
  when: ConfirmWhen,
  req: Request,
  { attempts, mark, ...state }: LoginState,
  known: string | undefined,
): boolean {
  if (mark !== undefined || when === true) return true;
  if (known !== undefined) return known !== state.known;
  if (when === false) return false;
  // Another site's page can load the callback in a hidden frame. The service does not say which attempt a
  // callback belongs to, so one foreign attempt is enough.
  return isFrame(req) || attempts.some(({ foreign }) => foreign);
}

/** Of the package's own name: everything else in the query of a start is the app's, as in "/login?confirm=1". */
const PARAMETER = 'marketgate';

/** A confirmation that the query is about, with the visitor's answer to it. */
export interface Confirmed {
  readonly id: string;
  readonly answer: 'continue' | 'cancel' | undefined;
}

/**
 * What the query says about a confirmation; without an `answer` it requests the page. `undefined` when it is not about
 * one.
 */
export function readConfirmation(query: Record<string, unknown>): Confirmed | undefined {
  const { [PARAMETER]: id, answer } = query;
  if (typeof id !== 'string' || !isRandomId(id)) return undefined;
  return { id, answer: answer === 'continue' || answer === 'cancel' ? answer : undefined };
}

/**
 * The page, relative to the callback, so that it is also found below a path that a proxy strips. It does not repeat the
 * auth_key, so that a reload shows the page again.
 */
export const confirmationQuery = (id: string): string => `?${PARAMETER}=${id}`;

/** The most bytes of a name that are kept. An account can have a name of any length. */
const MAX_NAME = 56;

/** Only whole letters: `read` counts those that fit. */
const shortName = (name: string): string =>
  name.slice(0, new TextEncoder().encodeInto(name, new Uint8Array(MAX_NAME)).read);

export const pendingLogin = (
  token: AccessToken,
  { id: account, displayName = account, username = account }: MarketplaceProfile,
  more: Pick<PendingLogin, 'id' | 'at' | 'key' | 'who' | 'to'>,
): PendingLogin => ({
  token,
  name: shortName(displayName),
  username: shortName(username),
  account: shortHash(account),
  ...more,
});

/**
 * The script of the page ignores clicks on "Continue" for 600 ms after the page or its window has appeared: such a click
 * can be the second half of a double click that began in a window in front of this one. It also sends the form only once,
 * because with a second request the browser would discard the first response, and the login with it. The page works
 * without scripts, too.
 *
 * `aria-disabled` keeps the button reachable by keyboard, which cannot press it by mistake.
 */
const SCRIPT = `{
const [form] = document.forms;
const button = form.querySelector('.main');
let timer;
let isSent = false;
const pause = () => {
  clearTimeout(timer);
  button.ariaDisabled = 'true';
  timer = setTimeout(() => { button.ariaDisabled = null; }, 600);
};
pause();
addEventListener('focus', pause);
document.addEventListener('visibilitychange', pause);
addEventListener('pageshow', () => { isSent = false; pause(); });
button.addEventListener('click', (event) => {
  if (event.detail > 0 && button.ariaDisabled) event.preventDefault();
});
form.addEventListener('submit', (event) => {
  if (isSent) event.preventDefault();
  isSent = true;
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

/**
 * The default "Continue as NAME?" page. Its form uses GET, because the app's callback is a GET route. No
 * other site can forge the answer, because only this page has the id.
 */
export const sendConfirmationPage: RenderConfirmation = (
  { name, username, change, action, fields },
  _req,
  res,
) => {
  const content = html`<h1>Continue as <bdi>${name}</bdi>?</h1>
<p>User name <strong><bdi>${username}</bdi></strong></p>
<p>${WHAT_CHANGES[change]} If it is not yours, do not go on: somebody may want you to use theirs.</p>
<form method="get" action="${action}">
${Object.entries(fields).map(([field, value]) => html`<input type="hidden" name="${field}" value="${value}">`)}
<button class="main" name="answer" value="continue">Continue</button>
<button name="answer" value="cancel">Not me</button>
</form>
${trusted(`<script>${SCRIPT}</script>`)}`;
  res.end(page(`Continue as ${name}?`, content));
};

/** Sends the page: the app's own or {@link sendConfirmationPage}. */
export async function sendPage(
  req: Request,
  res: Response,
  { id, name, username }: PendingLogin,
  change: LoginChange,
  render: RenderConfirmation,
): Promise<void> {
  res.statusCode = 200;
  // No frames, so that the visitor sees what the click is for.
  res.setHeader('Content-Security-Policy', `${PAGE_POLICY}; ${SCRIPT_POLICY}`);
  res.setHeader('X-Frame-Options', 'DENY');
  res.setHeader('X-Content-Type-Options', 'nosniff');
  res.setHeader('Referrer-Policy', 'no-referrer');
  res.setHeader('Content-Type', 'text/html; charset=utf-8');
  const form = { action: confirmationQuery(id), fields: { [PARAMETER]: id } };
  await render({ name, username, change, ...form }, req, res);
}
