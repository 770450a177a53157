import type { IncomingMessage } from 'node:http';
import type { Request } from 'express';
import { callStore } from '../stores/store-guard.js';
import { isSecure } from './request.js';
import { handleThrown, responseOf } from './response.js';

type Method = (done: (error?: unknown) => void) => unknown;

/** A session of express-session, or of whatever behaves like it: its methods take a callback. */
export interface Session extends Record<string, unknown> {
  save?: Method;
  regenerate?: Method;
  reload?: Method;
  cookie?: { secure?: unknown };
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
  "use express-session before passport, or loginAttempts: { cookieSecret: [ … ] } with { session: false } on both routes and keep the login yourself, as in the guide 'Without sessions'";

/** Why a login cannot be kept in this session. @param method - which it lacks, or which answers with a promise only. */
const unusable = (method: string, why: string): Error =>
  new Error(`MarketplaceStrategy: the session of this app ${why} (${method}); ${INSTEAD}`);

/** Calls a method of the session. Settles with what has answered: a callback, or a promise only. */
const answerOf = (session: Session, method: 'save' | 'reload'): Promise<'callback' | 'promise'> =>
  new Promise((resolve, reject) => {
    const returned = session[method]?.((error) => (error ? reject(error) : resolve('callback')));
    // Any thenable, because some libraries have their own promises.
    if (typeof Object(returned).then !== 'function') return;
    const end = () => resolve('promise');
    Promise.resolve(returned).then(() => setTimeout(end, CALLBACK_TIMEOUT), reject);
  });

/**
 * Saves the session, if it can be. It is done before a redirect, because a save at the end of the response can come after
 * the browser's next request.
 *
 * @throws MarketgateError `store_unavailable` when it fails or does not answer. The error of a session store can contain
 * the whole session, with a token that waits for "Continue".
 */
export async function saveSession(session: Session): Promise<'callback' | 'promise' | undefined> {
  if (typeof session.save !== 'function') return undefined;
  return callStore('session.save', () => answerOf(session, 'save'), SESSION_TIMEOUT);
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

/**
 * What came of reading a session again. It is gone where another request has replaced it; what is fixed is as the request
 * has brought it, as in a cookie.
 */
export type SessionRead = 'read' | 'gone' | 'unreadable' | 'fixed';

/** Reads the session again from its store. What this request has changed and not saved is lost. */
export async function reloadSession(session: Session): Promise<SessionRead> {
  if (typeof session.reload !== 'function') return 'fixed';
  const reload = (): Promise<SessionRead> =>
    answerOf(session, 'reload').then(
      () => 'read',
      (error) => {
        const { message, code } = Object(error) as { message?: unknown; code?: unknown };
        // express-session's words, and what it takes for no session: a file that is gone.
        if (message === 'failed to load session' || code === 'ENOENT') return 'gone';
        throw error;
      },
    );
  return callStore('session.reload', reload, SESSION_TIMEOUT).catch(() => 'unreadable');
}

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
  // A session middleware can know of https what Express does not: express-session's option `proxy`.
  if (req.headers['x-forwarded-proto'] !== undefined) return;
  throw new Error(
    "MarketplaceStrategy: the session's cookie is Secure and this request came over http, so the browser never gets it; use https, or cookie: { secure: 'auto' }; behind a proxy app.set('trust proxy', 1)",
  );
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

/** What {@link watchLogIn} calls. */
interface LogInWatch {
  /** Called once, when the login has ended, with the error if there is one. */
  readonly onEnd: (error?: unknown) => void;
  /** Saves in the new session who has logged in. */
  readonly keep: (user: unknown) => Promise<void>;
}

/**
 * Runs passport's `success`, which calls `req.logIn`, or calls the app back, which can log in later. Passport's calls of
 * the session have a deadline then.
 */
export function watchLogIn(req: Request, succeed: () => void, { onEnd, keep }: LogInWatch): void {
  const original = req.logIn as (...args: unknown[]) => unknown;
  let isCalled = false;
  let end = (error?: unknown): void => {
    end = () => {};
    onEnd(error);
  };
  const logIn = (...args: unknown[]): unknown => {
    const done = args.at(-1);
    // Without a callback, passport keeps no login in a session.
    if (typeof done !== 'function') return original.apply(req, args);
    isCalled = true;
    let failure: unknown;
    const call = () =>
      new Promise<void>((resolve) => {
        original.call(req, ...args.slice(0, -1), (error?: unknown) => {
          failure = error;
          resolve();
        });
      });
    return callStore('the session, in which passport keeps the login,', call, SESSION_TIMEOUT)
      .catch((error: unknown) => {
        failure = error;
      })
      .then(async () => {
        end(failure);
        if (failure) return done(failure);
        // The login counts also where this cannot be saved.
        await keep(args[0]).catch(() => {});
        return done();
      })
      .catch((thrown: unknown) => handleThrown(req, responseOf(req), thrown));
  };
  Object.assign(req, { logIn, login: logIn });
  succeed();
  if (!isCalled) end();
}
