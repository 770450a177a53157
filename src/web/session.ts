import type { Request } from 'express';
import { callStore } from '../stores/store-guard.js';
import { handleThrown, responseOf } from './response.js';

/** A session. Its methods take a callback (express-session) or return a promise (iron-session). */
export interface Session extends Record<string, unknown> {
  save?: (done: (error?: unknown) => void) => unknown;
  regenerate?: (done: (error?: unknown) => void) => unknown;
}

/** How long one call to a session can take, in milliseconds. */
const SESSION_TIMEOUT = 5000;

/** The session of a request, if a session middleware has run. */
export function sessionOf(req: object): Session | undefined {
  const session: unknown = Reflect.get(req, 'session');
  return Object(session) === session ? (session as Session) : undefined;
}

/**
 * Calls a method of the session, if it has it. A session is saved before a redirect, because a save at the end of
 * the response can come after the browser's next request.
 *
 * @throws MarketgateError `store_unavailable` when it fails or does not answer. The error of a session store can contain
 * the whole session, with a token that waits for "Continue".
 */
export async function callSession(session: Session, method: 'save' | 'regenerate'): Promise<void> {
  if (typeof session[method] !== 'function') return;
  const call = () =>
    new Promise<void>((resolve, reject) => {
      const returned = session[method]?.((error) => (error ? reject(error) : resolve())) as
        | { then?: unknown }
        | undefined;
      // Any thenable, because some libraries have their own promises.
      if (typeof returned?.then === 'function')
        Promise.resolve(returned).then(() => resolve(), reject);
    });
  await callStore(`session.${method}`, call, SESSION_TIMEOUT);
}

/** Whether `req.session` can be assigned. Koa's is a getter and setter. */
const isReplaceable = (req: Request): boolean =>
  Object.getOwnPropertyDescriptor(req, 'session')?.writable === true;

/**
 * Whether passport can give this request a new session when a user logs in. iron-session has
 * `save` and `destroy` but no id. Its data is in the cookie, so clearing it makes a new session.
 */
export function canRegenerate(req: Request, session: Session): boolean {
  const has = (name: string) => typeof session[name] === 'function';
  if (has('regenerate')) return true;
  return has('save') && has('destroy') && session.id === undefined && isReplaceable(req);
}

/**
 * Makes passport's `req.logIn` work with every session that {@link canRegenerate}, within a deadline.
 *
 * @param succeed passport's `success`: calls `req.logIn`, or calls the app back, which can log in later.
 * @param onEnd is called once, when the login has ended, with the error if there is one.
 * @param keep saves in the new session who has logged in.
 */
export function withLogIn(
  req: Request,
  succeed: () => void,
  onEnd: (error?: unknown) => void,
  keep: (user: unknown) => Promise<void>,
): void {
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
    const restore = replaceSession(req);
    return original.call(req, ...args.slice(0, -1), (error?: unknown) => {
      restore();
      end(error);
      if (error) return done(error);
      // The login counts also where this cannot be saved.
      return keep(args[0])
        .catch(() => {})
        .then(() => done())
        .catch((thrown: unknown) => handleThrown(req, responseOf(req), thrown));
    });
  };
  Object.assign(req, { logIn, login: logIn });
  succeed();
  if (!isCalled) end();
}

/**
 * Replaces `req.session` by an object derived from it whose methods take callbacks and have a deadline: passport calls
 * `regenerate` and `save` with callbacks, and waits without a limit. iron-session's own methods cannot be replaced.
 * @returns a function that puts the session back.
 */
function replaceSession(req: Request): () => void {
  let session = sessionOf(req);
  if (session === undefined || !isReplaceable(req)) return () => {};
  const setSession = (it: unknown): void => void Object.assign(req, { session: it });
  const derivedFrom = (real: Session): Session =>
    Object.create(real, {
      regenerate: methodOf(req, async () => {
        // Passport takes what is in here along (`keepSessionInfo`), also where the real session is emptied in place.
        const kept: Session = Object(sessionOf(req));
        for (const [key, value] of Object.entries(real)) {
          if (!Object.hasOwn(kept, key)) kept[key] = value;
        }
        setSession(real);
        if (typeof real.regenerate === 'function') await callSession(real, 'regenerate');
        else for (const key of Object.keys(real)) delete real[key];
        session = sessionOf(req) ?? real;
        setSession(derivedFrom(session));
      }),
      save: methodOf(req, () => callSession(Object.assign(real, sessionOf(req)), 'save')),
    });
  setSession(derivedFrom(session));
  return () => setSession(session);
}

/** A method with a callback. It is not enumerable, or it would be saved with the session's data. */
const methodOf = (req: Request, run: () => Promise<void>): PropertyDescriptor => ({
  enumerable: false,
  value: (done: (error?: unknown) => void) =>
    void run()
      .then(() => done(), done)
      .catch((thrown: unknown) => handleThrown(req, responseOf(req), thrown)),
});
