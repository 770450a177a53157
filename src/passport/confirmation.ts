import { hash } from 'node:crypto';
import type { Request, Response } from 'express';
import { pathOf, requiredResponse } from '../express/plain-http.js';
import { html, PAGE_POLICY, page } from '../html.js';
import type { AccessToken } from '../model/access-token.js';
import type { GuardedTokenStore } from '../stores/token-store.js';
import { ATTEMPT_LIFETIME, type LoginAttempt } from './login-attempts.js';
import type { MarketplaceProfile } from './profile.js';

/** What the "Continue as NAME?" page asks about. */
export interface Confirmation {
  /** The login attempt that waits for the answer. */
  readonly id: string;
  /** The account's display name, which anybody can take. */
  readonly name: string;
  /** The account's user name, which no other account has. */
  readonly username: string;
  /** Where the form goes, by GET: with `confirm` = id and `answer` = "continue" or "cancel". */
  readonly action: string;
}

/** Answers with a page of the app's own: a form to `action`. The headers are set already. */
export type RenderConfirmation = (confirmation: Confirmation, req: Request, res: Response) => void;

/** When the visitor is asked: always, never, or where the login was not begun by this site or the visitor. */
export type ConfirmWhen = 'auto' | boolean;

const header = (req: Request, name: string): string | undefined => {
  const value = req.headers?.[name];
  return typeof value === 'string' && value !== '' ? value.toLowerCase() : undefined;
};

const destinationOf = (req: Request): string => header(req, 'sec-fetch-dest') ?? 'document';
const isFrame = (destination: string): boolean => /^i?frame$/.test(destination);

/**
 * Whether a login was begun by neither a page of this site nor the visitor: by a page elsewhere, or by
 * an image or a frame. Browsers send these headers over https and on localhost. Without them the answer
 * is no.
 */
export function isForeignStart(req: Request): boolean {
  const site = header(req, 'sec-fetch-site') ?? 'none';
  return (site !== 'same-origin' && site !== 'none') || destinationOf(req) !== 'document';
}

/** Whether the browser says that this is no navigation but an image, a script or a `fetch`. */
export function isSubresource(req: Request): boolean {
  const destination = destinationOf(req);
  if (destination === 'document' || isFrame(destination)) return false;
  // A service worker that passes a navigation on sends "empty"; only the browser can set this mode.
  return destination !== 'empty' || header(req, 'sec-fetch-mode') !== 'navigate';
}

/** Whether a callback asks the visitor. @param open the attempts that it could belong to. */
export function mustAsk(when: ConfirmWhen, req: Request, open: readonly LoginAttempt[]): boolean {
  if (when !== 'auto') return when;
  // A page of another site can put the callback into a frame that nobody sees. And the service does not
  // say which attempt a callback belongs to, so one foreign attempt counts for all.
  return isFrame(destinationOf(req)) || open.some(({ foreign }) => foreign);
}

/** What the query says about a confirmation. `answer` is `undefined` where the page is wanted. */
export interface ConfirmationInput {
  readonly id: string;
  readonly answer: 'continue' | 'cancel' | undefined;
}

/** Reads the query; `undefined` when it is not about a confirmation. */
export function readConfirmation(query: Record<string, unknown>): ConfirmationInput | undefined {
  const { confirm: id, answer } = query;
  if (typeof id !== 'string' || id === '') return undefined;
  return { id, answer: answer === 'continue' || answer === 'cancel' ? answer : undefined };
}

/** Where the page is: the callback without its auth_key, so that a reload asks again. */
export function confirmationPath(req: Request, id: string): string {
  const path = pathOf(req).replace(/\?.*/s, '').replace(/^\/+/, '/');
  return `${path}?${new URLSearchParams({ confirm: id })}`;
}

/** A login that waits for the visitor's answer. */
export interface PendingLogin extends Omit<Confirmation, 'id' | 'action'> {
  readonly token: AccessToken;
  /** The visitor is logged in to this account or to none. */
  readonly userId: string;
  readonly returnTo?: string | undefined;
}

