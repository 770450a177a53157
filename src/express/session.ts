import type { Request } from 'express';
import { DeadlineExceeded, within } from '../deadline.js';
import { MarketgateError } from '../errors.js';

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
  return typeof session === 'object' && session !== null ? (session as Session) : undefined;
}

/**
 * Saves the session before the redirect. A save at the end of the response can come after the browser's
 * next request.
 */
export async function saveSession(session: Session): Promise<void> {
  if (typeof session.save === 'function') await call(session, 'save');
}

/**
 * Whether passport can give this request a new session when a user logs in. A session that has `save` and
 * no id (iron-session) is stored in its cookie, so an empty one is a new one.
 */
export function canRegenerate(req: Request): boolean {
  const session = sessionOf(req);
  if (typeof session?.regenerate === 'function') return true;
  return typeof session?.save === 'function' && session.id === undefined && isReplaceable(req);
}

/** Whether `req.session` can be assigned. Koa's is a getter and setter. */
const isReplaceable = (req: Request): boolean =>
  Object.getOwnPropertyDescriptor(req, 'session')?.writable === true;

/**
 * Makes passport's `req.logIn` work with every session that {@link canRegenerate}, and gives each call a
 * deadline. Passport calls `regenerate` and `save` with callbacks and waits for them without a limit. During
 * `logIn` it gets a copy of the session with other methods, because those of iron-session cannot be replaced.
 */
export function adaptLogIn(req: Request): void {
  const original = req.logIn as ((...args: unknown[]) => unknown) | undefined;
  if (original === undefined || !isReplaceable(req)) return;
  const logIn = (user: unknown, ...rest: unknown[]): unknown => {
    const done = rest.at(-1);
    let session = sessionOf(req);
    if (session === undefined || typeof done !== 'function') {
      return original.call(req, user, ...rest);
    }
    const setSession = (current: Session): void => void Object.assign(req, { session: current });
    const adaptedCopyOf = (current: Session): Session =>
      Object.defineProperties(Object.assign(Object.create(current), current), {
        regenerate: withCallback(async () => {
          setSession(current);
          await regenerateSession(current);
          session = sessionOf(req) ?? current;
          setSession(adaptedCopyOf(session));
        }),
        save: withCallback(() => saveSession(Object.assign(current, sessionOf(req)))),
      });
    setSession(adaptedCopyOf(session));
    return original.call(req, user, ...rest.slice(0, -1), (error?: unknown) => {
      if (session !== undefined) setSession(session);
      done(error);
    });
  };
  Object.assign(req, { logIn, login: logIn });
}

const withCallback = (run: () => Promise<void>): PropertyDescriptor => ({
  // An enumerable method would be saved with the session's data.
  enumerable: false,
  value: (done: (error?: unknown) => void) =>
    void run()
      .then(() => done())
      .catch(done),
});

async function regenerateSession(session: Session): Promise<void> {
  if (typeof session.regenerate === 'function') await call(session, 'regenerate');
  else for (const key of Object.keys(session)) delete session[key];
}

async function call(session: Session, method: 'save' | 'regenerate'): Promise<void> {
  try {
    await within(
      SESSION_TIMEOUT,
      () =>
        new Promise<void>((resolve, reject) => {
          const returned = session[method]?.((error) => (error ? reject(error) : resolve()));
          if (returned instanceof Promise) returned.then(() => resolve(), reject);
        }),
    );
  } catch (error) {
    if (!(error instanceof DeadlineExceeded)) throw error;
    throw new MarketgateError(
      'store_unavailable',
      `session.${method} did not answer within ${SESSION_TIMEOUT} ms; look at the store of the sessions`,
    );
  }
}
