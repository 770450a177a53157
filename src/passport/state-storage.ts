import { hash } from 'node:crypto';
import type { Request } from 'express';
import { openText, sealText } from '../seal.js';
import { cookieLine, cookieOf, repeatedCookie, setCookie } from '../web/cookies.js';
import {
  checkIsPrivate,
  isSessionGone,
  type Session,
  saveForLogin,
  sessionOf,
  whySessionIsNew,
} from '../web/express-session.js';
import { LOGIN_LIFETIME } from '../web/login-request.js';
import { isSecure } from '../web/request.js';
import { requiredResponse } from '../web/response.js';
import type { LoginState } from './login-state.js';

/** Where the state of a browser is stored. */
export interface StateStorage {
  read(req: Request): unknown;
  /** Replaces the state. Settles when that is saved. */
  write(req: Request, state: LoginState): Promise<void>;
  /** Whether another process can have replaced what the browser has named. */
  isGone(req: Request): boolean;
  /** Why the browser has come without its state, in words for the operator, if the request shows it. */
  whyMissing(req: Request, host: string): string | undefined;
}

/** Stores the state in the session. @param scope keeps the strategies of one app apart. */
export function statesInSession(scope: string): StateStorage {
  const key = `marketgate:login:${scope}`;
  return {
    read: (req) => requiredSession(req)[key],
    async write(req, state) {
      const session = requiredSession(req);
      session[key] = state;
      await saveForLogin(session);
    },
    isGone: isSessionGone,
    whyMissing: whySessionIsNew,
  };
}

function requiredSession(req: Request): Session {
  const session = sessionOf(req);
  if (session === undefined) {
    throw new Error(
      'MarketplaceStrategy: this request has no session; put app.use(session({ … })) of express-session before passport, on the callback too, or use loginAttempts: { cookieSecret: [ … ] }',
    );
  }
  checkIsPrivate(session);
  return session;
}

/** The longest cookie, name and attributes included. With that of the page to return to, it fits in 4 kB. */
const MAX_COOKIE_LINE = 2000;

/** How long the cookie keeps the {@link LoginState.account}, in milliseconds: renewals come every hour. */
const ACCOUNT_LIFETIME = 24 * 3_600_000;

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
  const read = (req: Request): unknown => {
    const sealed = cookieOf(req, nameOver(isSecure(req))) ?? '';
    const text = keys.map((key) => openText(key, scope, sealed)).find((it) => it !== undefined);
    return text === undefined ? undefined : JSON.parse(text);
  };
  return {
    read,
    async write(req, state) {
      const name = nameOver(isSecure(req));
      const lifetime = state.account === undefined ? LOGIN_LIFETIME : ACCOUNT_LIFETIME;
      for (const kept of shorterAndShorter(state)) {
        const value = sealText(keys[0] as Buffer, scope, JSON.stringify(kept));
        if (cookieLine(req, name, value, lifetime).length > MAX_COOKIE_LINE) continue;
        setCookie(req, requiredResponse(req), name, value, lifetime);
        return;
      }
      throw new Error(
        'MarketplaceStrategy: this login waits for "Continue", and its access_token is too long for a cookie; use loginAttempts: \'session\'',
      );
    },
    isGone: () => false,
    whyMissing(req) {
      const isHttps = isSecure(req);
      const { cookie } = req.headers;
      if (!cookie) return 'no cookie came back with it, as when the browser blocks cookies';
      if (repeatedCookie(req, new RegExp(`marketgate.login.${scope}=`))) {
        return `two cookies of one name came (${nameOver(isHttps)}): delete the one that has another path or domain`;
      }
      if (cookieOf(req, nameOver(isHttps)) !== undefined) {
        return read(req) === undefined
          ? 'its cookie was sealed with another cookieSecret: give the same to every process and after a restart, and [new, old] while it changes'
          : undefined;
      }
      if (cookieOf(req, nameOver(!isHttps)) === undefined) return undefined;
      const [began, back] = isHttps ? ['http', 'https'] : ['https', 'http'];
      return `it began on ${began} and came back on ${back}: use one of them for both routes, and behind a proxy app.set('trust proxy', 1)`;
    },
  };
}

/** The state, and what is left of it where it does not fit: the oldest login makes room. */
function* shorterAndShorter({ last, ...state }: LoginState): Generator<LoginState> {
  yield { ...state, last };
  yield state;
  for (let i = 1; i < state.logins.length; i++) yield { ...state, logins: state.logins.slice(i) };
}
