import { hash, randomBytes } from 'node:crypto';
import type { Request } from 'express';
import { LRUCache } from 'lru-cache';
import type { AccessToken } from '../model/access-token.js';
import { openText, sealText } from '../seal.js';
import type { GuardedTokenStore } from '../stores/token-store.js';
import { clearCookie, cookieLine, cookieOf, setCookie } from '../web/cookies.js';
import { isSecure } from '../web/request.js';
import { requiredResponse } from '../web/response.js';
import { LOGIN_LIFETIME } from '../web/return-to.js';
import { callSession, type Session, sessionOf } from '../web/session.js';

/*
 * What one strategy keeps about a browser, between the start of a login and its end:
 *
 * - attempts: the logins that have begun. The service echoes no `state`, so only an attempt shows that this browser
 *   began the login of a callback. Each is used once.
 * - mark: callbacks came without an attempt. For ten minutes every login asks "Continue as NAME?", and the
 *   auth_keys of those callbacks are not taken.
 * - pending: the auth_key was exchanged, and the login waits for "Continue". A further one replaces it.
 * - known: which account this browser has logged in with, and as whom. A further login of it changes nothing, so nobody
 *   is asked.
 *
 * Attempts and a pending login count only as long as the same user is logged in, or still nobody.
 *
 * All of it is one text, in the session or sealed in one cookie. Nobody else can write there.
 */

// The names are short, because a cookie is. `at` is in epoch milliseconds, `to` is where the visitor wants to go.

/** A login that has begun in a browser and has not ended. */
export interface LoginAttempt {
  /** Random; a deployment that echoes `state` sends it back. */
  readonly id: string;
  readonly at: number;
  readonly to?: string | undefined;
  /** Neither a page of this site nor the visitor began it: see `confirm: 'auto'`. */
  readonly foreign?: true | undefined;
  /** Who was logged in when it began: see {@link shortHash}. Absent: nobody. */
  readonly who?: string | undefined;
}

/** A login that waits for the visitor's "Continue". */
export interface PendingLogin {
  /** Random; known only to this browser and its page. */
  readonly id: string;
  readonly at: number;
  readonly token: AccessToken;
  /** What the page shows: the display name, and the unique user name. */
  readonly name: string;
  readonly username: string;
  /** Whose account that is, as a {@link shortHash} of its `user_id`. */
  readonly account: string;
  /** Who was logged in, as in {@link LoginAttempt}. */
  readonly who?: string | undefined;
  readonly to?: string | undefined;
}

export interface LoginState {
  /** The newest last. */
  readonly attempts: readonly LoginAttempt[];
  /** `keys`: short hashes of the auth_keys that came without an attempt, one after another. */
  readonly mark?: { readonly at: number; readonly keys: string } | undefined;
  readonly pending?: PendingLogin | undefined;
  /** A {@link shortHash} of the account and of the user who has logged in with it, or has connected it. */
  readonly known?: string | undefined;
}

/** 48 bits: enough to compare, and short enough for a cookie. */
export const shortHash = (...parts: (string | undefined)[]): string =>
  hash('sha256', JSON.stringify(parts), 'base64url').slice(0, 8);

/** An id of 16 random bytes. */
export const randomId = (): string => randomBytes(16).toString('base64url');

/** Whether a text has the form of {@link randomId}. */
export const isRandomId = (text: string): boolean => /^[\w-]{22}$/.test(text);

/** Of the hash of an auth_key. A false match only refuses a login, in a marked browser, once in millions. */
const HASH_LENGTH = 5;
/** With more auth_keys than a mark remembers, the visitor is asked all the same. The bound keeps the cookie small. */
const MAX_EARLY_KEYS = 30;
/** The shortest time between two renewals, in milliseconds: a loop of callbacks must not undo what other requests save. */
const MARK_RENEWAL = 60_000;

const earlyKey = (authKey: string): string =>
  hash('sha256', authKey, 'base64url').slice(0, HASH_LENGTH);

/** Whether the auth_key came to this browser before, without an attempt. */
export const isEarly = ({ mark }: LoginState, authKey: string): boolean =>
  mark?.keys.includes(earlyKey(authKey)) === true;

/** The mark after a callback without an attempt; the same one if nothing has to be saved. */
export function markFor(state: LoginState, authKey: string, now: number): LoginState['mark'] {
  const { mark } = state;
  const keys = mark?.keys ?? '';
  const isFull = keys.length >= MAX_EARLY_KEYS * HASH_LENGTH;
  if (!isFull && !isEarly(state, authKey)) return { at: now, keys: keys + earlyKey(authKey) };
  return mark && now - mark.at < MARK_RENEWAL ? mark : { at: now, keys };
}

/** Where the state of a browser is stored. */
export interface StateStorage {
  read(req: Request): unknown;
  /** Replaces the state, or removes an empty one. Settles when that is saved. */
  write(req: Request, state: LoginState): Promise<void>;
}

/**
 * The parts of a stored state that have not expired, with the attempts that the user who is logged in has begun. An
 * unreadable state counts as empty.
 *
 * @param who is logged in.
 */
