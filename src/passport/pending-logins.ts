import { hash } from 'node:crypto';
import type { Request } from 'express';
import type { AccessToken } from '../model/access-token.js';
import type { GuardedTokenStore } from '../stores/guarded-token-store.js';
import { ATTEMPT_LIFETIME } from './login-attempts.js';

/**
 * How long a second "Continue" of the same browser still logs in, in milliseconds. A double click sends
 * two requests, and the browser drops the answer to the first with its cookies.
 */
const GRACE = 30_000;

/** A login that waits for the visitor's answer. */
export interface PendingLogin {
  readonly token: AccessToken;
  /** The account that the visitor is asked about. */
  readonly userId: string;
  readonly returnTo?: string | undefined;
}

/**
 * Logins that wait for "Continue". They are in the token store, where every process of a fleet finds
 * them; the browser holds only the attempt's id.
 */
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

  /** For a request that holds the attempt. */
  find(id: string): Promise<PendingLogin | undefined> {
    return this.#get(nameOf(id));
  }

  /** Shortens what is left after the answer to {@link GRACE}. */
  async answered(id: string, req: Request, login: PendingLogin): Promise<void> {
    await this.#set(nameOf(id), login, GRACE);
    const again = nameForSameBrowser(id, req);
    if (again !== undefined) await this.#set(again, login, GRACE);
  }

  /**
   * For a request that holds the attempt no more, because the first answer has ended its session. Its
   * cookies are still the ones of the first answer, which no other browser has.
   */
  async findAnswered(id: string, req: Request): Promise<PendingLogin | undefined> {
    const name = nameForSameBrowser(id, req);
    return name === undefined ? undefined : this.#get(name);
  }

  drop(id: string): Promise<void> {
    return this.#store.delete(nameOf(id));
  }

  async #get(name: string): Promise<PendingLogin | undefined> {
    const held = await this.#store.get(name);
    if (held === undefined) return undefined;
    try {
      return JSON.parse(held.value) as PendingLogin;
    } catch {
      return undefined;
    }
  }

  #set(name: string, login: PendingLogin, lifetime: number): Promise<void> {
    const now = this.#clock();
    const expiresAt = Math.min(login.token.expiresAt, now + lifetime);
    // Stores hold tokens and nothing else, so the login is written in place of the token's value.
    return this.#store.set(name, { value: JSON.stringify(login), issuedAt: now, expiresAt });
  }
}

// A blank cannot be in a user_id, so this is nobody's.
const nameOf = (id: string): string => `marketgate confirm ${id}`;

function nameForSameBrowser(id: string, req: Request): string | undefined {
  const { cookie } = req.headers;
  return cookie ? `${nameOf(id)} ${hash('sha256', cookie, 'base64url')}` : undefined;
}
