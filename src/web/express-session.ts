import type { IncomingMessage } from 'node:http';
import type { Request } from 'express';
import { warnOnce } from '../diagnostics.js';
import { callStore } from '../store-guard.js';
import { repeatedCookie } from './cookies.js';
import { LOGIN_LIFETIME } from './login-request.js';
import { isSecure } from './request.js';

/*
 * The habits of express-session, and of what behaves like it:
 *
 * - `req.session` holds the data. `save` and `regenerate` take a callback. `req.session.cookie` has the cookie's attributes.
 * - The cookie is "s:", the id and a signature. Of two cookies of its name, the first counts.
 * - Where the store does not have the session, `req.session` is a new one under a new `req.sessionID`. A response that
 *   writes to it sends a new cookie, which replaces that of any other response.
 */

type Method = (done: (error?: unknown) => void) => unknown;

/** A session. What else it has is data. */
export interface Session extends Record<string, unknown> {
  save?: Method;
  regenerate?: Method;
  cookie?: SessionCookie;
}

interface SessionCookie {
  readonly domain?: string | undefined;
  readonly secure?: unknown;
  readonly sameSite?: boolean | string | undefined;
  readonly partitioned?: boolean | undefined;
  /** Milliseconds that it lasted when it was made; negative where the app gave a date that has passed. */
  readonly originalMaxAge?: number | null | undefined;
}

/** How long one call to a session can take, in milliseconds. */
const SESSION_TIMEOUT = 5000;

/** How long after a promise a session's callback can come, in milliseconds. */
const CALLBACK_TIMEOUT = 250;

/** The session of a request, if a session middleware has run. */
export function sessionOf(req: object): Session | undefined {
  const session: unknown = Reflect.get(req, 'session');
  return Object(session) === session ? (session as Session) : undefined;
}

const INSTEAD =
  'use express-session before passport, or loginAttempts: { cookieSecret: [ … ] } with { session: false } on both routes and keep the login yourself, as in the guide "Without sessions" (node_modules/marketgate/examples/guides/without-sessions.md)';

/** Why a login cannot be kept in this session. @param method - which it lacks, or which answers with a promise only. */
const unusable = (method: string, why: string): Error =>
  new Error(`MarketplaceStrategy: the session of this app ${why} (${method}); ${INSTEAD}`);

/**
 * Saves the session, if it can be. It is done before a redirect, because a save at the end of the response can come after
 * the browser's next request.
 *
 * @throws MarketgateError `store_unavailable` when it fails or does not answer. The error of a session store can contain
 * the whole session, with a token that waits for "Continue".
 * @returns what has answered: a callback, or a promise only.
 */
export async function saveSession(session: Session): Promise<'callback' | 'promise' | undefined> {
  if (typeof session.save !== 'function') return undefined;
  const save = (): Promise<'callback' | 'promise'> =>
    new Promise((resolve, reject) => {
      const returned = session.save?.((error) => (error ? reject(error) : resolve('callback')));
      // Any thenable, because some libraries have their own promises.
      if (typeof Object(returned).then !== 'function') return;
      const end = () => resolve('promise');
      Promise.resolve(returned).then(() => setTimeout(end, CALLBACK_TIMEOUT), reject);
    });
  return callStore('session.save', save, SESSION_TIMEOUT);
}

/**
 * {@link saveSession} for what a login keeps.
 * @throws Error also for a session that answers with a promise only: passport waits for the callback, without a limit.
 */
export async function saveForLogin(session: Session): Promise<void> {
  if ((await saveSession(session)) === 'promise') {
    throw unusable('save()', 'answers with promises only, as iron-session does');
  }
}

/** Refuses cookie-session, whose data the browser can read. @throws Error that says what to use instead. */
export function checkIsPrivate(session: Session): void {
  if (!('isPopulated' in session)) return;
  throw unusable('regenerate()', 'is a cookie that is not encrypted, and cannot be renewed');
}

const NO_SECURE_COOKIE =
  '; and a session whose cookie is Secure is sent to nobody, so no login works, unless express-session has the option "proxy"';

/**
 * Refuses a session in which passport could not keep a login: passport itself finds out only after the exchange.
 *
 * @throws Error that says what to use instead.
 */
