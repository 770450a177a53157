import { createCipheriv, createDecipheriv, hash, randomBytes } from 'node:crypto';
import { parseCookie } from 'cookie';
import type { Request } from 'express';
import {
  clearCookie,
  cookieLine,
  isSecure,
  requiredResponse,
  setCookie,
} from '../express/plain-http.js';
import { LOGIN_LIFETIME } from '../express/return-to.js';
import { callSession, type Session, sessionOf } from '../express/session.js';
import type { AccessToken } from '../model/access-token.js';

/*
 * What one strategy keeps about a browser, between the start of a login and its end:
 *
 * - attempts: the logins that have begun. The service echoes no `state`, so only an attempt shows that this browser
 *   began the login of a callback. Each is used once.
 * - mark: callbacks came without an attempt. For ten minutes every login asks "Continue as NAME?", and the
 *   auth_keys of those callbacks are not taken.
 * - pending: the auth_key was exchanged, and the login waits for "Continue". A further one replaces it.
 *
 * | request | attempts | mark | pending |
 * |---|---|---|---|
 * | the start | one more | | |
 * | a callback without an attempt | | set | |
 * | a callback with one | takes one | decides whether to ask | set, if the visitor is asked |
 * | "Not me" | | | removed |
 * | a login, also by "Continue" | all end | removed | removed |
 *
 * All of it is one text, in the session or sealed in one cookie. Nobody else can write there.
 */

// The names are short, because a cookie is.

/** A login that has begun in a browser and has not ended. */
export interface LoginAttempt {
  /** Random; a deployment that echoes `state` sends it back. */
  readonly id: string;
  /** When it began, in epoch milliseconds. */
  readonly at: number;
  /** Where the visitor wants to go after the login: a path on this site. */
  readonly to?: string | undefined;
  /** Neither a page of this site nor the visitor began it: see `confirm: 'auto'`. */
  readonly foreign?: true | undefined;
}

/** A login that waits for the visitor's "Continue". */
export interface PendingLogin {
  /** Random; known only to this browser and its page. */
  readonly id: string;
  readonly at: number;
  readonly token: AccessToken;
  /** The `user_id` of the only account that the answer can log in to. */
  readonly user: string;
  /** What the page shows: the display name, and the unique user name. */
  readonly name: string;
  readonly username: string;
  readonly to?: string | undefined;
}

export interface LoginState {
  /** The newest last. */
  readonly attempts: readonly LoginAttempt[];
  /** `keys`: hashes of the auth_keys that came without an attempt. */
  readonly mark?: { readonly at: number; readonly keys: readonly string[] } | undefined;
  readonly pending?: PendingLogin | undefined;
}

/** An id of 16 random bytes. */
export const randomId = (): string => randomBytes(16).toString('base64url');

/** Whether a text has the form of {@link randomId}. */
export const isRandomId = (text: string): boolean => /^[\w-]{22}$/.test(text);

/**
 * How far ahead an attempt can start, in milliseconds: the callback can reach another process than the one
 * that began the login, and their clocks can differ by this much.
 */
const CLOCK_SKEW = 5 * 60_000;
/** A browser can have several at once, one per tab. A further one replaces the oldest. */
const MAX_ATTEMPTS = 5;
/**
 * The most auth_keys that a mark remembers. With more, the visitor is asked all the same. The bound keeps the cookie
 * small, and a loop of callbacks from overwriting what a concurrent request saves.
 */
const MAX_EARLY_KEYS = 4;
/** A mark is renewed only when it is older, for the same reason. Milliseconds. */
const MARK_RENEWAL = 60_000;

/** Where the state of a browser is stored, as a text. */
export interface StateStorage {
  read(req: Request): unknown;
  /** Replaces the text, or removes it. Settles when that is saved. */
  write(req: Request, state: LoginState): Promise<void>;
}

/** Reads and changes the state of each browser. */
export function loginStates(storage: StateStorage, clock: () => number) {
  /** What has not expired. */
  function read(req: Request): LoginState {
    const now = clock();
    const isLive = (since: number): boolean =>
      since <= now + CLOCK_SKEW && now - since < LOGIN_LIFETIME;
    const { attempts, mark, pending } = decode(storage.read(req));
    const isWaiting = pending !== undefined && isLive(pending.at) && now < pending.token.expiresAt;
    return {
      attempts: attempts.filter(({ at }) => isLive(at)),
      mark: mark !== undefined && isLive(mark.at) ? mark : undefined,
      pending: isWaiting ? pending : undefined,
    };
  }

  const write = (req: Request, change: Partial<LoginState>): Promise<void> =>
    storage.write(req, { ...read(req), ...change });

  return {
    read,
    write,

    async begin(req: Request, about: Pick<LoginAttempt, 'to' | 'foreign'>) {
      const attempt: LoginAttempt = { id: randomId(), at: clock(), ...about };
      await write(req, { attempts: [...read(req).attempts, attempt].slice(-MAX_ATTEMPTS) });
      return attempt;
    },

    /** Marks a browser whose callback came without an attempt. */
    async mark(req: Request, authKey: string): Promise<void> {
      const { mark } = read(req);
      const key = earlyKey(authKey);
      const known = mark?.keys ?? [];
      const isKept = known.includes(key) || known.length >= MAX_EARLY_KEYS;
      if (mark !== undefined && isKept && clock() - mark.at < MARK_RENEWAL) return;
      await write(req, { mark: { at: clock(), keys: isKept ? known : [...known, key] } });
    },

    /** Ends everything, when a login is complete. */
    end: (req: Request): Promise<void> => storage.write(req, { attempts: [] }),
  };
}

