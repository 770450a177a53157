import { hash } from 'node:crypto';
import type { Request, Response } from 'express';
import { pathOf, requiredResponse } from '../express/plain-http.js';
import { LOGIN_LIFETIME } from '../express/return-to.js';
import { html, PAGE_POLICY, page } from '../html.js';
import type { AccessToken } from '../model/access-token.js';
import type { GuardedTokenStore } from '../stores/token-store.js';
import { isAttemptId, type LoginAttempt } from './login-attempts.js';
import type { MarketplaceProfile } from './verify.js';

/** What the "Continue as NAME?" page asks about. */
export interface Confirmation {
  /** The login attempt that waits for the answer. */
  readonly id: string;
  /** The account's display name, which anybody can take. */
  readonly name: string;
  /** The account's user name, which no other account has. */
  readonly username: string;
  /** The form's target, by GET: with `confirm` = id and `answer` = "continue" or "cancel". */
  readonly action: string;
}

/** Responds with the app's own page, a form to `action`. The headers are set already. It can be async. */
export type RenderConfirmation = (
  confirmation: Confirmation,
  req: Request,
  res: Response,
) => unknown;

/**
 * When the visitor is asked: always (`true`), never (`false`), or when the login was begun by neither this
 * site nor the visitor (`'auto'`).
 */
export type ConfirmWhen = 'auto' | boolean;

const destinationOf = (req: Request): string => req.headers['sec-fetch-dest'] || 'document';
const isFrame = (destination: string): boolean => ['frame', 'iframe'].includes(destination);

/**
 * Whether a login was begun by neither a page of this site nor the visitor, but by another site's page, an
 * image or a frame. Browsers send these headers over https and on localhost. Without them it is false.
 */
export function isStartedElsewhere(req: Request): boolean {
  const site = req.headers['sec-fetch-site'] || 'none';
  return (site !== 'same-origin' && site !== 'none') || destinationOf(req) !== 'document';
}

/** Whether the browser says that this is no navigation but an image, a script or a `fetch`. */
export function isSubresource(req: Request): boolean {
  const destination = destinationOf(req);
  if (destination === 'document' || isFrame(destination)) return false;
  // A service worker that forwards a navigation sends "empty". Scripts cannot set the mode "navigate".
  return destination !== 'empty' || req.headers['sec-fetch-mode'] !== 'navigate';
}

/** Whether a callback asks the visitor. @param open the attempts that it can belong to. */
export function mustAsk(when: ConfirmWhen, req: Request, open: readonly LoginAttempt[]): boolean {
  if (when !== 'auto') return when;
  // Another site's page can load the callback in a hidden frame. The service does not say which attempt a
  // callback belongs to, so one foreign attempt is enough.
  return isFrame(destinationOf(req)) || open.some(({ isForeign }) => isForeign);
}

/**
 * What the query says about a confirmation; without an `answer` it requests the page. `undefined` when it is not about
 * one.
 */
export function readConfirmation(query: Record<string, unknown>) {
  const { confirm: id, answer } = query;
  // Anything else is the app's own, as in "/login?confirm=1".
  if (typeof id !== 'string' || !isAttemptId(id)) return undefined;
  return { id, answer: answer === 'continue' || answer === 'cancel' ? answer : undefined };
}

/** The path of the page: the callback without its auth_key, so that a reload shows the page again. */
export function confirmationPath(req: Request, id: string): string {
  const path = pathOf(req).replace(/\?.*/s, '').replace(/^\/+/, '/');
  return `${path}?${new URLSearchParams({ confirm: id })}`;
}

/** A login that waits for the visitor's answer. */
export interface PendingLogin extends Omit<Confirmation, 'id' | 'action'> {
  readonly token: AccessToken;
  /** The only account that the answer can log in to. */
  readonly userId: string;
  readonly returnTo?: string | undefined;
}

export function pendingLogin(
  token: AccessToken,
  { id, displayName = id, username = id }: MarketplaceProfile,
  returnTo: string | undefined,
): PendingLogin {
  // Names are cut to what fits on a page.
  const shown = (name: string): string => [...name].slice(0, 100).join('');
  return { token, userId: id, name: shown(displayName), username: shown(username), returnTo };
}