export function readState(text: unknown, now: number, who: string | undefined): LoginState {
  const isLive = ({ at }: { at: number }): boolean => now - at < LOGIN_LIFETIME;
  try {
    const { attempts, mark, pending, known } = JSON.parse(String(text)) as LoginState;
    const isWaiting = pending !== undefined && isLive(pending) && now < pending.token.expiresAt;
    return {
      attempts: attempts.filter((it) => isLive(it) && it.who === who),
      mark: mark && isLive(mark) ? mark : undefined,
      pending: isWaiting ? pending : undefined,
      known,
    };
  } catch {
    // Not thrown, because the message of a SyntaxError quotes the text, and with it the token.
    return { attempts: [] };
  }
}

const isEmpty = ({ attempts, mark, pending, known }: LoginState): boolean =>
  attempts.length === 0 && (mark ?? pending ?? known) === undefined;

/** Stores the state in the session. @param scope keeps the strategies of one app apart. */
export function statesInSession(scope: string): StateStorage {
  const key = `marketgate:login:${scope}`;
  return {
    read: (req) => requiredSession(req)[key],
    async write(req, state) {
      const session = requiredSession(req);
      const text = isEmpty(state) ? undefined : JSON.stringify(state);
      if (session[key] === text) return;
      if (text === undefined) delete session[key];
      else session[key] = text;
      await callSession(session, 'save');
    },
  };
}

function requiredSession(req: Request): Session {
  const session = sessionOf(req);
  if (session !== undefined) return session;
  throw new Error(
    'MarketplaceStrategy: this request has no session; put app.use(session({ … })) of express-session before passport, on the callback too, or use loginAttempts: { cookieSecret: [ … ] }',
  );
}

/**
 * The longest cookie, name and attributes included. With the cookie of `requireLogin` it fits in 1 kB: proxies refuse a
 * request with long headers.
 */
const MAX_COOKIE_LINE = 740;

/** How long the cookie keeps what is {@link LoginState.known}, in milliseconds: renewals come every hour. */
const KNOWN_LIFETIME = 24 * 3_600_000;

/**
 * Stores the state in one sealed cookie, for apps without sessions. The cookie is HttpOnly and SameSite=Lax, so that
 * the browser sends it when the service redirects back. Over https its name has the prefix `__Host-`, so that no other
 * host of the domain can set it.
 *
 * @param secrets the first seals, all open; not empty.
 * @param scope keeps the strategies of one app apart.
 */
export function statesInCookie(secrets: readonly string[], scope: string): StateStorage {
  const keys = secrets.map((secret) => hash('sha256', `marketgate login ${secret}`, 'buffer'));
  const nameFor = (req: Request) => `${isSecure(req) ? '__Host-' : ''}marketgate.login.${scope}`;
  return {
    read(req) {
      const sealed = cookieOf(req, nameFor(req)) ?? '';
      return keys.map((key) => openText(key, scope, sealed)).find((text) => text !== undefined);
    },
    async write(req, state) {
      const res = requiredResponse(req);
      const name = nameFor(req);
      if (isEmpty(state)) return clearCookie(req, res, name);
      const lifetime = state.known === undefined ? LOGIN_LIFETIME : KNOWN_LIFETIME;
      for (const it of shorterAndShorter(state)) {
        const value = sealText(keys[0] as Buffer, scope, JSON.stringify(it));
        const { length } = cookieLine(req, name, value, lifetime);
        if (length <= MAX_COOKIE_LINE) return setCookie(req, res, name, value, lifetime);
      }
      throw new Error(
        'MarketplaceStrategy: this login waits for "Continue", and its access_token is too long for a cookie; use loginAttempts: \'session\'',
      );
    },
  };
}

/**
 * The state, and what can be left of it in a cookie. These go one after another: the paths of the attempts and the attempts,
 * the oldest first; the path of the login that waits; the early auth_keys. Without them, a mark still asks.
 */
function* shorterAndShorter(state: LoginState): Generator<LoginState> {
  const { attempts, mark, pending, known } = state;
  const withoutPath = <T>(it: T): T => ({ ...it, to: undefined });
  const bare = attempts.map(withoutPath);
  const count = attempts.length;
  for (let i = 0; i < count; i++) {
    yield { ...state, attempts: [...bare.slice(0, i), ...attempts.slice(i)] };
  }
  for (let i = 0; i <= count; i++) yield { ...state, attempts: bare.slice(i) };
  const waiting = pending && withoutPath(pending);
  yield { attempts: [], mark, pending: waiting, known };
  yield { attempts: [], mark: mark && { ...mark, keys: '' }, pending: waiting };
}

/** How long a claim is remembered, in milliseconds. The service refuses a used auth_key for ever. */
const CLAIM_LIFETIME = 3_600_000;

/**
 * Lets each auth_key, each attempt and each "Continue" be used once: in this process, and in the fleet if the token
 * store has `claim`. Only hashes are stored.
 *
 * @param scope keeps strategies that share a token store apart.
 */
export function claimsIn(store: GuardedTokenStore | undefined, scope: string) {
  const known = new LRUCache<string, true>({ max: 10_000 });
  const nameOf = (key: string) => `used:${hash('sha256', `${scope} ${key}`, 'base64url')}`;
  return {
    /** Whether this process knows that the key was used. */
    has: (key: string): boolean => known.has(nameOf(key)),

    /** True for the first caller. */
    async claim(key: string): Promise<boolean> {
      const name = nameOf(key);
      if (known.has(name)) return false;
      known.set(name, true);
      try {
        return (await store?.claim(name, CLAIM_LIFETIME)) ?? true;
      } catch (error) {
        // A retry asks the store again, which can have the claim all the same.
        known.delete(name);
        throw error;
      }
    },
  };
}
