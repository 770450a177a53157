import { hash } from 'node:crypto';
import type { Request } from 'express';
import { openText, sealText } from '../seal.js';
import { clearCookie, cookieLine, cookieOf, setCookie } from '../web/cookies.js';
import { isSecure } from '../web/request.js';
import { requiredResponse } from '../web/response.js';
import { LOGIN_LIFETIME } from '../web/return-to.js';
import {
  reloadSession,
  type Session,
  type SessionRead,
  saveForLogin,
  sessionOf,
} from '../web/session.js';
import { isEmpty, type LoginState, shorten } from './login-state.js';

/** Where the state of a browser is stored. */
export interface StateStorage {
  readonly isInSession: boolean;
  /** What the browser has sent to name its state: the id of its session, or the sealed state. */
  sentBy(req: Request): string | undefined;
  read(req: Request): unknown;
  /** Replaces the state, or removes an empty one. Settles when that is saved, with what had room. */
  write(req: Request, state: LoginState): Promise<LoginState>;
  /** Reads again what other requests have saved meanwhile. */
  refresh(req: Request): Promise<SessionRead>;
  /** Why the browser can have come without what was stored, in words for the operator, if the request shows it. */
  whyMissing(req: Request): string | undefined;
}

/**
 * The most bytes of a state in a session, as JSON and without the access_token that waits. With the page of `requireLogin`
 * it fits in 1 kB: some sessions are a cookie.
 */
const MAX_SESSION_STATE = 600;

const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));

/** Without the value of the token, which has room of its own in a session. */
const sizeOf = (state: LoginState): number =>
  bytesOf(state) - bytesOf(state.pending?.token.value ?? '');

/** Stores the state in the session. @param scope keeps the strategies of one app apart. */
export function statesInSession(scope: string): StateStorage {
  const key = `marketgate:login:${scope}`;
  return {
    isInSession: true,
    sentBy: sentSessionId,
    read: (req) => requiredSession(req)[key],
    async write(req, given) {
      const session = requiredSession(req);
      const state = shorten(given, (it) => sizeOf(it) <= MAX_SESSION_STATE) ?? given;
      const kept = isEmpty(state) ? undefined : state;
      if (JSON.stringify(session[key]) === JSON.stringify(kept)) return state;
      if (kept === undefined) delete session[key];
      else session[key] = kept;
      await saveForLogin(session);
      return state;
    },
    refresh: (req) => reloadSession(requiredSession(req)),
    whyMissing(req) {
      const { sessionID: id } = req as { sessionID?: unknown };
      if (typeof id !== 'string' || sentSessionId(req) !== undefined) return undefined;
      // express-session's: "s:" and the id, which it has not found in its store. Signed cookies of others look alike.
      return /=s(%3A|:)/i.test(req.headers.cookie ?? '')
        ? 'the session of its cookie is not in the session store: it has expired, or the store is in memory and this is another process, or the app was restarted'
        : undefined;
    },
  };
}

/** The id of express-session's session, if the browser has sent it: one that has just been made is no browser's yet. */
function sentSessionId(req: Request): string | undefined {
  const { sessionID: id } = req as { sessionID?: unknown };
  return typeof id === 'string' && req.headers.cookie?.includes(id) ? id : undefined;
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
  const nameOver = (isHttps: boolean) => `${isHttps ? '__Host-' : ''}marketgate.login.${scope}`;
  const nameFor = (req: Request) => nameOver(isSecure(req));
  return {
    isInSession: false,
    sentBy: (req) => cookieOf(req, nameFor(req)),
    read(req) {
      const sealed = cookieOf(req, nameFor(req)) ?? '';
      const text = keys.map((key) => openText(key, scope, sealed)).find((it) => it !== undefined);
      return text === undefined ? undefined : JSON.parse(text);
    },
    async write(req, given) {
      const res = requiredResponse(req);
      const name = nameFor(req);
      if (isEmpty(given)) {
        clearCookie(req, res, name);
        return given;
      }
      const lifetime = given.known === undefined ? LOGIN_LIFETIME : KNOWN_LIFETIME;
      let value = '';
      const state = shorten(given, (it) => {
        value = sealText(keys[0] as Buffer, scope, JSON.stringify(it));
        return cookieLine(req, name, value, lifetime).length <= MAX_COOKIE_LINE;
      });
      if (state === undefined) {
        throw new Error(
          'MarketplaceStrategy: this login waits for "Continue", and its access_token is too long for a cookie; use loginAttempts: \'session\'',
        );
      }
      setCookie(req, res, name, value, lifetime);
      return state;
    },
    refresh: async () => 'fixed',
    whyMissing(req) {
      const isHttps = isSecure(req);
      if (cookieOf(req, nameFor(req)) !== undefined) return undefined;
      if (cookieOf(req, nameOver(!isHttps)) === undefined) return undefined;
      const [began, back] = isHttps ? ['http', 'https'] : ['https', 'http'];
      return `it began on ${began} and came back on ${back}: use one of them for both routes, and behind a proxy app.set('trust proxy', 1)`;
    },
  };
}