const earlyKey = (authKey: string): string => hash('sha256', authKey, 'base64url').slice(0, 11);

/** Whether the auth_key came to this browser before, without an attempt. */
export const isEarly = ({ mark }: LoginState, authKey: string): boolean =>
  mark?.keys.includes(earlyKey(authKey)) === true;

const isEmpty = ({ attempts, mark, pending }: LoginState): boolean =>
  attempts.length === 0 && mark === undefined && pending === undefined;

/** A session store can give back anything. What is not readable counts as nothing. */
function decode(text: unknown): LoginState {
  try {
    const state = JSON.parse(String(text)) as LoginState;
    if (Array.isArray(state.attempts)) return state;
  } catch {
    // Not thrown, because the message of a SyntaxError quotes the text, and with it the token.
  }
  return { attempts: [] };
}

/** Stores the state in the session. @param scope keeps the strategies of one app apart. */
export function statesInSession(scope: string): StateStorage {
  const key = `marketgate:login:${scope}`;
  return {
    read: (req) => requiredSession(req)[key],
    async write(req, state) {
      const session = requiredSession(req);
      if (!isEmpty(state)) session[key] = JSON.stringify(state);
      else if (session[key] === undefined) return;
      else delete session[key];
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
/** The longest path of an attempt in a cookie, in bytes. A longer one is dropped. */
const MAX_PATH = 200;

/**
 * Stores the state in one sealed cookie, for apps without sessions. The cookie is HttpOnly and SameSite=Lax, so that
 * the browser sends it when the service redirects back. Over https its name has the prefix `__Host-`, so that no other
 * host of the domain can set it.
 *
 * @param secrets the first seals, all open; not empty.
 * @param scope keeps the strategies of one app apart, in the cookie's name and in its key.
 */
export function statesInCookie(secrets: readonly string[], scope: string): StateStorage {
  const keys = secrets.map((secret) =>
    hash('sha256', `marketgate login state ${scope} ${secret}`, 'buffer'),
  );
  const nameFor = (req: Request) => `${isSecure(req) ? '__Host-' : ''}marketgate.login.${scope}`;
  // For later reads in the same request, whose header still has the old cookie.
  const written = new WeakMap<Request, string>();

  return {
    read(req) {
      const known = written.get(req);
      if (known !== undefined) return known;
      const cookie = parseCookie(req.headers.cookie ?? '')[nameFor(req)] ?? '';
      return keys.map((key) => unseal(key, cookie)).find((text) => text !== undefined);
    },
    async write(req, state) {
      const res = requiredResponse(req);
      const name = nameFor(req);
      if (isEmpty(state)) {
        written.set(req, '');
        clearCookie(req, res, name);
        return;
      }
      const fits = (text: string): boolean =>
        cookieLine(req, name, seal(keys[0] as Buffer, text), LOGIN_LIFETIME).length <=
        MAX_COOKIE_LINE;
      const text = shortened(state, fits);
      written.set(req, text);
      setCookie(req, res, name, seal(keys[0] as Buffer, text), LOGIN_LIFETIME);
    },
  };
}

/**
 * Makes the text that fits. Drops paths first, from the oldest attempt on, then the oldest attempts, and last what the
 * mark remembers: what is left of it still asks.
 * @throws Error when the access_token is too long.
 */
function shortened(state: LoginState, fits: (text: string) => boolean): string {
  const isLong = ({ to = '' }: LoginAttempt): boolean => Buffer.byteLength(to) > MAX_PATH;
  let { attempts, mark, pending } = state;
  attempts = attempts.map((it) => (isLong(it) ? { ...it, to: undefined } : it));
  for (;;) {
    const text = JSON.stringify({ attempts, mark, pending });
    if (fits(text)) return text;
    const withPath = attempts.find(({ to }) => to !== undefined);
    if (withPath !== undefined) {
      attempts = attempts.map((it) => (it === withPath ? { ...it, to: undefined } : it));
    } else if (attempts.length > 0) attempts = attempts.slice(1);
    else if (mark?.keys.length) mark = { ...mark, keys: [] };
    else if (pending?.to !== undefined) pending = { ...pending, to: undefined };
    else {
      throw new Error(
        'MarketplaceStrategy: this login waits for "Continue", and its access_token is too long for a cookie; use loginAttempts: \'session\'',
      );
    }
  }
}

const ALGORITHM = 'aes-256-gcm';
const IV_LENGTH = 12;
const TAG_LENGTH = 16;

function seal(key: Buffer, text: string): string {
  const iv = randomBytes(IV_LENGTH);
  const cipher = createCipheriv(ALGORITHM, key, iv);
  const sealed = [iv, cipher.update(text), cipher.final(), cipher.getAuthTag()];
  return Buffer.concat(sealed).toString('base64url');
}

function unseal(key: Buffer, cookie: string): string | undefined {
  const bytes = Buffer.from(cookie, 'base64url');
  // Several texts can stand for the same bytes. Only the one that was sent counts.
  if (bytes.length < IV_LENGTH + TAG_LENGTH || bytes.toString('base64url') !== cookie) {
    return undefined;
  }
  const decipher = createDecipheriv(ALGORITHM, key, bytes.subarray(0, IV_LENGTH), {
    authTagLength: TAG_LENGTH,
  });
  decipher.setAuthTag(bytes.subarray(-TAG_LENGTH));
  try {
    const text = decipher.update(bytes.subarray(IV_LENGTH, -TAG_LENGTH));
    return Buffer.concat([text, decipher.final()]).toString();
  } catch {
    return undefined;
  }
}