/**
 * How long a second "Continue" of the same browser still logs in, in milliseconds. A double click sends
 * two requests, and the browser discards the response to the first, with its cookies.
 */
const GRACE = 30_000;

/** The logins that wait, in the token store, where every process of the fleet finds them. */
export function pendingLoginsIn(store: GuardedTokenStore, clock: () => number) {
  async function get(name: string): Promise<PendingLogin | undefined> {
    const held = await store.get(name);
    // Not every store expires its entries.
    if (held === undefined || clock() >= held.expiresAt) return undefined;
    try {
      return JSON.parse(held.value) as PendingLogin;
    } catch {
      // Not thrown, because the message of a SyntaxError quotes the value, and with it the token.
      return undefined;
    }
  }

  async function set(name: string, login: PendingLogin, lifetime: number): Promise<void> {
    const now = clock();
    const expiresAt = Math.min(login.token.expiresAt, now + lifetime);
    // A token store stores only tokens, so the login becomes a token's value.
    await store.set(name, { value: JSON.stringify(login), issuedAt: now, expiresAt });
  }

  return {
    keep: (id: string, login: PendingLogin) => set(nameOf(id), login, LOGIN_LIFETIME),

    /** For a request whose browser holds the attempt. */
    find: (id: string) => get(nameOf(id)),

    /** Lets the login expire after {@link GRACE}, and makes it available to `findForDoubleClick`. */
    async keepForDoubleClick(id: string, req: Request, login: PendingLogin): Promise<void> {
      await set(nameOf(id), login, GRACE);
      await set(nameForSameBrowser(id, req), login, GRACE);
    },

    /**
     * For a second answer whose browser no longer holds the attempt, because the first one has ended its
     * session. It has the same cookies as the first answer, which no other browser has.
     */
    findForDoubleClick: async (id: string, req: Request) =>
      req.headers.cookie ? get(nameForSameBrowser(id, req)) : undefined,

    drop: (id: string) => store.delete(nameOf(id)),
  };
}

// A user_id has no blanks, so this is not a user's key.
const nameOf = (id: string): string => `marketgate confirm ${id}`;

const nameForSameBrowser = (id: string, { headers }: Request): string =>
  `${nameOf(id)} ${hash('sha256', String(headers.cookie))}`;

/**
 * The default "Continue as NAME?" page. Its form uses GET, because the app's callback is a GET route. No
 * other site can forge the answer, because only this browser holds the attempt.
 */
export const sendConfirmationPage: RenderConfirmation = (
  { id, name, username, action },
  _req,
  res,
) => {
  const content = html`<h1>Continue as <bdi>${name}</bdi>?</h1>
<p>User name <strong><bdi>${username}</bdi></strong></p>
<p>You are about to log in with this marketplace account. If it is not yours, do not go on: somebody may want you to use theirs.</p>
<form method="get" action="${action}">
<input type="hidden" name="confirm" value="${id}">
<button class="main" name="answer" value="continue">Continue</button>
<button name="answer" value="cancel">Not me</button>
</form>`;
  res.end(page(`Continue as ${name}?`, content));
};

/** Sets the headers and sends the page: the app's own or {@link sendConfirmationPage}. */
export async function sendPage(
  req: Request,
  id: string,
  { name, username }: PendingLogin,
  render: RenderConfirmation,
): Promise<void> {
  const res = requiredResponse(req);
  res.statusCode = 200;
  // No frames, so that the visitor sees what the click is for.
  res.setHeader('Content-Security-Policy', PAGE_POLICY);
  res.setHeader('X-Frame-Options', 'DENY');
  res.setHeader('X-Content-Type-Options', 'nosniff');
  res.setHeader('Referrer-Policy', 'no-referrer');
  res.setHeader('Content-Type', 'text/html; charset=utf-8');
  await render({ id, name, username, action: confirmationPath(req, id) }, req, res);
}