export function checkKeepsLogin(req: IncomingMessage, session: Session): void {
  if (typeof session.regenerate !== 'function') {
    throw unusable('regenerate()', 'cannot be renewed, and passport renews it at every login');
  }
  if (session.cookie?.secure !== true || isSecure(req)) return;
  if (req.headers['x-forwarded-proto'] !== undefined) {
    // A session middleware can know of https what Express does not: express-session's option `proxy`.
    const trust = (req as Partial<Request>).app?.get?.('trust proxy');
    if (!trust) warnOnce('MARKETGATE_UNEXPECTED_X_FORWARDED_FOR', NO_SECURE_COOKIE);
    return;
  }
  throw new Error(
    "MarketplaceStrategy: the session's cookie is Secure and this request came over http, so the browser never gets it; use https, or cookie: { secure: 'auto' }; behind a proxy app.set('trust proxy', 1), and let the proxy send X-Forwarded-Proto",
  );
}

/** What a cookie of express-session looks like. A signed cookie of the app's own looks alike. */
const SIGNED = /=s(%3A|:)/i;

/**
 * Whether the browser has sent the cookie of a session that is not in the store. Another process can have replaced it by
 * that of a login.
 */
export const isSessionGone = (req: IncomingMessage): boolean =>
  isNewSession(req) &&
  SIGNED.test(req.headers.cookie ?? '') &&
  repeatedCookie(req, SIGNED) === undefined;

/** Whether the session was made for this request. Only express-session tells. */
function isNewSession(req: IncomingMessage): boolean {
  const { sessionID: id } = req as { readonly sessionID?: unknown };
  return typeof id === 'string' && !req.headers.cookie?.includes(id);
}

/**
 * Why the browser has come without what its session had, in words for the operator, if the request shows it.
 * @param host of the request.
 */
export function whySessionIsNew(req: IncomingMessage, host: string): string | undefined {
  const { cookie = '' } = req.headers;
  if (cookie !== '' && !isNewSession(req)) return undefined;
  if (isSessionGone(req)) {
    return 'the session of its cookie is not in the session store: it has expired, or the store is in memory and this is another process, or the app was restarted; or the cookie was signed with another secret, or is that of another app on this host, which needs another name';
  }
  const name = repeatedCookie(req, SIGNED);
  if (name !== undefined) {
    return `two cookies of one name came (${name}), and the first is not that of its session: delete the older one, which has another domain or path, or give the session's cookie another name`;
  }
  const which = cookie === '' ? 'no cookie' : 'no cookie of a session';
  return `${which} came back with it${whyRefused(req, host)}`;
}

/** Why browsers do not keep the session's cookie, or do not send it, as its attributes show. */
function whyRefused(req: IncomingMessage, host: string): string {
  const cookie = sessionOf(req)?.cookie ?? {};
  const { domain = '', secure, sameSite, partitioned, originalMaxAge } = cookie;
  const site = sameSite === true ? 'strict' : String(sameSite || 'not set').toLowerCase();
  const isForeign = domain && !`.${host}`.endsWith(`.${domain.toLowerCase().replace(/^\./, '')}`);
  const lasts = typeof originalMaxAge === 'number' ? originalMaxAge : Number.POSITIVE_INFINITY;
  const seconds = Math.max(0, Math.floor(lasts / 1000));
  const reasons = [
    site === 'none' && !secure && 'browsers refuse SameSite=None without Secure',
    partitioned && !secure && 'browsers refuse Partitioned without Secure',
    isForeign &&
      `browsers refuse its Domain=${domain} from ${host}, unless a proxy has put that host in place of theirs`,
    secure &&
      !isSecure(req) &&
      "browsers refuse Secure over http; behind a proxy with https, app.set('trust proxy', 1)",
    lasts < LOGIN_LIFETIME &&
      `it lasts ${seconds} s, and a login can take ten minutes: maxAge is in milliseconds, and expires is one date for all sessions`,
    site === 'strict' &&
      'with SameSite=Strict it is not sent when the marketplace leads back: use SameSite=Lax',
  ].filter(Boolean);
  const usual = [
    'the browser blocks cookies',
    'the login began on another host, which a proxy hides that rewrites Host',
    !isSecure(req) && 'its name begins with __Host- or __Secure- and this is http',
  ].filter(Boolean);
  const attributes = `SameSite ${site}, Domain ${domain || 'not set'}, ${secure ? '' : 'not '}Secure`;
  return ` (the session's cookie is ${attributes}): ${(reasons.length > 0 ? reasons : usual).join('; or ')}`;
}

/**
 * Keeps the session of this request out of its response: it has been replaced in another response, and its cookie must not
 * come back. express-session writes nothing where there is no session.
 */
export function leaveSession(req: object): void {
  // Not one behind a getter, as cookie-session's is.
  const { value } = Object.getOwnPropertyDescriptor(req, 'session') ?? {};
  if (typeof value?.regenerate !== 'function') return;
  Reflect.set(req, 'session', undefined);
  // Without this, express-session's `unset: 'destroy'` would end the session of a user who connects an account.
  Reflect.set(req, 'sessionID', undefined);
}