export function pendingLogin(
  token: AccessToken,
  { id, displayName = id, username = id }: MarketplaceProfile,
  returnTo: string | undefined,
): PendingLogin {
  // As much of a name as fits on a page.
  const shown = (name: string): string => [...name].slice(0, 100).join('');
  return { token, userId: id, name: shown(displayName), username: shown(username), returnTo };
}

/**
 * How long a second "Continue" of the same browser still logs in, in milliseconds. A double click sends
 * two requests, and the browser drops the response to the first with its cookies.
 */
const GRACE = 30_000;

/** The token store holds these logins, where every process of a fleet finds them. */
export class PendingLogins {
  readonly #store: GuardedTokenStore;
  readonly #clock: () => number;

  constructor(store: GuardedTokenStore, clock: () => number) {
    this.#store = store;
    this.#clock = clock;
  }

  keep(id: string, login: PendingLogin): Promise<void> {
    return this.#set(nameOf(id), login, ATTEMPT_LIFETIME);
  }

  /** For a request whose browser holds the attempt. */
  find(id: string): Promise<PendingLogin | undefined> {
    return this.#get(nameOf(id));
  }

  /** Shortens what is left after the answer to {@link GRACE}. */
  async answered(id: string, req: Request, login: PendingLogin): Promise<void> {
    for (const name of [nameOf(id), nameForSameBrowser(id, req)]) {
      await this.#set(name, login, GRACE);
    }
  }

  /**
   * For a request whose browser does not hold the attempt any more, because the first answer has ended its
   * session. Its cookies are still those of the first answer, which no other browser has.
   */
  findAnswered(id: string, req: Request): Promise<PendingLogin | undefined> {
    return this.#get(nameForSameBrowser(id, req));
  }

  drop(id: string): Promise<void> {
    return this.#store.delete(nameOf(id));
  }

  async #get(name: string | undefined): Promise<PendingLogin | undefined> {
    const held = name === undefined ? undefined : await this.#store.get(name);
    // A store can forget to expire.
    if (held === undefined || this.#clock() >= held.expiresAt) return undefined;
    try {
      return JSON.parse(held.value) as PendingLogin;
    } catch {
      return undefined;
    }
  }

  async #set(name: string | undefined, login: PendingLogin, lifetime: number): Promise<void> {
    if (name === undefined) return;
    const now = this.#clock();
    const expiresAt = Math.min(login.token.expiresAt, now + lifetime);
    // Token stores hold tokens and nothing else, so the login is the token's value.
    await this.#store.set(name, { value: JSON.stringify(login), issuedAt: now, expiresAt });
  }
}

// A blank cannot be in a user_id, so this is nobody's.
const nameOf = (id: string): string => `marketgate confirm ${id}`;

function nameForSameBrowser(id: string, req: Request): string | undefined {
  const cookie = req.headers?.cookie;
  return cookie ? `${nameOf(id)} ${hash('sha256', cookie, 'base64url')}` : undefined;
}

/**
 * "Continue as NAME?". A GET form, for the app has a GET route for its callback and perhaps no other;
 * what makes the answer unforgeable is the attempt, which only this browser holds.
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

/** Sends the page: the app's own or {@link sendConfirmationPage}. */
export function askVisitor(
  req: Request,
  confirmation: Confirmation,
  render: RenderConfirmation,
): void {
  const res = requiredResponse(req);
  res.statusCode = 200;
  // Not in a frame: the visitor must see what the click is for.
  res.setHeader('Content-Security-Policy', PAGE_POLICY);
  res.setHeader('X-Frame-Options', 'DENY');
  res.setHeader('X-Content-Type-Options', 'nosniff');
  res.setHeader('Referrer-Policy', 'no-referrer');
  res.setHeader('Content-Type', 'text/html; charset=utf-8');
  render(confirmation, req, res);
}
